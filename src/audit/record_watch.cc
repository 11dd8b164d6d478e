// What lists and watches of the objects say.
#include <algorithm>

#include "audit/record.h"
#include "base/hash.h"

namespace lockstep::audit {

namespace {

// A watch shows the changes of one kind in their order, a little after they happened; two watches may be
// this far apart.
constexpr Duration kSkew = seconds(2);

void Earliest(std::optional<WallTime>& time, WallTime seen) { time = time ? std::min(*time, seen) : seen; }

bool Terminal(std::string_view phase) { return phase == "Succeeded" || phase == "Failed"; }

// What a pod is and shall be, without what became of it.
uint64_t WishOf(const json::Doc& pod) {
  uint64_t hash = 1;
  for (const char* path : {"spec", "metadata.labels", "metadata.annotations", "metadata.finalizers",
                           "metadata.ownerReferences", "metadata.deletionTimestamp"}) {
    const json::Doc* part = json::Find(pod, path);
    hash = StableHash(part == nullptr ? "" : json::Dump(*part), hash);
  }
  return hash;
}

// When a condition became true; whole seconds, so its end is taken.
std::optional<WallTime> TrueSince(const json::Doc& object, std::string_view type) {
  const json::Doc* conditions = json::Find(object, "status.conditions");
  if (conditions == nullptr || !conditions->is_array()) return std::nullopt;
  for (const json::Doc& condition : *conditions) {
    if (json::GetString(condition, "type") != type || json::GetString(condition, "status") != "True")
      continue;
    Result<WallTime> time = ParseTime(json::GetString(condition, "lastTransitionTime"));
    if (time.ok()) return *time + seconds(1);
  }
  return std::nullopt;
}

bool Started(const json::Doc& job) {
  for (const char* type : {"Running", "Succeeded", "Failed", "Complete"}) {
    if (TrueSince(job, type)) return true;
  }
  return json::GetInt(job, "status.ready") > 0 || json::GetString(job, "status.phase") == "Running";
}

// Of an Event: the kubelet tells of its pods itself.
bool ByKubelet(const json::Doc& event) {
  for (const char* path : {"source.component", "reportingComponent"}) {
    std::string who = json::GetString(event, path);
    if (who == "kubelet" || who == "lockstep-hollow") return true;
  }
  return false;
}

// Times of a pod that was there before, as far as it tells them.
void TakeFormerTimes(const json::Doc& object, WallTime now, PodRecord& pod) {
  pod.from_before = true;
  WallTime created = kube::ParseMeta(object).created;
  pod.create_sent = std::min(created, now);
  pod.created = std::min(created + seconds(1), now);
  if (!pod.node.empty())
    pod.assigned = std::min(TrueSince(object, "PodScheduled").value_or(*pod.created), now);
  std::string phase = json::GetString(object, "status.phase");
  if (phase == "Running") pod.running = std::min(TrueSince(object, "ContainersReady").value_or(now), now);
  if (Terminal(phase)) pod.ended = pod.create_sent;  // nobody knows how long it lived
}

}  // namespace

void Record::Take(const Sighting& sighting) {
  Cover(sighting.time, sighting.time);
  if (sighting.resource == &kube::kPods) return SeePod(sighting);
  if (sighting.resource == &kube::kNodes) return SeeNode(sighting);
  SeeOwner(sighting);
  CountChange(sighting);
}

void Record::SeePod(const Sighting& sighting) {
  const json::Doc& object = *sighting.object;
  std::string uid = json::GetString(object, "metadata.uid");
  bool known = by_uid_.contains(uid);
  bool alive = sighting.what == Sighting::What::kListed || sighting.what == Sighting::What::kChanged;
  if (!known && !alive) return;
  PodRecord& pod =
      PodOf(uid, json::GetString(object, "metadata.namespace"), json::GetString(object, "metadata.name"));
  if (sighting.what == Sighting::What::kVanished) return Earliest(pod.ended, pod.seen);
  uint64_t wish = WishOf(object);
  CountPodChange(sighting, pod, wish);
  if (wish != pod.wish) Identify(pod, object);
  pod.wish = wish;
  pod.seen = sighting.time;
  if (sighting.what == Sighting::What::kListed && !known) return TakeFormerTimes(object, sighting.time, pod);
  if (!pod.create_sent) pod.create_sent = pod.created = sighting.time;
  if (!pod.node.empty() && !pod.assigned) pod.assigned = sighting.time;
  std::string phase = json::GetString(object, "status.phase");
  if (phase == "Running") Earliest(pod.running, sighting.time);
  if (Terminal(phase) || sighting.what == Sighting::What::kGone) Earliest(pod.ended, sighting.time);
  if (json::Find(object, "metadata.deletionTimestamp") != nullptr) Earliest(pod.leaving, sighting.time);
}

void Record::CountPodChange(const Sighting& sighting, const PodRecord& before, uint64_t wish) {
  if (sighting.what == Sighting::What::kListed) return;
  bool deleting = json::Find(*sighting.object, "metadata.deletionTimestamp") != nullptr;
  bool mirror =
      json::Key(json::Find(*sighting.object, "metadata.annotations"), "kubernetes.io/config.mirror");
  bool is_new = !before.create_sent;
  if (sighting.what == Sighting::What::kGone) {
    // Who was asked to end ends by its kubelet's word.
    before.leaving || mirror ? ++writes_.kubelet : ++writes_.others["delete pods"];
  } else if (mirror || (!is_new && !before.node.empty() && wish == before.wish)) {
    ++writes_.kubelet;
  } else {
    ++writes_.others[is_new ? "create pods" : deleting && !before.leaving ? "delete pods" : "change pods"];
  }
}

void Record::SeeNode(const Sighting& sighting) {
  NodeRecord& node = nodes_[json::GetString(*sighting.object, "metadata.name")];
  NodeRecord::Change change{sighting.time - kSkew, sighting.time + kSkew, {}};
  if (sighting.what == Sighting::What::kListed) change.sent = change.done = WallTime{};
  const json::Doc* allocatable = json::Find(*sighting.object, "status.allocatable");
  bool here = sighting.what == Sighting::What::kListed || sighting.what == Sighting::What::kChanged;
  if (here && (allocatable == nullptr || !allocatable->is_object())) return;
  if (here) {
    for (const auto& [name, amount] : allocatable->items()) {
      if (Result<kube::Amount> parsed = kube::ParseQuantity(amount); parsed.ok())
        change.allocatable[name] = *parsed;
    }
  }
  if (node.changes.empty() || node.changes.back().allocatable != change.allocatable)
    node.changes.push_back(std::move(change));
}

void Record::SeeOwner(const Sighting& sighting) {
  if (sighting.what == Sighting::What::kGone || sighting.what == Sighting::What::kVanished) return;
  std::string_view resource = sighting.resource->plural;
  if (!IsGroup(resource) && !resource.ends_with("jobs")) return;
  const json::Doc& object = *sighting.object;
  kube::Meta meta = kube::ParseMeta(object);
  bool before = sighting.what == Sighting::What::kListed;
  TakeOwner(resource, object, meta.ns, meta.name, before ? meta.created : sighting.time);
  auto job = jobs_.find(KeyOfOwner(resource, object, meta.ns, meta.name));
  if (before && job != jobs_.end() && Started(object)) job->second.started_before = true;
}

// A watch shows every write that changed something, not who sent it: jobs are created and deleted by users,
// all else by controllers.
void Record::CountChange(const Sighting& sighting) {
  bool is_new = seen_.insert(json::GetString(*sighting.object, "metadata.uid")).second;
  bool users = sighting.resource->group == "kubeflow.org";
  std::string verb = is_new ? "create " : "change ";
  if (sighting.what == Sighting::What::kGone) verb = "delete ";
  bool event = sighting.resource == &kube::kEvents;
  if (sighting.what == Sighting::What::kListed || sighting.what == Sighting::What::kVanished) return;
  if (verb != "change " && users) return;
  if (event && (verb == "delete " || ByKubelet(*sighting.object))) return;
  ++writes_.others[verb + std::string(sighting.resource->plural)];
}

}  // namespace lockstep::audit
