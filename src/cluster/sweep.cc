#include "cluster/sweep.h"

#include <unordered_set>

namespace lockstep::cluster {

namespace {

// So many are not worth a sweep.
constexpr size_t kFewChecks = 64;
constexpr size_t kFewClasses = 256;
constexpr size_t kFewClaims = 256;

void SweepChecks(World& world) {
  std::unordered_set<std::string_view> used;
  for (const auto& [key, gang] : world.gangs) {
    for (const RoleState& role : gang.roles) used.insert(role.check_key);
  }
  std::erase_if(world.checks,
                [&](const auto& check) { return !check.second.in_flight && !used.contains(check.first); });
  world.checks_kept = world.checks.size();
}

// Those of pods that hold nothing are kept too: a pod's record names its class as long as it is there.
void SweepClasses(World& world) {
  std::vector<ClassId> used;
  for (const auto& [key, pod] : world.pods) used.push_back(pod->pod_class);
  for (const auto& [node, pods] : world.occupancy) {
    for (const World::Occupancy& some : pods) used.push_back(some.pod_class);
  }
  for (const auto& [key, gang] : world.gangs) {
    for (const RoleState& role : gang.roles) used.insert(used.end(), {role.pod_class, role.plain_class});
  }
  for (const auto& [key, set] : world.daemons.sets) used.push_back(set.pod_class);
  world.nodes.SweepClasses(used);
  world.classes_kept = world.nodes.class_count();
}

void SweepClaimants(World& world) {
  for (auto& [claim, gangs] : world.claimants)
    std::erase_if(gangs, [&](const std::string& gang) { return !world.gangs.contains(gang); });
  std::erase_if(world.claimants, [](const auto& claim) { return claim.second.empty(); });
  world.claims_kept = world.claimants.size();
}

}  // namespace

void Sweep(World& world) {
  if (world.checks.size() > 2 * world.checks_kept + kFewChecks) SweepChecks(world);
  if (world.nodes.class_count() > 2 * world.classes_kept + kFewClasses) SweepClasses(world);
  if (world.claimants.size() > 2 * world.claims_kept + kFewClaims) SweepClaimants(world);
}

}  // namespace lockstep::cluster
