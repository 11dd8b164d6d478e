#include "api/crd.h"

namespace lockstep::api {

std::vector<json::Doc> Crds() { return {GangCrd(), PyTorchJobCrd()}; }

}  // namespace lockstep::api
