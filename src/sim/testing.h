#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/gang.h"
#include "api/labels.h"
#include "sim/picture.h"

namespace lockstep::sim {

// Objects for tests of what looks at a Picture.
class PictureBuilder {
 public:
  explicit PictureBuilder(Picture& picture) : picture_(picture) {}

  void Node(const std::string& name, int gpus) {
    json::Doc node = {
        {"metadata", {{"name", name}, {"labels", {{"kubernetes.io/hostname", name}}}}},
        {"status",
         {{"allocatable", {{"nvidia.com/gpu", gpus}, {"cpu", "64"}, {"memory", "64Gi"}, {"pods", "110"}}},
          {"conditions", json::Doc::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
    Take(kube::kNodes, node);
  }

  // A job of `workers` one-GPU workers with the given conditions, each "Type=Status". `rules` go into the
  // pods' spec.
  void Job(const std::string& name, int workers, const std::vector<std::string>& conditions = {},
           const json::Doc& rules = json::Doc::object()) {
    json::Doc pod = {
        {"containers", json::Doc::array({{{"name", "pytorch"},
                                          {"resources", {{"requests", {{"nvidia.com/gpu", "1"}}}}}}})}};
    pod.update(rules);
    json::Doc job = {{"apiVersion", "kubeflow.org/v1"},
                     {"kind", "PyTorchJob"},
                     {"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "uid-" + name}}}};
    job["spec"]["pytorchReplicaSpecs"]["Worker"] = {{"replicas", workers}, {"template", {{"spec", pod}}}};
    job["status"]["conditions"] = json::Doc::array();
    for (const std::string& condition : conditions) {
      size_t equals = condition.find('=');
      job["status"]["conditions"].push_back({{"type", condition.substr(0, equals)},
                                             {"status", condition.substr(equals + 1)},
                                             {"message", "message of " + condition}});
    }
    Take(kube::kPyTorchJobs, job);
  }

  void Gang(const std::string& job, int workers, api::GangStatus status, Duration queued_at = {}) {
    api::GangSpec spec;
    spec.job = {"kubeflow.org/v1", "PyTorchJob", job, "uid-" + job};
    spec.queued_at = WallTime(seconds(1'800'000'000) + queued_at);
    spec.roles = {{"Worker", workers, workers}};
    if (!status.phase_since) status.phase_since = spec.queued_at + Duration(++gangs_written_);
    json::Doc gang = api::NewGangDoc("default", spec);
    gang["status"] = api::StatusDoc(status, spec.roles);
    for (auto member = gang["status"].begin(); member != gang["status"].end();) {
      member = member->is_null() ? gang["status"].erase(member) : std::next(member);
    }
    Take(kube::kGangs, gang);
  }

  struct PodFacts {
    std::string node;
    std::string phase = "Running";
    int64_t attempt = 1;
    std::string suffix = "";
    bool deleting = false;
  };
  void Pod(const std::string& job, int index, const PodFacts& facts) {
    std::string number = std::to_string(index);
    json::Doc pod = {
        {"metadata", {{"name", job + "-worker-" + number + facts.suffix}, {"namespace", "default"}}}};
    json::Doc& meta = pod["metadata"];
    meta["uid"] = "pod-" + meta["name"].get<std::string>();
    if (facts.deleting) meta["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    meta["labels"] = {{std::string(api::kJobNameLabel), job},
                      {std::string(api::kReplicaTypeLabel), "worker"},
                      {std::string(api::kReplicaIndexLabel), number},
                      {std::string(api::kAttemptLabel), std::to_string(facts.attempt)}};
    meta["ownerReferences"] = json::Doc::array({{{"apiVersion", "kubeflow.org/v1"},
                                                 {"kind", "PyTorchJob"},
                                                 {"name", job},
                                                 {"uid", "uid-" + job},
                                                 {"controller", true}}});
    Fill(pod, facts);
    Take(kube::kPods, pod);
  }
  void ForeignPod(const std::string& name, const std::string& node) {
    json::Doc pod = {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "pod-" + name}}}};
    Fill(pod, {node, "Running", 0, "", false});
    Take(kube::kPods, pod);
  }
  // Whose pods of one GPU belong on every node.
  void DaemonSet(const std::string& name) {
    json::Doc container = {{"name", "agent"}, {"resources", {{"requests", {{"nvidia.com/gpu", "1"}}}}}};
    json::Doc spec = {{"containers", json::Doc::array({container})}};
    Take(kube::kDaemonSets, {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "uid-" + name}}},
                             {"spec", {{"template", {{"spec", spec}}}}}});
  }
  void Gone(const kube::Resource& resource, const std::string& name) {
    json::Doc meta = {{"name", name}};
    if (resource.namespaced) meta["namespace"] = "default";
    picture_.Take(resource, std::make_shared<const json::Doc>(json::Doc{{"metadata", meta}}), /*gone=*/true);
  }

 private:
  int64_t gangs_written_ = 0;

  static void Fill(json::Doc& pod, const PodFacts& facts) {
    pod["spec"]["containers"] =
        json::Doc::array({{{"name", "pytorch"}, {"resources", {{"requests", {{"nvidia.com/gpu", "1"}}}}}}});
    if (!facts.node.empty()) pod["spec"]["nodeName"] = facts.node;
    pod["status"]["phase"] = facts.phase;
    json::Doc state = {{"waiting", {{"reason", "ContainerCreating"}}}};
    if (facts.phase == "Running") state = {{"running", json::Doc::object()}};
    if (facts.phase == "Succeeded") state = {{"terminated", {{"exitCode", 0}}}};
    if (facts.phase == "Failed") state = {{"terminated", {{"exitCode", 1}}}};
    pod["status"]["containerStatuses"] = json::Doc::array({{{"name", "pytorch"}, {"state", state}}});
  }
  void Take(const kube::Resource& resource, const json::Doc& object) {
    picture_.Take(resource, std::make_shared<const json::Doc>(object), /*gone=*/false);
  }

  Picture& picture_;
};

}  // namespace lockstep::sim
