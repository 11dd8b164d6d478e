#include "engine/sheet_of.h"

#include <algorithm>

#include "engine/explain_waiting.h"
#include "engine/holders.h"
#include "engine/place_gangs.h"
#include "engine/roles.h"
#include "engine/what_if.h"
#include "gang/place.h"

namespace lockstep::engine {

using cluster::GangState;
using cluster::World;
using explain::Change;
using explain::Sheet;

namespace {

constexpr size_t kNamed = 3;

void TellQueue(const World& world, const GangState& gang, Sheet& sheet) {
  sheet.waiting = static_cast<int64_t>(world.waiting.size());
  if (!world.waiting.Contains(gang.key)) return;
  for (const cluster::QueueKey& key : world.waiting.all()) {
    if (key.gang == gang.key) return;
    ++sheet.ahead;
    const GangState* other = world.gangs.Get(key.gang);
    if (sheet.next.size() < kNamed && other != nullptr) sheet.next.push_back(other->job_name);
  }
}

void TellRoles(const GangState& gang, Sheet& sheet) {
  const jobs::Job& job = *gang.job->job();
  sheet.checked = RolesChecked(gang);
  for (size_t role = 0; role < gang.roles.size(); ++role) {
    explain::RoleSheet told{
        job.roles[role].type, job.roles[role].replicas, gang.roles[role].need.requests, {}};
    Result<kube::PodNeed> written = kube::ParsePodNeed(*job.roles[role].pod_template);
    for (const auto& [resource, amount] : told.each) {
      kube::Amount asked = 0;
      if (written.ok()) {
        auto found = written->requests.find(resource);
        if (found != written->requests.end()) asked = found->second;
      }
      if (amount > asked) told.added[resource] = amount - asked;
    }
    sheet.roles.push_back(std::move(told));
  }
}

void TellNodes(const jobs::Job& job, const gang::Need& need, const gang::NoFit& no_fit, Sheet& sheet) {
  for (const gang::ClassFit& fit : no_fit.classes) {
    if (fit.seats >= fit.wanted) continue;
    explain::NodesSheet lack{{}, fit.seats, fit.wanted, fit.refused};
    for (size_t role = 0; role < need.roles.size(); ++role) {
      if (need.roles[role].pod_class == fit.pod_class && need.roles[role].count > 0)
        lack.roles.push_back(job.roles[role].type);
    }
    auto alike = std::ranges::find_if(sheet.lacks, [&](const explain::NodesSheet& other) {
      return other.seats == 0 && lack.seats == 0 && other.refused == lack.refused;
    });
    if (alike == sheet.lacks.end()) {
      sheet.lacks.push_back(std::move(lack));
    } else {
      alike->wanted += lack.wanted;
      alike->roles.insert(alike->roles.end(), lack.roles.begin(), lack.roles.end());
    }
  }
}

// What is used of a resource and not by gangs.
kube::Amount HeldByOthers(const World& world, const std::string& resource,
                          const std::vector<explain::Holder>& holders) {
  __int128 sum = 0;
  for (cluster::NodeId node : world.nodes.ByName()) sum += world.nodes.Used(node, resource);
  for (const explain::Holder& holder : holders) sum -= holder.amount;
  return sum < 0 ? 0 : static_cast<kube::Amount>(std::min<__int128>(sum, kube::kMaxAmount));
}

void TellWhatIsShort(const World& world, const gang::NoFit& no_fit, Sheet& sheet) {
  if (!no_fit.shortest || no_fit.nodes == 0) return;
  sheet.shortest = no_fit.shortest;
  sheet.holders = Holders(world, no_fit.shortest->resource);
  sheet.others = HeldByOthers(world, no_fit.shortest->resource, sheet.holders);
}

std::optional<Change> MoreQuota(const World& world, const GangState& gang, Now now) {
  std::optional<cluster::QuotaLack> lack = QuotaLackOf(world, gang, now);
  if (!lack || lack->unknown) return {};
  kube::Amount wanted = lack->never ? lack->asked : kube::AddAmounts(lack->asked, lack->used);
  return Change{.kind = Change::Kind::kQuota,
                .resource = lack->resource,
                .quota = lack->quota,
                .amount = wanted,
                .was = lack->hard};
}

}  // namespace

std::optional<Sheet> SheetOf(World world, const std::string& key, Now now) {
  GangState* gang = world.gangs.Edit(key);
  if (gang == nullptr || !gang->waiting()) return {};
  const jobs::Job& job = *gang->job->job();
  Draft draft(world, now);
  DeriveRoles(draft, *gang);
  Sheet sheet{.kind = std::string(gang->framework->resource().kind),
              .ns = gang->ns,
              .job = gang->job_name,
              .now = now.wall,
              .since = *gang->waiting_since(),
              .nodes = static_cast<int32_t>(world.nodes.size())};
  sheet.reason = WaitsFor(draft, *gang);
  TellQueue(world, *gang, sheet);
  TellRoles(*gang, sheet);
  if (job.run_policy.suspend) {
    sheet.changes.push_back({.kind = Change::Kind::kResume});
    return sheet;
  }
  gang::Need need = NeedOf(*gang);
  sheet.possible = gang::IsPossible(world.nodes, need);
  auto placed = gang::Place(world.nodes, need, BarredNow(world, *gang, now));
  const auto* no_fit = std::get_if<gang::NoFit>(&placed);
  std::optional<Change> quota = MoreQuota(world, *gang, now);
  if (no_fit != nullptr) {
    TellNodes(job, need, *no_fit, sheet);
    TellWhatIsShort(world, *no_fit, sheet);
    if (!quota) sheet.changes = WhatWouldStart(world, *gang, *no_fit, now);
  }
  if (quota) sheet.changes.push_back(*std::move(quota));
  return sheet;
}

}  // namespace lockstep::engine
