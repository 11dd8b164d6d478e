#pragma once

#include <vector>

#include "audit/judge.h"

namespace lockstep::audit {

// Every time that a pod came to a node whose live pods then asked for more than the node offered at that
// moment. A node that shrinks below what it carries is nobody's fault and counts only when another pod is
// added.
void FindOverCommit(const Record& record, std::vector<Violation>& violations);

}  // namespace lockstep::audit
