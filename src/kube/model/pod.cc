#include "kube/model/pod.h"

#include <algorithm>

#include "kube/model/reader.h"
#include "kube/model/volume.h"

namespace lockstep::kube {
namespace {

using json::Doc;

// Only these may be given for the whole pod. Source: k8s.io/component-helpers/resource
// SupportedPodLevelResources and IsSupportedPodLevelResource.
bool IsPodLevelResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

// `resources.requests` with the defaulting of the API server: a limit without a request counts as the
// request.
Resources ParseRequests(Reader& read, const Doc& container, const std::string& path) {
  const Doc* resources = read.Object(container, path, "resources");
  if (resources == nullptr) return {};
  Resources requests =
      read.Take(ParseResources(json::Key(resources, "requests"), Join(path, "resources.requests")));
  Resources limits =
      read.Take(ParseResources(json::Key(resources, "limits"), Join(path, "resources.limits")));
  requests.merge(limits);  // keeps what is there
  return requests;
}

bool IsSidecar(const Doc& init_container) {
  return json::GetString(init_container, "restartPolicy") == "Always";
}

// What the containers need together. Main containers and sidecars run side by side; each init container runs
// beside the sidecars that were started before it.
Resources SumContainers(Reader& read, const Doc& spec) {
  Resources sum, sidecars, init_peak;
  size_t index = 0;
  for (const Doc* container : read.Objects(spec, "spec", "containers")) {
    AddTo(sum, ParseRequests(read, *container, Join("spec.containers", index++)));
  }
  index = 0;
  for (const Doc* container : read.Objects(spec, "spec", "initContainers")) {
    Resources requests = ParseRequests(read, *container, Join("spec.initContainers", index++));
    if (IsSidecar(*container)) {
      AddTo(sum, requests);
      AddTo(sidecars, requests);
      MaxInto(init_peak, sidecars);
    } else {
      AddTo(requests, sidecars);
      MaxInto(init_peak, requests);
    }
  }
  MaxInto(sum, init_peak);
  return sum;
}

// Pod-level requests replace the sum for the resources they name; a pod-level limit stands in where neither
// the pod nor a container requests the resource.
void OverrideByPodLevel(Reader& read, const Doc& spec, Resources& sum) {
  const Doc* resources = read.Object(spec, "spec", "resources");
  if (resources == nullptr) return;
  Resources requests = read.Take(ParseResources(json::Key(resources, "requests"), "spec.resources.requests"));
  Resources limits = read.Take(ParseResources(json::Key(resources, "limits"), "spec.resources.limits"));
  for (const auto& [name, amount] : requests) {
    if (IsPodLevelResource(name)) sum[name] = amount;
  }
  for (const auto& [name, amount] : limits) {
    if (IsPodLevelResource(name)) sum.emplace(name, amount);
  }
}

Resources ParsePodRequests(Reader& read, const Doc& spec) {
  Resources sum = SumContainers(read, spec);
  OverrideByPodLevel(read, spec, sum);
  AddTo(sum, read.Take(ParseResources(json::Key(&spec, "overhead"), "spec.overhead")));
  // The scheduler asks nothing of a node for a request of zero, not even that it knows the resource.
  std::erase_if(sum, [](const auto& entry) { return entry.second == 0; });
  return sum;
}

void TakePorts(Reader& read, const Doc& container, const std::string& path, bool host_network,
               std::vector<HostPort>& ports) {
  size_t index = 0;
  for (const Doc* doc : read.Objects(container, path, "ports")) {
    std::string at = Join(Join(path, "ports"), index++);
    HostPort port{.ip = read.Text(*doc, at, "hostIP"), .protocol = read.Text(*doc, at, "protocol")};
    int64_t number = read.Int(*doc, at, "hostPort").value_or(0);
    int64_t inside = read.Int(*doc, at, "containerPort").value_or(0);
    if (number == 0 && host_network) number = inside;  // a default of the API server
    if (number < 0 || number > 65535) read.Fail(Join(at, "hostPort"), "must be a port, 1 to 65535");
    if (number == 0) continue;
    if (port.protocol.empty()) port.protocol = "TCP";
    port.port = static_cast<int32_t>(number);
    ports.push_back(std::move(port));
  }
}

// Of main containers and sidecars; plain init containers are gone when the pod runs.
// Source: k8s.io/kubernetes/pkg/scheduler/util GetHostPorts.
std::vector<HostPort> ParseHostPorts(Reader& read, const Doc& spec) {
  std::vector<HostPort> ports;
  bool host_network = read.Bool(spec, "spec", "hostNetwork");
  size_t index = 0;
  for (const Doc* container : read.Objects(spec, "spec", "containers")) {
    TakePorts(read, *container, Join("spec.containers", index++), host_network, ports);
  }
  index = 0;
  for (const Doc* container : read.Objects(spec, "spec", "initContainers")) {
    std::string path = Join("spec.initContainers", index++);
    if (IsSidecar(*container)) TakePorts(read, *container, path, host_network, ports);
  }
  std::ranges::sort(ports);
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  return ports;
}

// A kubelet refuses pods of another operating system. Source: kubelet lifecycle, PodOSNotSupported.
void RequireOs(const Doc& spec, NodeConstraint& nodes) {
  std::string os = json::GetString(spec, "os.name");
  if (os.empty()) return;
  std::string other = os == "windows" ? "linux" : "windows";
  nodes.all.push_back({"kubernetes.io/os", SelectorOp::kNotIn, {other}});
}

// See PodNeed::finisher.
std::string ParseFinisher(Reader& read, const Doc& spec) {
  if (!read.Objects(spec, "spec", "resourceClaims").empty()) return "spec.resourceClaims";
  size_t index = 0;
  for (const Doc* volume : read.Objects(spec, "spec", "volumes")) {
    std::string path = Join("spec.volumes", index++);
    if (json::Find(*volume, "ephemeral.volumeClaimTemplate") != nullptr) return path + ".ephemeral";
  }
  return "";
}

void TakeVolumes(const Doc& spec, const std::string& ns, PodNeed& need) {
  PodVolumes volumes = ParsePodVolumes(spec, ns);
  need.claims = std::move(volumes.claims);
  std::ranges::move(volumes.unmet, std::back_inserter(need.unmet));
}

PodPhase ParsePhase(std::string_view text) {
  if (text.empty()) return PodPhase::kPending;  // no kubelet has spoken yet
  for (PodPhase phase : {PodPhase::kPending, PodPhase::kRunning, PodPhase::kSucceeded, PodPhase::kFailed}) {
    if (PhaseText(phase) == text) return phase;
  }
  return PodPhase::kUnknown;
}

ContainerState ParseState(const Doc& status) {
  ContainerState state;
  state.name = json::GetString(status, "name");
  state.restarts = static_cast<int32_t>(json::GetInt(status, "restartCount"));
  auto find = [&](std::string_view path) {
    const Doc* found = json::Find(status, path);
    return found != nullptr && found->is_object() ? found : nullptr;
  };
  const Doc* waiting = find("state.waiting");
  const Doc* terminated = find("state.terminated");
  state.running = find("state.running") != nullptr;
  state.terminated = terminated != nullptr;
  state.waiting = !state.running && !state.terminated;  // the default of an empty state
  state.ever_started = state.running || state.terminated || find("lastState.terminated") != nullptr ||
                       find("lastState.running") != nullptr;
  if (terminated != nullptr) {
    state.reason = json::GetString(*terminated, "reason");
    state.exit_code = static_cast<int32_t>(json::GetInt(*terminated, "exitCode"));
  } else if (waiting != nullptr) {
    state.reason = json::GetString(*waiting, "reason");
  }
  return state;
}

bool IsSidecarName(const Doc& spec, std::string_view name) {
  const Doc* containers = json::Key(&spec, "initContainers");
  if (containers == nullptr || !containers->is_array()) return false;
  return std::ranges::any_of(*containers, [&](const Doc& container) {
    return json::GetString(container, "name") == name && IsSidecar(container);
  });
}

// Statuses are a report, not a wish: what can't be read in them is left out.
std::string DisruptionOf(const Doc& status) {
  const Doc* conditions = json::Key(&status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return "";
  for (const Doc& condition : *conditions) {
    if (json::GetString(condition, "type") == "DisruptionTarget" &&
        json::GetString(condition, "status") == "True") {
      return json::GetString(condition, "reason", "Unknown");
    }
  }
  return "";
}

void ParseStatus(const Doc& status, const Doc& spec, Pod& pod) {
  pod.phase = ParsePhase(json::GetString(status, "phase"));
  pod.reason = json::GetString(status, "reason");
  pod.message = json::GetString(status, "message");
  pod.disruption = DisruptionOf(status);
  pod.nominated_node = json::GetString(status, "nominatedNodeName");
  const Doc* conditions = json::Key(&status, "conditions");
  for (const Doc& condition : conditions != nullptr && conditions->is_array() ? *conditions : Doc::array()) {
    bool refused = json::GetString(condition, "type") == "PodScheduled" &&
                   json::GetString(condition, "status") == "False" &&
                   json::GetString(condition, "reason") == "Unschedulable";
    if (refused) pod.unschedulable = json::GetString(condition, "message");
  }
  Result<WallTime> started = ParseTime(json::GetString(status, "startTime"));
  if (started) pod.started_at = *started;
  for (bool init : {true, false}) {
    const Doc* states = json::Key(&status, init ? "initContainerStatuses" : "containerStatuses");
    if (states == nullptr || !states->is_array()) continue;
    for (const Doc& doc : *states) {
      if (!doc.is_object()) continue;
      ContainerState state = ParseState(doc);
      state.init = init;
      state.sidecar = init && IsSidecarName(spec, state.name);
      pod.containers.push_back(std::move(state));
    }
  }
}

}  // namespace

std::string_view PhaseText(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending:
      return "Pending";
    case PodPhase::kRunning:
      return "Running";
    case PodPhase::kSucceeded:
      return "Succeeded";
    case PodPhase::kFailed:
      return "Failed";
    case PodPhase::kUnknown:
      return "Unknown";
  }
  return "Unknown";
}

Result<PodNeed> ParsePodNeed(const Doc& pod) {
  if (!pod.is_object()) return Error{std::string("pod: must be an object, is ") + pod.type_name()};
  Reader read;
  PodNeed need;
  const Doc* spec = read.Object(pod, "", "spec");
  if (spec != nullptr) {
    need.requests = ParsePodRequests(read, *spec);
    need.nodes = read.Take(ParseNodeConstraint(*spec), "spec.");
    RequireOs(*spec, need.nodes);
    need.tolerations = read.Take(ParseTolerations(json::Key(spec, "tolerations")), "spec.");
    need.host_ports = ParseHostPorts(read, *spec);
    if (spec->contains("volumes")) TakeVolumes(*spec, ParseMeta(pod).ns, need);
    need.finisher = ParseFinisher(read, *spec);
    if (spec->contains("affinity") || spec->contains("topologySpreadConstraints")) {
      Meta meta = ParseMeta(pod);
      need.preferred = read.Take(ParsePreferredNodes(*spec), "spec.");
      need.rules = read.Take(ParsePodRules(*spec, meta.ns, meta.labels, need.unmet));
    }
  }
  if (read.error()) return *read.error();
  return need;
}

Result<Pod> ParsePod(const Doc& object) {
  Result<PodNeed> need = ParsePodNeed(object);
  if (!need) return need.error();
  Pod pod;
  pod.meta = ParseMeta(object);
  if (pod.meta.name.empty()) return Error{"metadata.name: must be a name, is missing"};
  pod.need = *std::move(need);

  Reader read;
  static const Doc kNone = Doc::object();
  const Doc* spec = read.Object(object, "", "spec");
  if (spec == nullptr) spec = &kNone;
  pod.node_name = read.Text(*spec, "spec", "nodeName");
  pod.scheduler_name = read.Text(*spec, "spec", "schedulerName");
  pod.priority_class = read.Text(*spec, "spec", "priorityClassName");
  pod.gated = !read.Objects(*spec, "spec", "schedulingGates").empty();
  pod.restart_policy = read.Text(*spec, "spec", "restartPolicy");
  pod.host_network = read.Bool(*spec, "spec", "hostNetwork");
  int64_t priority = read.Int(*spec, "spec", "priority").value_or(0);
  if (priority < INT32_MIN || priority > INT32_MAX) read.Fail("spec.priority", "must fit 32 bits");
  pod.priority = static_cast<int32_t>(priority);
  if (const Doc* status = read.Object(object, "", "status")) ParseStatus(*status, *spec, pod);
  if (read.error()) return *read.error();
  return pod;
}

bool AllContainersEnded(const Pod& pod) {
  return std::ranges::all_of(pod.containers,
                             [](const ContainerState& c) { return c.terminated || !c.ever_started; });
}

bool HoldsResources(const Pod& pod) { return !pod.terminal() || !AllContainersEnded(pod); }

}  // namespace lockstep::kube
