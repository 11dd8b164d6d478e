#pragma once

#include "engine/draft.h"

namespace lockstep::engine {

// Moves one job and its gang on by what is known now: at most one phase change per call, since each is a
// write whose answer brings the gang back here.
void AdvanceGang(Draft& draft, cluster::GangState& gang);

}  // namespace lockstep::engine
