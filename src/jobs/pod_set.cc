#include "jobs/pod_set.h"

#include "base/check.h"

namespace lockstep::jobs {

namespace {

// No API server knows it: it is the kind that a Gang names in spec.job.
const kube::Resource kPodSets{"lockstep.dev", "v1alpha1", "podsets", "PodSet", true};
constexpr Kind kKind{.resource = kPodSets,
                     .role_specs = "",
                     .types = {},
                     .any_case = false,
                     .fewest_replicas = 1,
                     .container = "",
                     .port_name = "",
                     .port = 0,
                     .restart_policy = "",
                     .scales = false};

}  // namespace

const Kind& PodSet::kind() const { return kKind; }

std::variant<Job, InvalidJob> PodSet::Read(const json::Doc&) const {
  CHECK(false) << "a set of pods has no object";
  return InvalidJob{};
}

json::Doc PodSet::PodFor(const Job& job, size_t, int32_t) const {
  CHECK(false) << "pods of " << job.meta.key() << " are made by their owner";
  return {};
}

const Framework& PodSets() {
  static const PodSet pod_sets;
  return pod_sets;
}

}  // namespace lockstep::jobs
