#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "apiserver/memory_api.h"
#include "apiserver/server.h"
#include "base/virtual_loop.h"
#include "hollow/fleet.h"

namespace lockstep::hollow {

using Annotations = std::map<std::string, std::string>;  // without their prefix

// A cluster in memory and virtual time: an API server, a fleet, and a user who asks for pods.
class Cluster {
 public:
  explicit Cluster(FleetOptions options = {}) : fleet_options(std::move(options)) {
    fleet_api.emplace(loop, server);
    fleet.emplace(*fleet_api, fleet_options);
    fleet->Start();
  }

  NodeSpec Gpus(int64_t nodes, int64_t gpus) {
    NodeSpec spec{.count = nodes};
    spec.allocatable = {
        {"cpu", 64'000}, {"memory", *kube::ParseQuantity("256Gi")}, {"nvidia.com/gpu", gpus * 1000}};
    return spec;
  }
  void AddGpuNodes(int64_t nodes, int64_t gpus) {
    fleet->AddNodes(Gpus(nodes, gpus));
    ASSERT_TRUE(loop.RunUntilTrue([&] { return fleet->ready(); }, seconds(10)));
  }

  kube::Response Send(kube::Request request) {
    std::optional<kube::Response> answer;
    user.Send(std::move(request), [&](kube::Response response) { answer = std::move(response); });
    EXPECT_TRUE(loop.RunUntilTrue([&] { return answer.has_value(); }, seconds(10)));
    return *answer;
  }
  kube::Request Make(kube::Verb verb, const kube::Resource& resource, const std::string& name) {
    kube::Request request;
    request.verb = verb;
    request.resource = &resource;
    request.name = name;
    if (resource.namespaced) request.ns = "ns";
    return request;
  }
  void CreatePod(const std::string& name, const std::string& node, int gpus, Annotations annotations = {},
                 json::Doc more_spec = json::Doc::object()) {
    json::Doc pod = {
        {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}, {"namespace", "ns"}}}};
    for (const auto& [key, value] : annotations) {
      pod["metadata"]["annotations"]["hollow.lockstep.dev/" + key] = value;
    }
    json::Doc container = {{"name", "main"}, {"image", "img"}};
    if (gpus > 0) {
      container["resources"]["requests"]["nvidia.com/gpu"] = std::to_string(gpus);
      container["resources"]["limits"]["nvidia.com/gpu"] = std::to_string(gpus);
    }
    pod["spec"] = {{"restartPolicy", "Never"}, {"containers", json::Doc::array({std::move(container)})}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    pod["spec"].update(more_spec);
    kube::Request request = Make(kube::Verb::kCreate, kube::kPods, "");
    request.body = json::Dump(pod);
    kube::Response response = Send(request);
    EXPECT_TRUE(response.status.ok()) << response.status.message;
  }
  void DeletePod(const std::string& name, std::optional<int64_t> grace = std::nullopt) {
    kube::Request request = Make(kube::Verb::kDelete, kube::kPods, name);
    request.grace_seconds = grace;
    EXPECT_TRUE(Send(request).status.ok());
  }
  void PatchNode(const std::string& name, const json::Doc& patch) {
    kube::Request request = Make(kube::Verb::kPatch, kube::kNodes, name);
    request.body = json::Dump(patch);
    EXPECT_TRUE(Send(request).status.ok());
  }
  // Null when there is none.
  json::Doc Get(const kube::Resource& resource, const std::string& name) {
    kube::Response response = Send(Make(kube::Verb::kGet, resource, name));
    return response.status.ok() ? *json::Parse(response.body) : json::Doc();
  }
  std::string Phase(const std::string& name) {
    return json::GetString(Get(kube::kPods, name), "status.phase", "gone");
  }
  std::string Reason(const std::string& name) {
    return json::GetString(Get(kube::kPods, name), "status.reason");
  }
  bool WaitPhase(const std::string& name, const std::string& phase, Duration limit = minutes(10)) {
    Duration end = loop.elapsed() + limit;
    while (loop.elapsed() < end) {
      if (Phase(name) == phase) return true;
      loop.RunFor(milliseconds(50));
    }
    return false;
  }
  // As if this program was stopped and started again.
  void RestartFleet() {
    std::vector<std::string> names = fleet->NodeNames();
    fleet.reset();
    fleet.emplace(*fleet_api, fleet_options);
  }

  VirtualLoop loop;
  apiserver::Server server{apiserver::ServerOptions{}};
  apiserver::MemoryApi user{loop, server};
  FleetOptions fleet_options;
  std::optional<apiserver::MemoryApi> fleet_api;
  std::optional<Fleet> fleet;
};

}  // namespace lockstep::hollow
