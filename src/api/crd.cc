#include "api/crd.h"

namespace lockstep::api {

std::vector<json::Doc> Crds() { return {GangCrd(), PyTorchJobCrd(), TFJobCrd()}; }

}  // namespace lockstep::api
