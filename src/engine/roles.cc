#include "engine/roles.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/hash.h"
#include "engine/claims.h"
#include "engine/group.h"
#include "engine/limits.h"
#include "jobs/pod.h"

namespace lockstep::engine {

using cluster::GangState;
using cluster::RoleState;
using cluster::TemplateCheck;
using cluster::World;

namespace {

// What admission may look at, without what differs from job to job: the same template in the same namespace
// is checked once. `own`: for this job alone, since the answer may speak of its labels.
std::string CheckKey(const GangState& gang, const jobs::Job& job, size_t role, bool own) {
  std::string text = gang.framework->resource().ApiVersion() + "/" + job.roles[role].type + "/" +
                     job.roles[role].restart_policy + "/" + json::Dump(*job.roles[role].pod_template);
  std::string key = "checks/" + gang.ns + "/";
  if (own) key += job.meta.name + "/";
  return key + std::to_string(StableHash(text)) + "-" + std::to_string(text.size());
}

bool HasRules(const kube::PodNeed& need) { return !need.rules.empty(); }

// What the role's pods are to other pods.
cluster::PodIdentityPtr IdentityOf(const GangState& gang, const kube::PodNeed& need, kube::Labels labels) {
  std::erase_if(labels, [](const auto& label) { return cluster::IsPerPodLabel(label.first); });
  return cluster::MakeIdentity(gang.ns, cluster::WithClaims(std::move(labels), need), need.rules,
                               gang.job_name);
}

// A rule about a label that each pod of a gang has its own value of would need an answer for each pod.
void RefusePerPodRules(kube::PodNeed& need) {
  std::string label = cluster::PerPodLabelIn(need.rules);
  if (!label.empty()) need.unmet.push_back("a rule between pods by the label " + label);
}

// The pod as it will be created, where pods are assigned on some node: what is refused only with a node is to
// be seen before the first of them starts. One name for all jobs of the template, since the answer tells it;
// and one that no pod has, since a name that is taken is refused in a dry run too.
json::Doc DryRunPod(const cluster::Nodes& nodes, const jobs::Job& job, size_t role, api::Way way) {
  json::Doc pod = job.framework->PodFor(job, role, 0);
  std::string of = json::Dump(*job.roles[role].pod_template);
  pod["metadata"]["name"] = AsciiLower(job.roles[role].type) + "-check-" + std::to_string(StableHash(of));
  // Only to assign is the node named: an affinity would come back as a need.
  bool open = way == api::Way::kAssign && !pod["spec"].contains("nodeName") && nodes.size() > 0;
  jobs::SendBy(pod, way, open ? nodes.name(nodes.ByName().front()) : "");
  return pod;
}

// spec.nodeName of a template is the one node its pods may use.
std::string PinnedTo(const jobs::Job& job, size_t role) {
  return json::GetString(*job.roles[role].pod_template, "spec.nodeName");
}

// The quota that kept a template from being checked may have room by now; asked again soon, not at every
// change.
bool QuotaHasRoomAgain(Draft& draft, const GangState& gang, const TemplateCheck& check) {
  if (!check.quota_refusal || QuotaLackOf(draft.world, gang, draft.now)) return false;
  MonoTime due = check.asked_at + kQuotaAskedAgain;
  if (draft.now.mono < due) draft.world.WakeAt(due, gang.key);
  return draft.now.mono >= due;
}

void Check(Draft& draft, GangState& gang, const jobs::Job& job, size_t role) {
  TemplateCheck& check = draft.world.checks[gang.roles[role].check_key];
  uint64_t admission = draft.world.admission.Of(gang.ns);
  bool changed = check.asked_of != admission || QuotaHasRoomAgain(draft, gang, check);
  api::Way way = WayOf(draft.world, gang);
  if (check.with_node) way = api::Way::kBind;
  // A template that was checked while there was no node to name is checked again once there is one.
  changed |= way == api::Way::kAssign && check.need && !check.refusal && !check.names_node &&
             draft.world.nodes.size() > 0;
  if (check.in_flight || (!changed && draft.now.mono < check.valid_until)) return;
  kube::Request request;
  request.verb = kube::Verb::kCreate;
  request.resource = &kube::kPods;
  request.ns = gang.ns;
  request.dry_run = true;
  json::Doc pod = DryRunPod(draft.world.nodes, job, role, way);
  bool names_node = pod["spec"].contains("nodeName");
  request.body = json::Dump(pod);
  check.asked_of = admission;
  check.asked_at = draft.now.mono;
  check.asker = gang.key;
  check.in_flight =
      draft.Emit(cluster::ActionKind::kCheckTemplate, gang, gang.roles[role].check_key, std::move(request));
  if (check.in_flight) check.names_node = names_node;
}

// The gang hears of what becomes of its pods' claims.
void Claim(World& world, const GangState& gang, const kube::PodNeed& need) {
  for (const std::string& claim : need.claims) world.claimants[claim].insert(gang.key);
}

void SetClasses(cluster::Nodes& nodes, RoleState& role) {
  role.pod_class = role.plain_class = nodes.Class(role.need);
  if (role.need.claims.empty()) return;
  kube::PodNeed plain = role.need;
  plain.claims.clear();
  role.plain_class = nodes.Class(plain);
}

void AdoptCheck(Draft& draft, GangState& gang, const jobs::Job& job, size_t index) {
  RoleState& role = gang.roles[index];
  auto found = draft.world.checks.find(role.check_key);
  if (found == draft.world.checks.end()) return;
  if (found->second.need && HasRules(*found->second.need)) {
    // Admission wrote rules into a template that had none, perhaps with another job's labels.
    role.check_key = CheckKey(gang, job, index, /*own=*/true);
    found = draft.world.checks.find(role.check_key);
    if (found == draft.world.checks.end()) return;
  }
  const TemplateCheck& check = found->second;
  bool answered = check.need.has_value() && check.answer_of == draft.world.admission.Of(gang.ns);
  bool unanswered = !check.refusal && check.failures >= kUnansweredChecks;
  role.checked = answered || unanswered || check.quota_refusal.has_value();
  kube::PodNeed need = check.need.value_or(role.need);
  if (check.need) {
    role.priority = check.priority;
    role.charge = check.charge;
    need.nodes.node = role.need.nodes.node;
    RefusePerPodRules(need);
  }
  SetClaimRules(draft.world.nodes.volumes(), need);
  // Labels that admission adds count too; where both name one, it is the job's own.
  bool labels_known = std::ranges::all_of(check.labels, [&](const auto& label) {
    return cluster::IsPerPodLabel(label.first) || role.who->labels.contains(label.first);
  });
  if (labels_known && need == role.need) return;
  kube::Labels labels = role.who->labels;
  labels.insert(check.labels.begin(), check.labels.end());
  cluster::PodIdentityPtr who = IdentityOf(gang, need, std::move(labels));
  Claim(draft.world, gang, need);
  role.need = std::move(need);
  role.who = draft.world.nodes.residents().Shared(who);
  SetClasses(draft.world.nodes, role);
  cluster::RefreshHeld(draft.world, gang);
}

}  // namespace

void DeriveRoles(Draft& draft, GangState& gang) {
  const jobs::Job& job = *gang.job->job();
  if (gang.roles.size() != job.roles.size()) {
    gang.roles.assign(job.roles.size(), RoleState{});
    for (size_t role = 0; role < job.roles.size(); ++role) {
      RoleState& state = gang.roles[role];
      json::Doc pod = job.framework->PodFor(job, role, 0);
      Result<kube::PodNeed> need = kube::ParsePodNeed(pod);
      if (need.ok()) state.need = *need;  // validation has refused what can't be read
      state.need.nodes.node = PinnedTo(job, role);
      RefusePerPodRules(state.need);
      SetClaimRules(draft.world.nodes.volumes(), state.need);
      Claim(draft.world, gang, state.need);
      SetClasses(draft.world.nodes, state);
      state.who = IdentityOf(gang, state.need, kube::ParseMeta(pod).labels);
      state.charge = draft.world.quotas.Shared(gang.ns, kube::ChargeOf(pod));
      state.check_key = CheckKey(gang, job, role, HasRules(state.need));
    }
  }
  for (size_t role = 0; role < job.roles.size(); ++role) {
    AdoptCheck(draft, gang, job, role);
    if (gang.waiting() && !job.run_policy.suspend) Check(draft, gang, job, role);
  }
}

RoleState RoleOfPods(World& world, const GangState& gang, kube::PodNeed need, kube::Labels labels,
                     int32_t priority) {
  RoleState role;
  role.need = std::move(need);
  RefusePerPodRules(role.need);
  SetClaimRules(world.nodes.volumes(), role.need);
  Claim(world, gang, role.need);
  SetClasses(world.nodes, role);
  role.priority = priority;
  role.who = world.nodes.residents().Shared(IdentityOf(gang, role.need, std::move(labels)));
  role.checked = true;
  return role;
}

bool RolesChecked(const GangState& gang) {
  return !gang.roles.empty() &&
         std::all_of(gang.roles.begin(), gang.roles.end(), [](const RoleState& r) { return r.checked; });
}

const std::string* UnmetRule(const GangState& gang) {
  for (const RoleState& role : gang.roles) {
    if (!role.need.unmet.empty()) return &role.need.unmet.front();
  }
  return nullptr;
}

const kube::Status* RefusedTemplate(const cluster::World& world, const GangState& gang) {
  for (const RoleState& role : gang.roles) {
    auto found = world.checks.find(role.check_key);
    if (found != world.checks.end() && found->second.refusal) return &*found->second.refusal;
  }
  return nullptr;
}

const kube::Status* QuotaRefusal(const cluster::World& world, const GangState& gang) {
  for (const RoleState& role : gang.roles) {
    auto found = world.checks.find(role.check_key);
    if (found != world.checks.end() && found->second.quota_refusal) return &*found->second.quota_refusal;
  }
  return nullptr;
}

namespace {

int64_t WaitingPods(const GangState& gang, const std::string& role) {
  return std::ranges::count_if(gang.pods, [&](const auto& entry) {
    const cluster::PodRecord& pod = *entry.second;
    return pod.role == role && pod.node.empty() && !pod.deleting && pod.owner_uid == gang.job->meta.uid &&
           pod.attempt == gang.status().attempt + 1;
  });
}

}  // namespace

std::vector<cluster::QuotaAsk> AsksOf(const GangState& gang) {
  std::vector<cluster::QuotaAsk> asks;
  if (IsGroup(gang)) return asks;  // its pods are charged for already
  const jobs::Job& job = *gang.job->job();
  for (size_t role = 0; role < gang.roles.size(); ++role) {
    // Pods that wait for their binding are charged for already.
    int64_t more = job.roles[role].replicas - WaitingPods(gang, AsciiLower(job.roles[role].type));
    if (gang.roles[role].charge != nullptr && more > 0) asks.push_back({gang.roles[role].charge, more});
  }
  int64_t services = job.pods() - static_cast<int64_t>(gang.services.size());
  if (services > 0) asks.push_back({cluster::ServiceCharge(), services});
  return asks;
}

std::optional<cluster::QuotaLack> QuotaLackOf(const cluster::World& world, const GangState& gang, Now now) {
  if (!world.quotas.any(gang.ns)) return {};
  return world.quotas.Lack(gang.ns, AsksOf(gang), now.wall);
}

bool CheckFailure(const cluster::World& world, const GangState& gang) {
  return std::any_of(gang.roles.begin(), gang.roles.end(), [&](const RoleState& role) {
    auto found = world.checks.find(role.check_key);
    return !role.checked && found != world.checks.end() && found->second.failures > 0;
  });
}

api::Way WayOf(const cluster::World& world, const GangState& gang) {
  if (IsGroup(gang)) return WayOfGroup(gang);
  auto finished_elsewhere = [&](const RoleState& role) {
    auto waits = [&](const std::string& claim) {
      return world.nodes.volumes().StateOf(claim) == cluster::ClaimState::kWaitsForConsumer;
    };
    return !role.need.finisher.empty() || std::ranges::any_of(role.need.claims, waits);
  };
  if (std::ranges::any_of(gang.roles, finished_elsewhere)) return api::Way::kSteer;
  auto only_without_node = [&](const RoleState& role) {
    auto check = world.checks.find(role.check_key);
    return check != world.checks.end() && check->second.bind;
  };
  if (std::ranges::any_of(gang.roles, only_without_node)) return api::Way::kBind;
  return world.settings.way;
}

gang::Need NeedOf(const GangState& gang) {
  gang::Need need;
  const jobs::Job& job = *gang.job->job();
  for (size_t role = 0; role < gang.roles.size(); ++role) {
    need.roles.push_back({gang.roles[role].pod_class, job.roles[role].replicas, gang.roles[role].who});
  }
  return need;
}

std::optional<gang::Need> NeedWithoutClaims(const GangState& gang) {
  auto has_claims = [](const RoleState& role) { return !role.need.claims.empty(); };
  if (std::ranges::none_of(gang.roles, has_claims)) return {};
  gang::Need need = NeedOf(gang);
  for (size_t role = 0; role < gang.roles.size(); ++role) {
    need.roles[role].pod_class = gang.roles[role].plain_class;
    need.roles[role].who = nullptr;
  }
  return need;
}

kube::Resources TotalNeed(const GangState& gang) {
  kube::Resources total;
  const jobs::Job& job = *gang.job->job();
  for (size_t role = 0; role < gang.roles.size(); ++role) {
    for (const auto& [name, amount] : gang.roles[role].need.requests) {
      kube::Amount& sum = total[name];
      sum = kube::AddAmounts(sum, kube::MultiplyAmount(amount, job.roles[role].replicas));
    }
  }
  return total;
}

}  // namespace lockstep::engine
