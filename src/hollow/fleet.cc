#include "hollow/fleet.h"

#include <algorithm>
#include <tuple>

namespace lockstep::hollow {

namespace {

using json::Doc;

// Pods that run already come first: a restarted kubelet must not refuse what it runs in favour of what it
// does not. Then the order of creation.
bool ComesFirst(const json::DocPtr& a, const json::DocPtr& b) {
  auto rank = [](const Doc& pod) {
    bool fresh = json::Find(pod, "status.containerStatuses") == nullptr;
    return std::tuple(fresh, json::GetString(pod, "metadata.creationTimestamp"), kube::KeyOf(pod));
  };
  return rank(*a) < rank(*b);
}

std::string Uid(const Doc& object) { return json::GetString(object, "metadata.uid"); }

}  // namespace

Fleet::Fleet(kube::Api& api, FleetOptions options)
    : api_(api), options_(std::move(options)), writes_(api, options_.writes_in_flight) {}

Fleet::~Fleet() = default;

void Fleet::Start() {
  shell::Reflector::Callbacks pods;
  pods.on_upsert = [this](const std::string&, const std::string&, json::DocPtr pod) {
    OnPod(std::move(pod));
  };
  pods.on_delete = [this](const std::string&, const std::string& uid, const json::DocPtr&) {
    OnPodGone(uid);
  };
  pods.on_synced = [this] { OnSynced(); };
  pod_reflector_ = std::make_unique<shell::Reflector>(
      api_, kube::kPods, shell::Reflector::Scope{options_.ns, "", "spec.nodeName!="}, std::move(pods),
      options_.reflector);
  shell::Reflector::Callbacks nodes;
  nodes.on_upsert = [this](const std::string&, const std::string&, const json::DocPtr& node) {
    OnNode(*node);
  };
  node_reflector_ = std::make_unique<shell::Reflector>(api_, kube::kNodes, shell::Reflector::Scope{},
                                                       std::move(nodes), options_.reflector);
  pod_reflector_->Start();
  node_reflector_->Start();
}

bool Fleet::ready() const {
  if (!synced_) return false;
  return std::ranges::all_of(nodes_, [&](const auto& entry) {
    return entry.second->registered && writes_.idle("node/" + entry.first);
  });
}

// ---- pods ----

void Fleet::OnPod(json::DocPtr pod) {
  std::string uid = Uid(*pod);
  if (auto found = pods_.find(uid); found != pods_.end()) return SeePodChange(*found->second, *pod);
  std::string node_name = json::GetString(*pod, "spec.nodeName");
  HollowNode* node = FindNode(node_name);
  if (!synced_ || node == nullptr || !node->up()) {
    return KeepUnseen(uid, node_name, std::move(pod));
  }
  TakePod(*node, *pod);
}

void Fleet::OnPodGone(const std::string& uid) {
  ForgetUnseen(uid);
  auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  HollowPod& pod = *found->second;
  writes_.Drop(uid);
  if (!pod.node.up()) {
    pod.missed_vanishing = true;
    return;
  }
  pod.life.SeeVanished(api_.loop().now());
  Drive(uid);
}

void Fleet::OnSynced() {
  if (std::exchange(synced_, true)) return;
  for (auto& [name, node] : nodes_) TakeUnseen(*node);
}

void Fleet::KeepUnseen(const std::string& uid, const std::string& node_name, json::DocPtr pod) {
  unseen_[node_name][uid] = std::move(pod);
  unseen_on_[uid] = node_name;
}

void Fleet::ForgetUnseen(const std::string& uid) {
  auto found = unseen_on_.find(uid);
  if (found == unseen_on_.end()) return;
  auto on = unseen_.find(found->second);
  on->second.erase(uid);
  if (on->second.empty()) unseen_.erase(on);
  unseen_on_.erase(found);
}

// Takes what was bound to the node while no kubelet looked.
void Fleet::TakeUnseen(HollowNode& node) {
  auto found = unseen_.find(node.facts.shape.name);
  if (!synced_ || !node.up() || found == unseen_.end()) return;
  std::vector<json::DocPtr> pods;
  for (const auto& [uid, pod] : found->second) {
    pods.push_back(pod);
    unseen_on_.erase(uid);
  }
  unseen_.erase(found);
  std::sort(pods.begin(), pods.end(), ComesFirst);
  for (const json::DocPtr& pod : pods) TakePod(node, *pod);
}

void Fleet::TakePod(HollowNode& node, const Doc& object) {
  Now now = api_.loop().now();
  int slot = node.TakePodIp();
  kubelet::PodLife life(object, options_.defaults, {node.facts.host_ip, node.PodIp(slot)}, now);
  Result<kube::PodNeed> need = kube::ParsePodNeed(object);
  std::string uid = life.shape().uid;
  auto owned =
      std::make_unique<HollowPod>(api_.loop(), node, std::move(life), need.ok() ? *need : kube::PodNeed{});
  HollowPod& pod = *owned;
  pod.ip_slot = slot;
  pods_.emplace(uid, std::move(owned));
  node.pods.insert(uid);

  bool deleted = json::Find(object, "metadata.deletionTimestamp") != nullptr;
  if (deleted) pod.life.SeeDeletion(json::GetInt(object, "metadata.deletionGracePeriodSeconds"), now);
  if (pod.life.state() == kubelet::PodLife::State::kWaiting && !deleted) {
    std::optional<kubelet::Refusal> refusal;
    if (!need.ok()) {
      refusal = kubelet::Refusal{"UnexpectedAdmissionError", "Pod was rejected: " + need.error().message};
    } else {
      refusal = kubelet::RefusePod(pod.need, node.facts.shape, node.admitted);
    }
    if (refusal) {
      ++counts_.refused;
      pod.life.Refuse(*refusal, now);
    } else {
      ++counts_.admitted;
      pod.life.Admit(now);
    }
  }
  ReconsiderEviction(pod);
  Drive(uid);
}

void Fleet::SeePodChange(HollowPod& pod, const Doc& object) {
  if (json::Find(object, "metadata.deletionTimestamp") == nullptr) return;
  int64_t grace = json::GetInt(object, "metadata.deletionGracePeriodSeconds");
  if (!pod.node.up()) {
    if (!pod.missed_first_grace) pod.missed_first_grace = grace;
    pod.missed_last_grace = grace;
    return;
  }
  pod.life.SeeDeletion(grace, api_.loop().now());
  Drive(std::string(pod.uid()));
}

void Fleet::Drive(const std::string& uid) {
  auto found = pods_.find(uid);
  if (found == pods_.end() || !found->second->node.up()) return;
  HollowPod& pod = *found->second;
  Now now = api_.loop().now();
  auto before = pod.life.state();
  kubelet::LifeStep step = pod.life.Advance(now);
  if (before != kubelet::PodLife::State::kEnded && pod.life.state() == kubelet::PodLife::State::kEnded) {
    ++counts_.ended;
  }
  if (pod.evict_at && !pod.life.terminating() && pod.life.state() != kubelet::PodLife::State::kEnded) {
    if (now.mono >= *pod.evict_at) {
      Evict(pod);
    } else {
      step.wake = std::min(step.wake.value_or(*pod.evict_at), *pod.evict_at);
    }
  }
  Write(pod, step);
  Account(pod);
  SetWake(pod, step.wake);
  bool over = pod.life.over();
  UpdateRendezvous(pod);
  if (over) Erase(uid);
}

void Fleet::Write(HollowPod& pod, const kubelet::LifeStep& step) {
  kube::Request request;
  request.resource = &kube::kPods;
  request.ns = pod.life.shape().ns;
  request.name = pod.life.shape().name;
  if (step.status_patch) {
    kube::Request patch = request;
    patch.verb = kube::Verb::kPatch;
    patch.subresource = "status";
    patch.patch = kube::PatchType::kStrategicMerge;
    patch.body = json::Dump(*step.status_patch);
    writes_.Put(pod.uid(), std::move(patch));
  }
  if (step.remove) {
    request.verb = kube::Verb::kDelete;
    request.grace_seconds = 0;
    request.precondition_uid = pod.uid();
    writes_.Put(pod.uid(), std::move(request));
  }
}

// Keeps the node's sums of what admission counts and of what runs.
void Fleet::Account(HollowPod& pod) {
  auto keep = [&pod](bool& counted, bool counts, kubelet::Usage& usage) {
    if (counts == counted) return;
    counted = counts;
    counts ? usage.Add(pod.need) : usage.Remove(pod.need);
  };
  keep(pod.counted, pod.life.counts_in_admission(), pod.node.admitted);
  keep(pod.process_counted, pod.life.process_runs(), pod.node.processes);
}

void Fleet::SetWake(HollowPod& pod, std::optional<MonoTime> wake) {
  if (!wake) return pod.timer.Stop();
  pod.timer.SetAt(*wake, [this, uid = pod.uid()] { Drive(uid); });
}

void Fleet::UpdateRendezvous(HollowPod& pod) {
  const auto& wanted = pod.life.programme().rendezvous;
  if (!wanted) return;
  std::string key = pod.life.shape().ns + "/" + wanted->group;
  std::set<std::string>& members = rendezvous_[key];
  if (!pod.life.process_runs()) {
    members.erase(pod.uid());
    if (members.empty()) rendezvous_.erase(key);
    return;
  }
  members.insert(pod.uid());
  if (!pod.life.awaits_meeting() || static_cast<int64_t>(members.size()) < wanted->size) return;
  std::vector<std::string> met;
  for (const std::string& uid : members) {
    HollowPod& member = *pods_.at(uid);
    if (!member.life.awaits_meeting()) continue;
    member.life.Meet(api_.loop().now().mono);
    met.push_back(uid);
  }
  for (const std::string& uid : met) Drive(uid);
}

void Fleet::ReconsiderEviction(HollowPod& pod) {
  pod.evict_at.reset();
  if (!options_.evict_by_taints) return;
  std::optional<Duration> stay = kubelet::TimeUntilEviction(pod.node.api_taints, pod.need.tolerations);
  if (stay) pod.evict_at = api_.loop().now().mono + *stay;
}

void Fleet::Evict(HollowPod& pod) {
  ++counts_.evicted;
  pod.evict_at.reset();
  kube::Request request;
  request.verb = kube::Verb::kDelete;
  request.resource = &kube::kPods;
  request.ns = pod.life.shape().ns;
  request.name = pod.life.shape().name;
  request.precondition_uid = pod.uid();
  writes_.Put(pod.uid(), std::move(request));
}

void Fleet::Erase(const std::string& uid) {
  auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  HollowPod& pod = *found->second;
  pod.node.pods.erase(uid);
  pod.node.pod_ips.erase(pod.ip_slot);
  if (pod.counted) pod.node.admitted.Remove(pod.need);
  if (pod.process_counted) pod.node.processes.Remove(pod.need);
  if (const auto& wanted = pod.life.programme().rendezvous) {
    auto group = rendezvous_.find(pod.life.shape().ns + "/" + wanted->group);
    if (group != rendezvous_.end()) {
      group->second.erase(uid);
      if (group->second.empty()) rendezvous_.erase(group);
    }
  }
  pods_.erase(found);
}

size_t Fleet::processes() const {
  size_t count = 0;
  for (const auto& [name, node] : nodes_) count += static_cast<size_t>(node->processes.pods);
  return count;
}

}  // namespace lockstep::hollow
