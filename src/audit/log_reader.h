#pragma once

#include <istream>

#include "audit/record.h"

namespace lockstep::audit {

// What a record was made of.
struct ReadCounts {
  int64_t events = 0;                 // of an audit log, reads and watches included; or sightings of a watch
  int64_t skipped = 0;                // lines that are none: damaged, too long, of another kind
  std::string first_error;            // of a skipped line: "line 7: ..."
  bool watched = false;               // and not read from a log: refused writes and dry runs were not seen
  std::vector<std::string> not_seen;  // kinds of objects that could not be watched, and why
};

inline constexpr size_t kMaxLine = size_t{32} << 20;

// Takes in a whole log, line by line; a line over `max_line` bytes is skipped without being kept.
ReadCounts ReadLog(std::istream& log, Record& record, size_t max_line = kMaxLine);

}  // namespace lockstep::audit
