#pragma once

#include <span>
#include <string_view>

#include "base/time.h"
#include "json/doc.h"
#include "kube/api/resource.h"

namespace lockstep::audit {

// What a list or a watch showed of one object at one moment.
struct Sighting {
  enum class What {
    kListed,    // by the first list: it was there before
    kChanged,   // new or changed
    kGone,      // deleted just now; `object` is its last state
    kVanished,  // deleted at some time since it was last seen; of `object` only the identity is known
  };
  const kube::Resource* resource = nullptr;
  What what = What::kChanged;
  json::DocPtr object;
  WallTime time;
};

// One kind of object to watch, and what a verdict is worth without it.
struct WatchedKind {
  const kube::Resource* resource;
  bool needed = false;  // else the cluster need not have it, and the watcher need not be allowed to see it
};

// Pods and nodes; jobs, gangs and pod groups of every system that is known here; what controllers write
// beside them.
std::span<const WatchedKind> WatchedKinds();

}  // namespace lockstep::audit
