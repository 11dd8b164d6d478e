#pragma once

#include <cstdint>
#include <span>

#include "cluster/requests.h"

namespace lockstep::cluster {

// How many pods with these requests fit into what is left of a node. `allocatable` and `used` are its rows of
// the dense tables (one amount per column, thousandths); used may exceed allocatable.
struct Room {
  int32_t pods = 0;     // saturates
  size_t scarcest = 0;  // where pods is 0: the first of `requests` that is short
};

// Source: kube-scheduler NodeResourcesFit: a resource that the node does not list is zero, and what a pod
// does not ask for it does not need, however over-committed. A saturated request never fits.
Room RoomFor(std::span<const Request> requests, const kube::Amount* allocatable, const kube::Amount* used);

}  // namespace lockstep::cluster
