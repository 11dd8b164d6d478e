#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "cluster/event.h"

namespace lockstep::cluster {

struct World;

// Counts the changes of what admission goes by: LimitRanges and the namespace itself in one namespace;
// webhooks, admission policies, priority and runtime classes everywhere. What a dry run showed holds for one
// version.
class AdmissionVersions {
 public:
  void Changed() { ++everywhere_; }
  void Changed(const std::string& ns) { ++in_[ns]; }
  uint64_t Of(const std::string& ns) const {
    auto found = in_.find(ns);
    return everywhere_ + (found == in_.end() ? 0 : found->second);
  }

 private:
  uint64_t everywhere_ = 0;
  std::map<std::string, uint64_t> in_;
};

// The kinds that AdmissionVersions counts. Losing sight of them costs dry runs that are believed for too
// long, no more; an API server need not have all of them.
std::span<const kube::Resource* const> AdmissionResources();

// One of those kinds was seen or is gone: what was shown of templates is to be asked again. False if it is of
// another kind.
bool TakeInAdmission(World& world, const Observed& observed);

}  // namespace lockstep::cluster
