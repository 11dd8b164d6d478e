#include "cluster/world.h"

#include <charconv>

#include "api/labels.h"
#include "base/hash.h"
#include "cluster/observed_volumes.h"
#include "jobs/pod.h"
#include "jobs/pod_set.h"
#include "jobs/status.h"
#include "kube/api/resource.h"

namespace lockstep::cluster {

namespace {

int64_t ParseNumber(const std::string& text, int64_t fallback) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : fallback;
}

// The framework whose pods carry this operator-name label ("pytorchjob-controller"), or null.
const jobs::Framework* FrameworkByOperator(const std::string& operator_name) {
  for (const jobs::Framework* framework : jobs::AllFrameworks()) {
    if (operator_name == jobs::OperatorName(*framework)) return framework;
  }
  return nullptr;
}

const jobs::Framework* FrameworkByKind(const std::string& kind) {
  for (const jobs::Framework* framework : jobs::AllFrameworks()) {
    if (framework->resource().kind == kind) return framework;
  }
  return nullptr;
}

// Labels are anybody's to write: a pod or service of another owner than a job is no member, whatever it says.
bool MayBelong(const jobs::Framework& framework, const std::string& job, const kube::OwnerRef* owner) {
  return owner == nullptr || (owner->kind == framework.resource().kind && owner->name == job);
}

// A pod that was created for a job and whose labels no longer say so belongs to it without a role and of no
// attempt: so it goes.
void SetMembershipByOwner(const kube::Pod& pod, const json::Doc& object, PodRecord& record) {
  const kube::OwnerRef* owner = pod.meta.controller();
  const jobs::Framework* framework = owner == nullptr ? nullptr : FrameworkByKind(owner->kind);
  if (framework != nullptr && jobs::IsStamped(object))
    record.gang = GangKey(*framework, pod.meta.ns, owner->name);
}

void SetMembership(const kube::Pod& pod, const json::Doc& object, PodRecord& record) {
  const jobs::Framework* framework = FrameworkByOperator(pod.meta.label(api::kOperatorNameLabel));
  std::string job = pod.meta.label(api::kJobNameLabel);
  std::string role = pod.meta.label(api::kReplicaTypeLabel);
  int64_t index = ParseNumber(pod.meta.label(api::kReplicaIndexLabel), -1);
  int64_t attempt = ParseNumber(pod.meta.label(api::kAttemptLabel), 0);
  bool whole = framework != nullptr && !job.empty() && !role.empty() && index >= 0 && attempt >= 1;
  if (!whole || !MayBelong(*framework, job, pod.meta.controller()))
    return SetMembershipByOwner(pod, object, record);
  record.gang = GangKey(*framework, pod.meta.ns, job);
  record.role = role;
  record.index = static_cast<int32_t>(index);
  record.attempt = attempt;
  record.job_generation = ParseNumber(pod.meta.annotation(api::kGenerationAnnotation), 0);
  for (const kube::ContainerState& c : pod.containers) {
    if (!c.init && c.terminated && c.name == framework->kind().container) record.exit_code = c.exit_code;
  }
}

void SetContainers(const kube::Pod& pod, PodRecord& record) {
  for (const kube::ContainerState& c : pod.containers) {
    record.started |= c.ever_started;
    record.container_restarts += c.restarts;
    bool main = !c.init || c.sidecar;
    if (main && c.waiting && record.waiting.empty()) record.waiting = c.reason;
  }
}

// What other pods' rules see of it. For people it goes by its job's name, or its controller's.
PodIdentityPtr IdentityOf(const World& world, const kube::Pod& pod, const PodRecord& record) {
  kube::Labels labels = WithClaims(pod.meta.labels, pod.need);
  const kube::OwnerRef* owner = pod.meta.controller();
  std::string name = owner == nullptr ? pod.meta.name : owner->name;
  if (!record.gang.empty()) {
    std::erase_if(labels, [](const auto& label) { return IsPerPodLabel(label.first); });
    name = record.gang.substr(record.gang.rfind('/') + 1);
  }
  return world.nodes.residents().Shared(
      MakeIdentity(pod.meta.ns, std::move(labels), pod.need.rules, std::move(name)));
}

PodPtr MakeRecord(World& world, const kube::Pod& pod, const json::Doc& object) {
  auto record = std::make_shared<PodRecord>();
  record->ns = pod.meta.ns;
  record->name = pod.meta.name;
  record->uid = pod.meta.uid;
  record->resource_version = ParseVersion(pod.meta.resource_version);
  if (const kube::OwnerRef* owner = pod.meta.controller()) {
    record->owner_uid = owner->uid;
    record->permanent = owner->kind == "DaemonSet" || owner->kind == "Node";
  }
  record->node = pod.node_name;
  bool may_come = pod.node_name.empty() && pod.phase == kube::PodPhase::kPending && !pod.meta.deleted_at;
  // A daemon counts where it belongs before it is there, nominated or not.
  if (may_come && !record->permanent) record->nominated = pod.nominated_node;
  record->pod_class = world.nodes.HeldClass(pod.need);
  record->phase = pod.phase;
  record->deleting = pod.meta.deleted_at.has_value();
  // A kubelet that evicts a pod may do so for what the pod itself has used up.
  record->disrupted = !pod.disruption.empty() && pod.disruption != "TerminationByKubelet";
  record->holds = kube::HoldsResources(pod);
  record->ended = kube::AllContainersEnded(pod);
  kube::QuotaCharge charge = kube::ChargeOf(object, pod.need.requests);
  if (pod.terminal()) charge = kube::EndedCharge(std::move(charge));
  record->charge = world.quotas.Shared(pod.meta.ns, std::move(charge));
  if (pod.meta.deleted_at)
    record->charged_until = *pod.meta.deleted_at + seconds(pod.meta.grace_seconds.value_or(0));
  record->reason = pod.reason;
  record->message = pod.message;
  record->unschedulable = pod.unschedulable;
  SetContainers(pod, *record);
  SetMembership(pod, object, *record);
  bool somewhere = !record->node.empty() || !record->nominated.empty();
  if (record->holds && somewhere) record->who = IdentityOf(world, pod, *record);
  if (record->gang.empty()) record->group = ReadGroupMark(pod, object);
  if (record->group != nullptr)
    record->gang = GangKey(jobs::PodSets(), record->ns, GroupName(pod.meta, *record->group));
  return record;
}

// A pod that belongs to no gang is counted by itself; a gang's pods are counted with its seats (RefreshHeld).
// One that another scheduler has nominated to a node counts there, whatever its priority: what it waits for
// is being cleared away for it.
void CountForeign(World& world, const PodRecord& pod, bool present) {
  const std::string& node = pod.node.empty() ? pod.nominated : pod.node;
  if ((!pod.gang.empty() && pod.group == nullptr) || node.empty() || !pod.holds) return;
  Tenure tenure = pod.permanent && !pod.node.empty() ? Tenure::kDaemon : Tenure::kPod;
  if (present) {
    world.Occupy(node, pod.pod_class, tenure, pod.who, pod.deleting);
  } else {
    world.Release(node, pod.pod_class, tenure, pod.who, pod.deleting);
  }
  if (tenure == Tenure::kDaemon) CountDaemonPod(world, pod.owner_uid, node, present ? 1 : -1);
}

void DropPod(World& world, const std::string& key) {
  const PodPtr* found = world.pods.Get(key);
  if (found == nullptr) return;
  PodPtr old = *found;
  CountForeign(world, *old, /*present=*/false);
  if (old->charged_until) {
    world.quotas.DischargeUntil(old->ns, *old->charged_until, old->charge);
  } else {
    world.quotas.Discharge(old->ns, old->charge, 1);
  }
  if (!old->gang.empty()) {
    GangState& gang = *world.gangs.Edit(old->gang);
    gang.pods.erase(old->name);
    if (old->disrupted) gang.disrupted_attempt = std::max(gang.disrupted_attempt, old->attempt);
    world.Touch(old->gang);
  }
  world.pods.erase(key);
}

GangState& GangOfPod(World& world, const PodRecord& pod) {
  std::string kind = pod.gang.substr(0, pod.gang.find('/'));
  std::string name = pod.gang.substr(pod.gang.rfind('/') + 1);
  if (pod.group != nullptr) return world.GangAt(jobs::PodSets(), pod.ns, name);
  auto framework = std::ranges::find_if(jobs::AllFrameworks(),
                                        [&](const auto* f) { return f->resource().plural == kind; });
  return world.GangAt(**framework, pod.ns, name);
}

void TakeInPod(World& world, const Observed& observed) {
  kube::Meta meta = kube::ParseMeta(*observed.object);
  std::string key = meta.key();
  const PodPtr* known = world.pods.Get(key);
  uint64_t version = ParseVersion(meta.resource_version);
  if (known != nullptr && (*known)->resource_version > version) return;
  if (observed.gone) {
    if (known == nullptr || (*known)->uid != meta.uid) return;
    // Its name is free again: a wait for the deletion is over.
    if (GangState* gang = world.gangs.Edit((*known)->gang)) {
      gang->retry_at.erase("pods/" + key);
      gang->bound.erase(meta.name);
    }
    return DropPod(world, key);
  }
  Result<kube::Pod> pod = kube::ParsePod(*observed.object);
  DropPod(world, key);
  if (!pod.ok())
    return;  // counted by the shell; a pod the API server accepted but we can't read holds nothing
  PodPtr record = MakeRecord(world, *pod, *observed.object);
  world.pods.Put(key, record);
  CountForeign(world, *record, /*present=*/true);
  if (record->charged_until) {
    world.quotas.ChargeUntil(record->ns, *record->charged_until, record->charge);
  } else {
    world.quotas.Charge(record->ns, record->charge, 1);
  }
  if (record->gang.empty()) return;
  GangState& gang = GangOfPod(world, *record);
  gang.pods.emplace(record->name, record);
  // Known from now on, so that the answer to its create does not bring it back should it be gone by then.
  bool current = gang.job != nullptr && gang.job->meta.uid == record->owner_uid &&
                 record->attempt == gang.status().attempt;
  if (current) gang.created.insert(record->role + "/" + std::to_string(record->index));
  world.Touch(gang.key);
}

// Gangs that are starting with a seat on this node.
void TouchStarting(World& world, const std::string& node) {
  for (const auto& [key, gang] : world.gangs) {
    api::GangPhase phase = gang.status().phase;
    if (phase != api::GangPhase::kPlacing && phase != api::GangPhase::kStarting) continue;
    auto here = [&](const Hold& hold) { return hold.node == node; };
    if (std::ranges::any_of(gang.held, here)) world.Touch(key);
  }
}

void TakeInNode(World& world, const Observed& observed) {
  std::string name = kube::ParseMeta(*observed.object).name;
  Result<kube::Node> node = kube::ParseNode(*observed.object);
  if (observed.gone || !node.ok()) {
    TouchStarting(world, name);
    RefreshDaemonsOn(world, name, /*gone=*/true);
    return world.nodes.Remove(name);
  }
  std::optional<NodeId> known = world.nodes.Find(name);
  const NodeFacts* before = known ? &world.nodes.facts(*known) : nullptr;
  NodeId id = world.nodes.Upsert(*node);
  if (known && before == &world.nodes.facts(id)) return;
  if (const std::vector<World::Occupancy>* occupied = world.occupancy.Get(name);
      !known && occupied != nullptr) {
    for (const World::Occupancy& o : *occupied)
      world.nodes.Occupy(id, o.pod_class, o.pods, o.tenure, o.who, o.leaving);
  }
  RefreshDaemonsOn(world, name, /*gone=*/false);
}

void TakeInDaemonSet(World& world, const Observed& observed) {
  std::string key = kube::ParseMeta(*observed.object).key();
  Result<kube::DaemonSet> set = kube::ParseDaemonSet(*observed.object);
  bool there = !observed.gone && set.ok();
  SetDaemonSet(world, key, there ? std::make_shared<const kube::DaemonSet>(*std::move(set)) : nullptr);
}

// The GangState that counts this object ("services/ns/name", "gangs/ns/name"), or null.
GangState* CountedBy(World& world, const std::string& object) {
  const std::string* counted = world.counted_by.Get(object);
  return counted == nullptr ? nullptr : world.gangs.Edit(*counted);
}

void TakeInService(World& world, const Observed& observed) {
  kube::Meta meta = kube::ParseMeta(*observed.object);
  std::string object = "services/" + meta.key();
  if (GangState* before = CountedBy(world, object)) {  // found gone by a list it carries no labels
    if (before->services.erase(meta.name) > 0) world.quotas.Discharge(meta.ns, ServiceCharge(), 1);
    world.counted_by.erase(object);
    world.Touch(before->key);
  }
  const jobs::Framework* framework = FrameworkByOperator(meta.label(api::kOperatorNameLabel));
  std::string job = meta.label(api::kJobNameLabel);
  const kube::OwnerRef* owner = meta.controller();
  if (observed.gone || framework == nullptr || job.empty() || !MayBelong(*framework, job, owner)) return;
  GangState& gang = world.GangAt(*framework, meta.ns, job);
  gang.services[meta.name] = owner == nullptr ? "" : owner->uid;
  world.quotas.Charge(meta.ns, ServiceCharge(), 1);
  world.counted_by.Put(object, gang.key);
  world.Touch(gang.key);
}

void TakeInGang(World& world, const Observed& observed) {
  kube::Meta meta = kube::ParseMeta(*observed.object);
  std::string object = "gangs/" + meta.key();
  if (observed.gone) {
    GangState* state = CountedBy(world, object);
    if (state != nullptr && state->gang != nullptr) {
      if (state->gang->meta.uid != meta.uid) return;
      state->gang = nullptr;
      world.Touch(state->key);
    }
    world.counted_by.erase(object);  // an answer to a write may have shown before that it is gone
    return;
  }
  Result<api::Gang> parsed = api::ParseGang(*observed.object);
  if (!parsed.ok()) return;
  const std::string& kind = parsed->spec.job.kind;
  bool of_pods = kind == jobs::PodSets().resource().kind;
  const jobs::Framework* framework = of_pods ? &jobs::PodSets() : FrameworkByKind(kind);
  if (framework == nullptr) return;
  GangState& state = world.GangAt(*framework, parsed->meta.ns, parsed->spec.job.name);
  uint64_t version = ParseVersion(parsed->meta.resource_version);
  if (state.gang != nullptr && state.gang_version() > version) return;
  state.gang = std::make_shared<const api::Gang>(std::move(*parsed));
  world.counted_by.Put(object, state.key);
  world.Touch(state.key);
}

void TakeInPodGroup(World& world, const Observed& observed) {
  kube::Meta meta = kube::ParseMeta(*observed.object);
  if (observed.gone) {
    world.pod_groups.erase(meta.key());
  } else {
    world.pod_groups[meta.key()] = json::GetInt(*observed.object, "spec.minMember");
  }
  for (const auto& [key, gang] : world.gangs) {
    if (gang.framework == &jobs::PodSets() && gang.ns == meta.ns) world.Touch(key);
  }
}

void TakeInJob(World& world, const jobs::Framework& framework, const Observed& observed) {
  kube::Meta meta = kube::ParseMeta(*observed.object);
  GangState& state = world.GangAt(framework, meta.ns, meta.name);
  uint64_t version = ParseVersion(meta.resource_version);
  if (state.job != nullptr && state.job->resource_version > version) return;
  if (observed.gone) {
    if (state.job != nullptr && state.job->meta.uid == meta.uid) state.job = nullptr;
  } else {
    auto record = std::make_shared<JobRecord>();
    record->body =
        std::visit([](auto body) { return std::variant<jobs::Job, jobs::InvalidJob>(std::move(body)); },
                   framework.Read(*observed.object));
    record->meta = std::move(meta);
    record->resource_version = version;
    bool same_job = state.job != nullptr && state.job->meta.uid == record->meta.uid;
    bool same_spec = same_job && state.job->meta.generation == record->meta.generation && version != 0;
    if (!same_spec) state.roles.clear();
    state.job = std::move(record);
  }
  world.Touch(state.key);
}

}  // namespace

