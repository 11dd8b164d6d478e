#include "cluster/filters/host_ports.h"

#include <algorithm>

namespace lockstep::cluster {
namespace {

bool EveryAddress(const kube::HostPort& port) { return port.ip.empty() || port.ip == "0.0.0.0"; }

bool Conflict(const kube::HostPort& a, const kube::HostPort& b) {
  return a.port == b.port && a.protocol == b.protocol && (EveryAddress(a) || EveryAddress(b) || a.ip == b.ip);
}

}  // namespace

bool PortsConflict(std::span<const kube::HostPort> a, std::span<const kube::HostPort> b) {
  return std::ranges::any_of(a, [&](const kube::HostPort& mine) {
    return std::ranges::any_of(b, [&](const kube::HostPort& theirs) { return Conflict(mine, theirs); });
  });
}

}  // namespace lockstep::cluster
