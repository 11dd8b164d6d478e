#pragma once

#include "cluster/world.h"

namespace lockstep::cluster {

// Takes in a claim, a volume, or what else decides where pods with volumes may run, and touches the gangs it
// concerns. False if `observed` is of another kind.
bool TakeInVolumes(World& world, const Observed& observed);

}  // namespace lockstep::cluster
