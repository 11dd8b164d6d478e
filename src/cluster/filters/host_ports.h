#pragma once

#include <span>

#include "kube/model/pod.h"

namespace lockstep::cluster {

// Whether two pods cannot share a node: a port of one equals a port of the other in number and protocol, and
// their addresses are equal or one of them is every address. Source: kube-scheduler NodePorts.
bool PortsConflict(std::span<const kube::HostPort> a, std::span<const kube::HostPort> b);

}  // namespace lockstep::cluster
