#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/step.h"

// A hand-driven engine for tests: documents go in, actions come out, and the test says what became of each.
namespace lockstep::engine::testing {

// One line for each: what it is, what it touches, and its body.
inline std::string Text(const std::vector<cluster::Action>& actions) {
  std::string text;
  for (const cluster::Action& action : actions) {
    text +=
        std::string(cluster::KindText(action.kind)) + " " + action.touches + " " + action.request.body + "\n";
  }
  return text;
}

class HandDriven {
 public:
  cluster::World world;
  Now now{MonoTime(seconds(1000)), WallTime(seconds(1'800'000'000))};

  // Nodes of `gpus` GPUs each.
  void Nodes(int count, int gpus) {
    for (int i = 0; i < count; ++i) Node("node-" + std::to_string(i), gpus);
  }

  void Node(const std::string& name, int gpus) {
    See(kube::kNodes, {{"metadata", {{"name", name}}},
                       {"status",
                        {{"allocatable",
                          {{"nvidia.com/gpu", std::to_string(gpus)}, {"memory", "1Ti"}, {"pods", "110"}}}}}});
  }

  // A ResourceQuota of `hard`, of which `used` is used by the controller's count.
  void Quota(const std::string& name, const json::Doc& hard, const json::Doc& used) {
    See(kube::kResourceQuotas,
        {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "uid-" + name}}},
         {"spec", {{"hard", hard}}},
         {"status", {{"hard", hard}, {"used", used}}}});
  }

  // A PyTorchJob of `workers` alike pods of one GPU; of `shape`: and so many bytes of memory.
  void Job(const std::string& name, int workers, int shape = 0) {
    json::Doc role = Role("pytorch", workers);
    if (shape > 0) {
      json::Doc& container = role["template"]["spec"]["containers"][0];
      container["resources"]["limits"]["memory"] = shape;
    }
    Submit(kube::kPyTorchJobs, name, {{"pytorchReplicaSpecs", {{"Worker", role}}}});
  }

  // A TFJob of so many parameter servers and workers, of one GPU each.
  void TFJob(const std::string& name, int servers, int workers) {
    Submit(
        kube::kTFJobs, name,
        {{"tfReplicaSpecs", {{"PS", Role("tensorflow", servers)}, {"Worker", Role("tensorflow", workers)}}}});
  }

  void Submit(const kube::Resource& resource, const std::string& name, const json::Doc& spec) {
    See(resource, {{"apiVersion", resource.ApiVersion()},
                   {"kind", resource.kind},
                   {"metadata",
                    {{"name", name},
                     {"namespace", "default"},
                     {"uid", "uid-" + name},
                     {"generation", 1},
                     {"creationTimestamp", FormatTime(now.wall)}}},
                   {"spec", spec}});
  }

  // Something a watch shows; a resourceVersion is given to it.
  void See(const kube::Resource& resource, json::Doc object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    objects_[std::string(resource.plural) + "/" + kube::KeyOf(object)] = object;
    events_.push_back(cluster::Observed{&resource, std::make_shared<const json::Doc>(std::move(object))});
  }

  std::vector<cluster::Action> Step() {
    std::vector<cluster::Event> events;
    events.swap(events_);
    return engine::Step(world, events, now).actions;
  }

  // The action was applied: its object comes back, patched or created.
  void Applied(const cluster::Action& action) {
    json::Doc body = action.request.body.empty() ? json::Doc() : json::Parse(action.request.body).value();
    std::string key =
        action.request.ns + "/" +
        (action.request.name.empty() ? json::GetString(body, "metadata.name") : action.request.name);
    if (action.request.subresource == "binding") {
      Answered(action, kube::OkStatus(201));
      json::Doc bound = {{"spec", {{"nodeName", json::GetString(body, "target.name")}}},
                         {"status", {{"conditions", nullptr}}}};
      return Edit(kube::kPods, "pods/" + key, bound);
    }
    json::Doc& object = objects_[std::string(action.request.resource->plural) + "/" + key];
    if (action.request.verb == kube::Verb::kCreate) object = body;
    if (action.request.verb == kube::Verb::kPatch) object.merge_patch(body);
    object["metadata"]["namespace"] = action.request.ns;
    if (!object["metadata"].contains("uid")) object["metadata"]["uid"] = "uid-" + std::to_string(++version_);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    events_.push_back(
        cluster::ActionDone{action.id, kube::OkStatus(), std::make_shared<const json::Doc>(object)});
  }

