// What the statements of a scenario do to the ground.
#include <fstream>
#include <sstream>

#include "jobs/framework.h"
#include "json/yaml.h"
#include "sim/manifests.h"
#include "sim/runner.h"

namespace lockstep::sim {

namespace {

constexpr Duration kNodesWithin = seconds(60);

hollow::NodeSpec SpecOf(const AddNodes& deed, const std::string& name) {
  hollow::NodeSpec spec;
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  spec.count = 1;
  spec.name_prefix = name.substr(0, digits);
  spec.first = std::atoll(name.c_str() + digits);
  spec.allocatable = deed.capacity;
  spec.labels = deed.labels;
  spec.taints = deed.taints;
  return spec;
}

std::string DirectoryOf(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

json::Doc TaintsDoc(std::vector<kube::Taint> taints, const ChangeNode& change) {
  for (const std::string& key : change.remove_taints) {
    std::erase_if(taints, [&](const kube::Taint& taint) { return taint.key == key; });
  }
  taints.insert(taints.end(), change.add_taints.begin(), change.add_taints.end());
  json::Doc doc = json::Doc::array();
  for (const kube::Taint& taint : taints) {
    json::Doc one = {{"key", taint.key}, {"effect", taint.effect}};
    if (!taint.value.empty()) one["value"] = taint.value;
    doc.push_back(one);
  }
  return doc;
}

// The API server on an eviction, the scheduler that preempts and the controllers that delete pods all tell
// first that they will.
kube::Request DisruptionOf(const std::string& ns, const std::string& name, const std::string& reason) {
  json::Doc condition = {{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", reason}};
  json::Doc patch;
  patch["status"]["conditions"] = json::Doc::array({condition});
  kube::Request request;
  request.verb = kube::Verb::kPatch;
  request.resource = &kube::kPods;
  request.ns = ns;
  request.name = name;
  request.subresource = "status";
  request.patch = kube::PatchType::kStrategicMerge;
  request.body = json::Dump(patch);
  return request;
}

json::Doc PatchOf(const jobs::Kind& kind, const ChangeJob& change) {
  json::Doc patch = change.patch;
  if (change.workers) patch["spec"][std::string(kind.role_specs)]["Worker"]["replicas"] = *change.workers;
  return patch;
}

}  // namespace

Outcome Runner::Answered(const std::string& what, const kube::Response& response) {
  if (response.status.ok()) return {};
  return Error{what + ": the API server says " + std::to_string(response.status.code) + " " +
               response.status.message};
}

const jobs::Framework& Runner::FrameworkOfJob(const std::string& name) const {
  auto found = frameworks_.find(name);
  return found != frameworks_.end() ? *found->second : *jobs::AllFrameworks().front();
}

const kube::Resource& Runner::ResourceOf(const std::string& kind, const std::string& name) const {
  if (kind == "job") return FrameworkOfJob(name).resource();
  if (kind == "pod") return kube::kPods;
  if (kind == "gang") return kube::kGangs;
  if (kind == "service") return kube::kServices;
  if (kind == "quota") return kube::kResourceQuotas;
  if (kind == "daemonset") return kube::kDaemonSets;
  return kube::kNodes;
}

Outcome Runner::Create(const kube::Resource& resource, const json::Doc& object) {
  if (const jobs::Framework* framework = jobs::FrameworkOf(resource))
    frameworks_[json::GetString(object, "metadata.name")] = framework;
  kube::Request request;
  request.verb = kube::Verb::kCreate;
  request.resource = &resource;
  if (resource.namespaced) request.ns = ground_.ns();
  request.body = json::Dump(object);
  kube::Response response = ground_.Ask(std::move(request));
  // A real API server keeps what is of no namespace from one play to the next.
  if (!resource.namespaced && response.status.already_exists()) return {};
  return Answered("create " + json::GetString(object, "metadata.name"), response);
}

Outcome Runner::Patch(const kube::Resource& resource, const std::string& name, const json::Doc& patch) {
  kube::Request request;
  request.verb = kube::Verb::kPatch;
  request.resource = &resource;
  if (resource.namespaced) request.ns = ground_.ns();
  request.name = name;
  if (patch.contains("status")) request.subresource = "status";
  request.body = json::Dump(patch);
  return Answered("patch " + name, ground_.Ask(std::move(request)));
}

Outcome Runner::Do(const AddNodes& deed) {
  // Names with a number are made in rows, as long as the numbers follow each other.
  std::vector<hollow::NodeSpec> rows;
  for (const std::string& name : deed.names) {
    hollow::NodeSpec spec = SpecOf(deed, name);
    if (!rows.empty() && rows.back().name_prefix == spec.name_prefix &&
        rows.back().first + rows.back().count == spec.first) {
      ++rows.back().count;
    } else {
      rows.push_back(std::move(spec));
    }
  }
  for (const hollow::NodeSpec& row : rows) ground_.fleet().AddNodes(row);
  auto there = [&] {
    return ground_.fleet().ready() &&
           std::all_of(deed.names.begin(), deed.names.end(), [&](const std::string& name) {
             auto node = ground_.picture().nodes.find(name);
             return node != ground_.picture().nodes.end() && node->second.ready();
           });
  };
  if (!Run(there, kNodesWithin) && !invariants_.violation()) return Error{"the nodes did not become ready"};
  return {};
}

Outcome Runner::Do(const Submit& deed) {
  for (const std::string& name : deed.names) {
    json::Doc manifest = deed.manifest;
    manifest["metadata"]["name"] = name;
    manifest["metadata"]["namespace"] = ground_.ns();
    if (deed.rendezvous) AddRendezvous(manifest, name);
    ScaleProgrammes(manifest, ground_.scale());
    const kube::Resource* resource =
        kube::FindResource(json::GetString(manifest, "apiVersion"), json::GetString(manifest, "kind"));
    if (Outcome error = Create(*resource, manifest)) return error;
  }
  return {};
}

Outcome Runner::Do(const SubmitManifest& deed) {
  std::string path = DirectoryOf(scenario_.path) + "/" + deed.path;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{path + ": can't be read"};
  std::stringstream text;
  text << file.rdbuf();
  Result<std::vector<json::Doc>> documents = json::ParseYaml(text.str());
  if (!documents.ok()) return Error{path + ": " + documents.error().message};
  for (json::Doc& manifest : *documents) {
    std::string kind = json::GetString(manifest, "kind");
    const kube::Resource* resource = kube::FindResource(json::GetString(manifest, "apiVersion"), kind);
    if (resource == nullptr) return Error{path + ": unknown kind " + kind};
    if (resource->namespaced) manifest["metadata"]["namespace"] = ground_.ns();
    ScaleProgrammes(manifest, ground_.scale());
    if (Outcome error = Create(*resource, manifest)) return error;
    if (jobs::FrameworkOf(*resource) != nullptr || !manifest.contains("status")) continue;
    // What a controller or a scheduler would have written by now.
    json::Doc status = {{"status", manifest["status"]}};
    if (Outcome error = Patch(*resource, json::GetString(manifest, "metadata.name"), status)) return error;
  }
  return {};
}

Outcome Runner::Do(const ForeignPod& deed) {
  for (const std::string& name : deed.names) {
    json::Doc pod = deed.manifest;
    pod["metadata"]["name"] = name;
    pod["metadata"]["namespace"] = ground_.ns();
    ScaleProgrammes(pod, ground_.scale());
    if (Outcome error = Create(kube::kPods, pod)) return error;
  }
  return {};
}

Outcome Runner::Do(const ChangeOperators& deed) {
  using What = ChangeOperators::What;
  if (deed.after) {
    crash_ = {writes_ + *deed.after, deed.lost, deed.what == What::kCrashLeader};
    return {};
  }
  invariants_.Disturb();
  switch (deed.what) {
    case What::kCrashAll:
      operators_.CrashAll();
      return {};
    case What::kCrashLeader:
      return operators_.CrashLeader();
    case What::kStopLeader:
      return operators_.StopLeader();
    case What::kStart:
      operators_.Start();
      return {};
    case What::kReplicas:
      operators_.Replicas(deed.replicas);
      if (!Run([this] { return operators_.someone_leads(); }, seconds(60)))
        return Error{"nobody became the leader"};
      return {};
  }
  return {};
}

Outcome Runner::Do(const AddScheduler& deed) {
  schedulers_.push_back(std::make_unique<Scheduler>(ground_, deed.name, deed.refuses));
  schedulers_.back()->Wake();
  return {};
}

Outcome Runner::Do(const Delete& deed) {
  for (const std::string& name : deed.names) {
    const kube::Resource& resource = ResourceOf(deed.kind, name);
    if (&resource == &kube::kNodes) {
      ground_.fleet().RemoveNode(name);
      if (!Run([&] { return !ground_.picture().nodes.contains(name); }, kNodesWithin)) {
        return Error{"node " + name + " was not removed"};
      }
      continue;
    }
    if (!deed.disruption.empty()) {
      kube::Request patch = DisruptionOf(ground_.ns(), name, deed.disruption);
      if (Outcome error = Answered("disrupt " + name, ground_.Ask(std::move(patch)))) return error;
    }
    kube::Request request;
    request.verb = kube::Verb::kDelete;
    request.resource = &resource;
    request.ns = ground_.ns();
    request.name = deed.kind == "gang" ? api::GangName(FrameworkOfJob(name).resource().kind, name) : name;
    request.grace_seconds = deed.grace_seconds;
    request.propagation = "Background";
    if (Outcome error = Answered("delete " + name, ground_.Ask(std::move(request)))) return error;
  }
  return {};
}

Outcome Runner::Do(const ChangeNode& deed) {
  for (const std::string& name : deed.names) {
    auto node = ground_.picture().nodes.find(name);
    if (node == ground_.picture().nodes.end()) return Error{"there is no node " + name};
    json::Doc patch = json::Doc::object();
    if (deed.unschedulable) patch["spec"]["unschedulable"] = *deed.unschedulable;
    if (!deed.add_taints.empty() || !deed.remove_taints.empty()) {
      patch["spec"]["taints"] = TaintsDoc(node->second.taints, deed);
    }
    for (const auto& [key, value] : deed.labels) patch["metadata"]["labels"][key] = value;
    for (const auto& [resource, amount] : deed.capacity) {
      patch["status"]["allocatable"][resource] = kube::FormatQuantity(amount);
    }
    if (Outcome error = Patch(kube::kNodes, name, patch)) return error;
  }
  return {};
}

Outcome Runner::Do(const ChangeJob& deed) {
  for (const std::string& name : deed.names) {
    const jobs::Framework& framework = FrameworkOfJob(name);
    if (Outcome error = Patch(framework.resource(), name, PatchOf(framework.kind(), deed))) return error;
  }
  return {};
}

Outcome Runner::Do(const Rank& deed) {
  Rank rank = deed;
  rank.programme = Scaled(std::move(rank.programme), ground_.scale());
  ground_.network().SetRank(rank);
  return {};
}

Outcome Runner::Do(const Fault& deed) {
  Fault fault = deed;
  fault.delay = ground_.Scaled(fault.delay);
  if (fault.lasts) fault.lasts = ground_.Scaled(*fault.lasts);
  invariants_.Disturb();
  ground_.network().Add(fault);
  return {};
}

Outcome Runner::Do(const ClearFaults&) {
  ground_.network().Clear();
  return {};
}

Outcome Runner::Do(const Compact&) {
  invariants_.Disturb();
  ground_.Compact();
  return {};
}

Outcome Runner::Do(const Kubelet& deed) {
  using What = Kubelet::What;
  hollow::Fleet& fleet = ground_.fleet();
  for (const std::string& name : deed.names) {
    switch (deed.what) {
      case What::kFreeze:
        fleet.Freeze(name);
        break;
      case What::kThaw:
        fleet.Thaw(name);
        break;
      case What::kCrash:
        fleet.Crash(name);
        break;
      case What::kBoot:
        fleet.Boot(name);
        break;
      case What::kRestart:
        fleet.StopKubelet(name);
        fleet.Thaw(name);
        break;
    }
  }
  return {};
}

// A real network has the shape that it has.
Outcome Runner::Do(const ShapeNetwork& deed) {
  if (ground_.virtual_time()) ground_.network().Shape(deed);
  return {};
}

Outcome Runner::Do(const SetQuota& deed) {
  json::Doc quota = {{"metadata", {{"name", deed.name}}}, {"spec", deed.spec}};
  if (!ground_.picture().quotas.contains(ground_.ns() + "/" + deed.name))
    return Create(kube::kResourceQuotas, quota);
  return Patch(kube::kResourceQuotas, deed.name, {{"spec", deed.spec}});
}

Outcome Runner::Do(const Inject& deed) {
  ground_.picture().injected = deed.sidecar;
  return ground_.Inject(deed.sidecar);
}

Outcome Runner::Do(const Wait& deed) {
  Run({}, ground_.Scaled(deed.duration));
  return {};
}

}  // namespace lockstep::sim
