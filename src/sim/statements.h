#pragma once

#include "sim/scenario.h"
#include "sim/words.h"

namespace lockstep::sim {

// One statement without its time. `groups` counts the nodes that `cluster` lines made so far, so that a
// second line goes on counting. Words that are left over are the caller's error.
Result<Deed> ParseDeed(const std::string& verb, Words& words, std::map<std::string, int64_t>& nodes_so_far);

}  // namespace lockstep::sim
