#pragma once

#include "base/real_loop.h"
#include "cluster/world.h"
#include "kube/api/api.h"

namespace lockstep::cli {

// The cluster as the operator sees it, read once with the user's own rights. An error names what may not be
// read. What admission adds to the pods of the gang `asked` is asked by dry run where the user may create
// pods; those of the others count as they are written.
Result<cluster::World> LookAtCluster(kube::Api& api, RealLoop& loop, const std::string& asked,
                                     Duration limit);

}  // namespace lockstep::cli
