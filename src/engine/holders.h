#pragma once

#include "cluster/world.h"
#include "explain/reason.h"

namespace lockstep::engine {

// Who holds how much of a resource, largest first, equal ones by name.
std::vector<explain::Holder> Holders(const cluster::World& world, const std::string& resource);

}  // namespace lockstep::engine
