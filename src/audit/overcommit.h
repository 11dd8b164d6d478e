#pragma once

#include <vector>

#include "audit/judge.h"

namespace lockstep::audit {

struct Excess {
  std::vector<Violation> violations;  // that lasted: one per pod that came while there was too much
  int64_t short_ones = 0;
  Duration longest_short{};
};

// Every time that a pod came to a node whose live pods then asked for more than the node offered at that
// moment, and how long that was so. A node that shrinks below what it carries is nobody's fault and counts
// only when another pod is added; so does what was there before the record began.
Excess FindOverCommit(const Record& record, Duration lasting);

}  // namespace lockstep::audit
