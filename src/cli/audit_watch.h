#pragma once

#include <string>

#include "audit/log_reader.h"
#include "base/result.h"

namespace lockstep::cli {

struct AuditWatch {
  std::string kubeconfig, context;
  Duration longest = Duration::max();  // from when all is listed; else until SIGINT or SIGTERM
};

// Watches a cluster with rights to read only and takes what it sees into the record. An error when pods or
// nodes could not be read at all; other kinds that the cluster lacks or refuses are named in the counts.
Result<audit::ReadCounts> WatchForAudit(const AuditWatch& watch, audit::Record& record);

}  // namespace lockstep::cli