uint64_t ParseVersion(std::string_view resource_version) {
  uint64_t value = 0;
  std::from_chars(resource_version.data(), resource_version.data() + resource_version.size(), value);
  return value;
}

std::string GangKey(const jobs::Framework& framework, std::string_view ns, std::string_view job_name) {
  std::string key(framework.resource().plural);
  key.append("/").append(ns).append("/").append(job_name);
  return key;
}

namespace {

bool IsOf(const World::Occupancy& o, ClassId pod_class, Tenure tenure, const PodIdentityPtr& who,
          bool leaving) {
  if (o.pod_class != pod_class || o.tenure != tenure || o.leaving != leaving) return false;
  return o.who == who || (o.who && who && o.who->hash == who->hash && *o.who == *who);
}

}  // namespace

void World::Occupy(const std::string& node, ClassId pod_class, Tenure tenure, const PodIdentityPtr& who,
                   bool leaving) {
  std::vector<Occupancy>& list = occupancy.At(node).first;
  auto same = std::find_if(list.begin(), list.end(),
                           [&](const Occupancy& o) { return IsOf(o, pod_class, tenure, who, leaving); });
  if (same == list.end()) same = list.insert(list.end(), {pod_class, tenure, 0, who, leaving});
  ++same->pods;
  if (std::optional<NodeId> id = nodes.Find(node)) nodes.Occupy(*id, pod_class, 1, tenure, who, leaving);
}

