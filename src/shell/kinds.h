#pragma once

#include <string>
#include <vector>

#include "shell/reflector.h"

namespace lockstep::shell {

struct WatchedKind {
  const kube::Resource* resource = nullptr;
  Reflector::Scope scope;
};

// Everything that the engine goes by, of the jobs of one namespace or of all (""). Pods, and what decides
// where they may run, count everywhere.
std::vector<WatchedKind> WatchedKinds(const std::string& ns);

// What admission goes by is good to know and not needed.
bool IsAdmission(const kube::Resource& resource);

}  // namespace lockstep::shell
