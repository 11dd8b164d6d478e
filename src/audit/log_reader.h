#pragma once

#include <istream>

#include "audit/record.h"

namespace lockstep::audit {

struct ReadCounts {
  int64_t events = 0;       // audit events, reads and watches included
  int64_t skipped = 0;      // lines that are none: damaged, too long, of another kind
  std::string first_error;  // of a skipped line: "line 7: ..."
};

inline constexpr size_t kMaxLine = size_t{32} << 20;

// Takes in a whole log, line by line; a line over `max_line` bytes is skipped without being kept.
ReadCounts ReadLog(std::istream& log, Record& record, size_t max_line = kMaxLine);

}  // namespace lockstep::audit
