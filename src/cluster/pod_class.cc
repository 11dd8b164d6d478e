#include "cluster/pod_class.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/hash.h"

namespace lockstep::cluster {
namespace {

uint64_t HashNumber(uint64_t number, uint64_t seed) {
  uint64_t x = (seed ^ number) * 0x9e3779b97f4a7c15u;
  return x ^ (x >> 29);
}

uint64_t HashRequirements(const std::vector<kube::Requirement>& requirements, uint64_t seed) {
  for (const kube::Requirement& requirement : requirements) {
    seed = HashNumber(static_cast<uint64_t>(requirement.op), StableHash(requirement.key, seed));
    for (const std::string& value : requirement.values) seed = HashNumber(1, StableHash(value, seed));
  }
  return HashNumber(requirements.size(), seed);
}

bool SameConstraints(std::span<const kube::PodNeed* const> needs) {
  return std::ranges::all_of(needs, [&](const kube::PodNeed* need) {
    return need->nodes == needs[0]->nodes && need->tolerations == needs[0]->tolerations &&
           need->host_ports == needs[0]->host_ports && need->preferred == needs[0]->preferred &&
           need->claims == needs[0]->claims;
  });
}

}  // namespace

kube::PodNeed Held(const kube::PodNeed& need) {
  kube::PodNeed held;
  held.requests = need.requests;
  held.host_ports = need.host_ports;
  held.claims = need.claims;
  return held;
}

std::vector<int32_t> WishesOf(const std::vector<kube::PreferredNodes>& preferred) {
  std::set<int32_t, std::greater<>> sums{0};
  int64_t all = 0;
  for (const kube::PreferredNodes& term : preferred) all += term.weight;
  if (preferred.size() <= 4) {
    for (const kube::PreferredNodes& term : preferred) {
      for (int32_t sum : std::set<int32_t>(sums.begin(), sums.end())) sums.insert(sum + term.weight);
    }
  } else {
    for (size_t i = 0; i < kMaxWishes; ++i)
      sums.insert(static_cast<int32_t>(std::min<int64_t>(all * static_cast<int64_t>(i) / 15, INT32_MAX)));
  }
  return {sums.begin(), sums.end()};
}

uint64_t HashOf(const kube::PodNeed& need) {
  uint64_t hash = 1;
  for (const auto& [name, amount] : need.requests) {
    hash = HashNumber(static_cast<uint64_t>(amount), StableHash(name, hash));
  }
  hash = HashRequirements(need.nodes.all, hash);
  for (const kube::NodeSelectorTerm& term : need.nodes.any) {
    hash = HashRequirements(term.fields, HashRequirements(term.labels, hash));
  }
  hash = StableHash(need.nodes.node, hash);
  for (const std::string& rule : need.unmet) hash = StableHash(rule, hash);
  for (const std::string& claim : need.claims) hash = StableHash(claim, hash);
  for (const kube::PreferredNodes& term : need.preferred) {
    hash = HashRequirements(term.nodes.fields, HashRequirements(term.nodes.labels, hash));
    hash = HashNumber(static_cast<uint64_t>(term.weight), hash);
  }
  hash = StableHash(need.finisher, hash);
  for (const kube::Toleration& toleration : need.tolerations) {
    hash = StableHash(toleration.effect, StableHash(toleration.value, StableHash(toleration.key, hash)));
  }
  for (const kube::HostPort& port : need.host_ports)
    hash = HashNumber(static_cast<uint64_t>(port.port), hash);
  return HashNumber(need.nodes.has_terms, hash);
}

std::optional<kube::PodNeed> Envelope(std::span<const kube::PodNeed* const> needs) {
  if (needs.empty() || !SameConstraints(needs)) return std::nullopt;
  kube::PodNeed envelope = *needs[0];
  for (const kube::PodNeed* need : needs.subspan(1)) kube::MaxInto(envelope.requests, need->requests);
  return envelope;
}

std::optional<kube::PodNeed> Floor(std::span<const kube::PodNeed* const> needs) {
  if (needs.empty() || !SameConstraints(needs)) return std::nullopt;
  kube::PodNeed floor = *needs[0];
  for (const kube::PodNeed* need : needs.subspan(1)) {
    for (auto& [name, amount] : floor.requests) {
      auto other = need->requests.find(name);
      amount = other == need->requests.end() ? 0 : std::min(amount, other->second);
    }
  }
  std::erase_if(floor.requests, [](const auto& request) { return request.second <= 0; });
  return floor;
}

}  // namespace lockstep::cluster
