#pragma once

#include "engine/draft.h"

namespace lockstep::engine {

// Takes in the answer to an action: the assumption made for it ends, what the server returned is observed, a
// failure is remembered with the time of the next try.
void TakeInAnswer(Draft& draft, const cluster::ActionDone& done);

}  // namespace lockstep::engine