void World::Release(const std::string& node, ClassId pod_class, Tenure tenure, const PodIdentityPtr& who,
                    bool leaving) {
  std::vector<Occupancy>& list = occupancy.At(node).first;
  auto same = std::find_if(list.begin(), list.end(),
                           [&](const Occupancy& o) { return IsOf(o, pod_class, tenure, who, leaving); });
  CHECK(same != list.end()) << "released a pod that was never counted on node " << node;
  if (--same->pods == 0) list.erase(same);
  if (list.empty()) occupancy.erase(node);
  if (std::optional<NodeId> id = nodes.Find(node)) nodes.Release(*id, pod_class, 1, tenure, who, leaving);
}

GangState& World::GangAt(const jobs::Framework& framework, const std::string& ns,
                         const std::string& job_name) {
  std::string key = GangKey(framework, ns, job_name);
  auto [gang, made] = gangs.At(key);
  if (made) {
    gang.key = key;
    gang.framework = &framework;
    gang.ns = ns;
    gang.job_name = job_name;
  }
  return gang;
}

const QuotaChargePtr& ServiceCharge() {
  static const QuotaChargePtr charge = std::make_shared<const kube::QuotaCharge>(kube::ServiceCharge());
  return charge;
}

void World::TouchAll(const std::string& ns) {
  for (const auto& [key, gang] : gangs) {
    if (ns.empty() || gang.ns == ns) Touch(key);
  }
}

