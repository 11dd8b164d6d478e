#pragma once

#include "cluster/world.h"

namespace lockstep::cluster {

// Forgets the dry runs, the classes of pods and the users of claims that nobody needs any more, once there
// are twice as many as were in use the last time; so the cost is spread over those that came meanwhile.
void Sweep(World& world);

}  // namespace lockstep::cluster
