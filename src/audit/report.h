#pragma once

#include <string>

#include "audit/judge.h"
#include "audit/log_reader.h"

namespace lockstep::audit {

// For people: a summary, then every violation. `gangs`: a line per gang, too.
std::string ReportText(const Report& report, const ReadCounts& read, bool gangs);
// Everything; times as metav1.MicroTime, durations in seconds.
json::Doc ReportDoc(const Report& report, const ReadCounts& read);

}  // namespace lockstep::audit