void TakeIn(World& world, const Observed& observed) {
  if (observed.object == nullptr || !observed.object->is_object()) return;
  const kube::Resource* resource = observed.resource;
  if (resource == &kube::kPods) return TakeInPod(world, observed);
  if (resource == &kube::kServices) return TakeInService(world, observed);
  if (resource == &kube::kGangs) return TakeInGang(world, observed);
  if (resource == &kube::kPodGroups) return TakeInPodGroup(world, observed);
  if (resource == &kube::kNodes) return TakeInNode(world, observed);
  if (resource == &kube::kDaemonSets) return TakeInDaemonSet(world, observed);
  if (resource == &kube::kResourceQuotas) return TakeInQuota(world, observed);
  if (TakeInVolumes(world, observed) || TakeInAdmission(world, observed)) return;
  if (const jobs::Framework* framework = jobs::FrameworkOf(*resource)) TakeInJob(world, *framework, observed);
}

void RefreshQueue(World& world, GangState& gang) {
  if (!gang.waiting()) {
    gang.aged = false;
    return world.waiting.Remove(gang.key);
  }
  Waiting::Kind kind;
  const jobs::Job& job = *gang.job->job();
  bool limited = world.quotas.any(gang.ns);
  for (size_t i = 0; i < gang.roles.size(); ++i) {
    const RoleState& role = gang.roles[i];
    // Where a gang has rules about other pods, alike are only those that have the same, and the same labels.
    // Volumes for one node (`together`) make no kinds: there is one for each job, and mostly it is something
    // else that is short.
    const kube::PodRules& rules = role.need.rules;
    bool has_rules = !rules.affinity.empty() || !rules.anti_affinity.empty() || !rules.spread.empty();
    bool by_identity = has_rules && role.who != nullptr;
    uint64_t identity = by_identity ? role.who->hash : 0;
    // Where there are quotas, those of one namespace that are charged for the same.
    if (limited && role.charge != nullptr) identity = kube::Hash(*role.charge, StableHash(gang.ns, identity));
    kind.push_back({role.plain_class, job.roles[i].replicas, identity});
  }
  // The aged are in the order in which they began to wait, the young in the order in which they were queued.
  WallTime since = gang.aged ? *gang.waiting_since() : *gang.queued_at();
  world.waiting.Put({!gang.aged, gang.priority(), since, gang.key}, std::move(kind));
}

}  // namespace lockstep::cluster
