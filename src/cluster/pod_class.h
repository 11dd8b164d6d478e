#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cluster/requests.h"
#include "kube/model/pod.h"

namespace lockstep::cluster {

// Pods with an equal `PodNeed` share a class: where one of them fits, any of them fits, as far as the node
// goes. Rules about other pods are no part of it (`need.rules` is empty): they are of a pod's identity.
struct PodClass {
  kube::PodNeed need;
  std::vector<Request> requests;  // see RequestsOf
  std::vector<int32_t> wishes;    // see WishesOf
};

// What is left of a need once its pod has a node: where it may run no longer matters. Pods that a DaemonSet
// ties to one node each then share a class.
kube::PodNeed Held(const kube::PodNeed& need);

// The sums that preferred node affinity can give a node, from the best to 0; where more than four terms make
// too many, kMaxWishes of equal distance.
inline constexpr size_t kMaxWishes = 16;
std::vector<int32_t> WishesOf(const std::vector<kube::PreferredNodes>& preferred);

// Equal on every machine and in every run.
uint64_t HashOf(const kube::PodNeed& need);

// A pod that is at least as hard to seat as each of `needs`, or at most as hard: same constraints, and of
// each resource the largest, or the smallest, request. Nothing where constraints, tolerations or host ports
// differ.
std::optional<kube::PodNeed> Envelope(std::span<const kube::PodNeed* const> needs);
std::optional<kube::PodNeed> Floor(std::span<const kube::PodNeed* const> needs);

}  // namespace lockstep::cluster
