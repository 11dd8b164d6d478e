#pragma once

#include <string>

#include "audit/judge.h"
#include "audit/log_reader.h"

namespace lockstep::audit {

// For people: a summary, a table of gangs, then every violation. The table has those that were never whole,
// at most twenty; with `gangs` every gang.
std::string ReportText(const Report& report, const ReadCounts& read, bool gangs);
// Everything; times as metav1.MicroTime, durations in seconds.
json::Doc ReportDoc(const Report& report, const ReadCounts& read);

}  // namespace lockstep::audit