  void Answered(const cluster::Action& action, kube::Status status) {
    events_.push_back(cluster::ActionDone{action.id, std::move(status), nullptr});
  }

  // Steps and applies all actions until none comes, or one of `stop_at` does: that one is returned, not
  // applied.
  std::optional<cluster::Action> RunUntil(cluster::ActionKind stop_at, const std::string& touches = "") {
    for (int round = 0; round < 100; ++round) {
      std::vector<cluster::Action> actions = Step();
      if (actions.empty() && events_.empty()) return {};
      std::optional<cluster::Action> stop;
      for (cluster::Action& action : actions) {
        bool wanted = action.kind == stop_at && action.touches.find(touches) != std::string::npos;
        if (wanted && !stop) {
          stop = std::move(action);
        } else {
          Applied(action);
        }
      }
      if (stop) return stop;
    }
    return {};
  }

  // Somebody else writes into an object, named "plural/ns/name".
  void Edit(const kube::Resource& resource, const std::string& name, const json::Doc& merge_patch) {
    json::Doc object = objects_.at(name);
    object.merge_patch(merge_patch);
    See(resource, std::move(object));
  }

  // A watch shows that an object, named "plural/ns/name", is gone. What was sent before may still be
  // answered.
  void Gone(const kube::Resource& resource, const std::string& name) {
    json::Doc object = objects_.at(name);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    events_.push_back(cluster::Observed{&resource, std::make_shared<const json::Doc>(std::move(object)),
                                        /*gone=*/true});
  }

  // Steps and applies all actions until none comes.
  void Settle() {
    for (std::vector<cluster::Action> actions = Step(); !actions.empty() || !events_.empty();
         actions = Step()) {
      for (const cluster::Action& action : actions) Applied(action);
    }
  }

  // Only the World is left: no object can be applied to or change any more.
  void ForgetObjects() {
    objects_.clear();
    events_ = {};
  }

  const cluster::GangState& Gang(const std::string& job, const std::string& plural = "pytorchjobs") const {
    return world.gangs.at(plural + "/default/" + job);
  }

  // Job "a", two workers on two nodes, runs.
  void RunPair() {
    Nodes(2, 1);
    Job("a", 2);
    Settle();
    for (const char* pod : {"a-worker-0", "a-worker-1"}) PodIs(pod, "Running");
    Settle();
  }

  // What the kubelet says of a pod that was created.
  void PodIs(const std::string& name, const std::string& phase) {
    json::Doc& pod = objects_.at("pods/default/" + name);
    json::Doc state = phase == "Running"     ? json::Doc{{"running", json::Doc::object()}}
                      : phase == "Succeeded" ? json::Doc{{"terminated", {{"exitCode", 0}}}}
                                             : json::Doc{{"terminated", {{"exitCode", 1}}}};
    pod["status"] = {{"phase", phase},
                     {"containerStatuses", json::Doc::array({{{"name", "pytorch"}, {"state", state}}})}};
    See(kube::kPods, pod);
  }

  // It is told that it will be deleted, by the reason of the condition DisruptionTarget.
  void Disrupt(const std::string& name, const std::string& reason) {
    json::Doc& pod = objects_.at("pods/default/" + name);
    json::Doc condition = {{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", reason}};
    pod["status"]["conditions"] = json::Doc::array({condition});
    See(kube::kPods, pod);
  }

 private:
  static json::Doc Role(const char* name, int replicas) {
    json::Doc container = {
        {"name", name}, {"image", "i"}, {"resources", {{"limits", {{"nvidia.com/gpu", 1}}}}}};
    return {{"replicas", replicas},
            {"restartPolicy", "OnFailure"},
            {"template", {{"spec", {{"containers", json::Doc::array({container})}}}}}};
  }

  std::vector<cluster::Event> events_;
  std::map<std::string, json::Doc> objects_;
  uint64_t version_ = 100;
};

}  // namespace lockstep::engine::testing
