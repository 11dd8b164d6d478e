#pragma once

#include "engine/draft.h"
#include "explain/sheet.h"

namespace lockstep::engine {

// What alone would let a waiting gang start, the least of each kind: jobs that end, nodes that come, a
// toleration, a smaller request. Tries each on a copy of the nodes. Empty where it would fit now, or where
// nothing of the kind helps.
std::vector<explain::Change> WhatWouldStart(const cluster::World& world, const cluster::GangState& gang,
                                            const gang::NoFit& no_fit, Now now);

}  // namespace lockstep::engine
