#pragma once

#include "engine/draft.h"

namespace lockstep::engine {

// A Gang that was deleted and made anew takes over what runs: the attempt number never comes back, and no pod
// is restarted for the loss of a record. True if there was something to take over.
bool AdoptPods(Draft& draft, cluster::GangState& gang);

}  // namespace lockstep::engine
