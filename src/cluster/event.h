#pragma once

#include <cstdint>
#include <variant>

#include "json/doc.h"
#include "kube/api/resource.h"
#include "kube/api/status.h"

namespace lockstep::cluster {

using ActionId = uint64_t;

// An object as a watch or a list showed it; `gone` with the last known form when it was deleted.
struct Observed {
  const kube::Resource* resource = nullptr;
  json::DocPtr object;
  bool gone = false;
};

// The answer to an action. `object` is the object the server returned, if it did. A status with unknown()
// means that nobody can say whether the action was applied, now or later.
struct ActionDone {
  ActionId id = 0;
  kube::Status status;
  json::DocPtr object;
};

using Event = std::variant<Observed, ActionDone>;

}  // namespace lockstep::cluster
