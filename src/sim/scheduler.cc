#include "sim/scheduler.h"

#include "sim/room_left.h"

namespace lockstep::sim {

namespace {

constexpr Duration kDelay = milliseconds(50);

json::Doc Condition(WallTime now) {
  return {{"type", "PodScheduled"},
          {"status", "False"},
          {"reason", "Unschedulable"},
          {"message", "0/0 nodes are available"},
          {"lastTransitionTime", FormatTime(now)}};
}

}  // namespace

Scheduler::Scheduler(Ground& ground, std::string name, std::string refuses)
    : ground_(ground), name_(std::move(name)), refuses_(std::move(refuses)), timer_(ground.loop()) {}

void Scheduler::Wake() {
  if (awake_) return;
  awake_ = true;
  timer_.SetAfter(kDelay, [this] { Look(); });
}

void Scheduler::Look() {
  awake_ = false;
  Picture& picture = ground_.picture();
  std::map<std::string, Taken> taken;  // by pods alone: it knows nothing of seats
  auto take = [&](const std::string& node, const kube::PodNeed& need) {
    kube::AddTo(taken[node].requests, need.requests);
    taken[node].requests["pods"] += 1000;
  };
  for (const auto& [key, pod] : picture.pods) {
    if (!pod.pod.node_name.empty() && kube::HoldsResources(pod.pod)) take(pod.pod.node_name, pod.pod.need);
  }
  for (const auto& [key, pod] : picture.pods) {
    if (!pod.unbound() || pod.pod.scheduler_name != name_ || pod.pod.gated) continue;
    if (under_way_.contains(pod.uid())) continue;
    auto node = std::ranges::find_if(picture.nodes, [&](const auto& entry) {
      return entry.first != refuses_ && Room(entry.second, &taken[entry.first], pod.pod.need) > 0;
    });
    if (node == picture.nodes.end()) {
      if (!pod.pod.unschedulable) Refuse(pod);
      continue;
    }
    take(node->first, pod.pod.need);
    Bind(pod, node->first);
  }
}

void Scheduler::Bind(const SeenPod& pod, const std::string& node) {
  kube::Request request;
  request.verb = kube::Verb::kCreate;
  request.subresource = "binding";
  request.name = pod.pod.meta.name;
  request.ns = pod.pod.meta.ns;
  request.body = json::Dump(json::Doc{{"apiVersion", "v1"},
                                      {"kind", "Binding"},
                                      {"metadata", {{"name", request.name}, {"uid", pod.uid()}}},
                                      {"target", {{"kind", "Node"}, {"name", node}}}});
  Send(std::move(request), pod.uid());
}

void Scheduler::Refuse(const SeenPod& pod) {
  kube::Request request;
  request.verb = kube::Verb::kPatch;
  request.patch = kube::PatchType::kStrategicMerge;
  request.subresource = "status";
  request.name = pod.pod.meta.name;
  request.ns = pod.pod.meta.ns;
  json::Doc conditions = json::Doc::array({Condition(ground_.loop().now().wall)});
  request.body = json::Dump(json::Doc{{"metadata", {{"resourceVersion", pod.pod.meta.resource_version}}},
                                      {"status", {{"conditions", std::move(conditions)}}}});
  Send(std::move(request), pod.uid());
}

void Scheduler::Send(kube::Request request, const std::string& uid) {
  request.resource = &kube::kPods;
  under_way_.insert(uid);
  ground_.user().Send(std::move(request), [this, alive = alive_, uid](const kube::Response&) {
    if (!*alive) return;
    under_way_.erase(uid);
    Wake();
  });
}

}  // namespace lockstep::sim
