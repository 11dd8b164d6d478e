#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/server.h"

// A Server with a clock of its own and short ways to write requests, for tests and benchmarks.
namespace lockstep::apiserver {

class TestServer {
 public:
  explicit TestServer(ServerOptions options = {}) : server(options) {}

  kube::Response Create(const kube::Resource& resource, const json::Doc& object, bool dry_run = false) {
    kube::Request request = Make(kube::Verb::kCreate, resource, "");
    request.body = json::Dump(object);
    request.dry_run = dry_run;
    return Send(request);
  }
  kube::Response Get(const kube::Resource& resource, const std::string& name) {
    return Send(Make(kube::Verb::kGet, resource, name));
  }
  kube::Response Update(const kube::Resource& resource, const json::Doc& object,
                        const std::string& sub = "") {
    kube::Request request = Make(kube::Verb::kUpdate, resource, json::GetString(object, "metadata.name"));
    request.body = json::Dump(object);
    request.subresource = sub;
    return Send(request);
  }
  kube::Response Patch(const kube::Resource& resource, const std::string& name, const json::Doc& patch,
                       const std::string& sub = "", kube::PatchType type = kube::PatchType::kMerge) {
    kube::Request request = Make(kube::Verb::kPatch, resource, name);
    request.body = json::Dump(patch);
    request.subresource = sub;
    request.patch = type;
    return Send(request);
  }
  kube::Response Delete(const kube::Resource& resource, const std::string& name,
                        std::optional<int64_t> grace = std::nullopt, const std::string& propagation = "") {
    kube::Request request = Make(kube::Verb::kDelete, resource, name);
    request.grace_seconds = grace;
    request.propagation = propagation;
    return Send(request);
  }
  kube::Response List(const kube::Resource& resource, const std::string& labels = "",
                      const std::string& fields = "") {
    kube::Request request = Make(kube::Verb::kList, resource, "");
    request.label_selector = labels;
    request.field_selector = fields;
    return Send(request);
  }
  kube::Response Send(const kube::Request& request) { return server.Handle(request, now, "tester"); }
  kube::Request Make(kube::Verb verb, const kube::Resource& resource, const std::string& name) const {
    kube::Request request;
    request.verb = verb;
    request.resource = &resource;
    request.ns = resource.namespaced ? ns : "";
    request.name = name;
    return request;
  }

  // The stored object; null if there is none.
  json::Doc Stored(const kube::Resource& resource, const std::string& name) {
    kube::Response response = Get(resource, name);
    return response.status.ok() ? *json::Parse(response.body) : json::Doc();
  }
  bool Has(const kube::Resource& resource, const std::string& name) {
    return !Stored(resource, name).is_null();
  }

  // Lets the controllers work until they have nothing left to do.
  void Settle() {
    for (int i = 0; i < 100 && server.ClaimControllerWork(); ++i) server.RunControllers(now);
  }
  void Pass(Duration time) {
    now.mono += time;
    now.wall += time;
  }

  Server server;
  std::string ns = "ns";
  Now now{MonoTime(seconds(1000)), WallTime(seconds(1'700'000'000))};
};

inline std::vector<std::string> NamesOf(const kube::Response& list) {
  std::vector<std::string> names;
  const json::Doc body = *json::Parse(list.body);
  for (const json::Doc& item : body.at("items")) {
    names.push_back(json::GetString(item, "metadata.name"));
  }
  return names;
}

inline json::Doc PodDoc(const std::string& name, const std::string& node = "") {
  json::Doc pod = {{"apiVersion", "v1"},
                   {"kind", "Pod"},
                   {"metadata", {{"name", name}}},
                   {"spec", {{"containers", {{{"name", "c"}, {"image", "busybox:1"}}}}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  return pod;
}

inline json::Doc JobDoc(const std::string& name) {
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "PyTorchJob"},
          {"metadata", {{"name", name}}},
          {"spec", {{"pytorchReplicaSpecs", json::Doc::object()}}}};
}

inline json::Doc ConfigDoc(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}};
}

// As in metadata.ownerReferences.
inline json::Doc OwnerDoc(const json::Doc& owner) {
  return {{"apiVersion", owner["apiVersion"]},
          {"kind", owner["kind"]},
          {"name", owner["metadata"]["name"]},
          {"uid", owner["metadata"]["uid"]}};
}

}  // namespace lockstep::apiserver
