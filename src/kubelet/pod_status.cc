#include "kubelet/pod_status.h"

#include <cstdio>

#include "base/hash.h"

namespace lockstep::kubelet {

namespace {

using json::Doc;

// 64 hex digits that differ between the starts of one container, as a real runtime's do.
std::string ContainerId(const PodShape& pod, const std::string& container, int64_t start) {
  std::string id = "containerd://";
  uint64_t hash = StableHash(pod.uid + "/" + container, static_cast<uint64_t>(start) + 1);
  for (int i = 0; i < 4; ++i) {
    hash = StableHash(container, hash);
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    id += digits;
  }
  return id;
}

Doc Terminated(const ContainerEnd& end, const std::string& id) {
  Doc state = {{"exitCode", end.exit_code}, {"reason", end.reason}};
  if (!end.message.empty()) state["message"] = end.message;
  bool ran = end.started != WallTime{};
  state["startedAt"] = ran ? Doc(FormatTime(end.started)) : Doc();
  state["finishedAt"] = ran ? Doc(FormatTime(end.finished)) : Doc();
  if (ran) state["containerID"] = id;
  return Doc{{"terminated", std::move(state)}};
}

Doc MainContainer(const PodShape& pod, const PodShape::Container& container, const StatusFacts& facts) {
  Doc status = {{"name", container.name},
                {"image", container.image},
                {"imageID", ""},
                {"lastState", Doc::object()},
                {"restartCount", facts.restarts}};
  bool running = facts.main == StatusFacts::Main::kRunning;
  status["ready"] = running;
  status["started"] = running;
  std::string id = ContainerId(pod, container.name, facts.restarts);
  switch (facts.main) {
    case StatusFacts::Main::kWaiting: {
      Doc waiting = {{"reason", facts.waiting_reason}};
      if (!facts.waiting_message.empty()) waiting["message"] = facts.waiting_message;
      status["state"] = {{"waiting", std::move(waiting)}};
      if (facts.ended) status["lastState"] = Terminated(*facts.ended, id);
      break;
    }
    case StatusFacts::Main::kRunning:
      status["state"] = {{"running", {{"startedAt", FormatTime(*facts.running_since)}}}};
      if (facts.ended)
        status["lastState"] = Terminated(*facts.ended, ContainerId(pod, container.name, facts.restarts - 1));
      break;
    case StatusFacts::Main::kTerminated:
      status["state"] = Terminated(*facts.ended, id);
      break;
  }
  bool existed =
      facts.main == StatusFacts::Main::kRunning || (facts.ended && facts.ended->started != WallTime{});
  if (existed) {
    status["containerID"] = id;
    status["imageID"] = container.image;
  }
  return status;
}

// Init containers take no time here: done when the main ones start. Sidecars live and end with the main ones.
Doc InitContainer(const PodShape& pod, const PodShape::Container& container, const StatusFacts& facts) {
  Doc status = {{"name", container.name},
                {"image", container.image},
                {"imageID", ""},
                {"lastState", Doc::object()},
                {"restartCount", 0}};
  bool lives = container.sidecar && facts.main != StatusFacts::Main::kTerminated;
  status["ready"] = facts.initialized && (!container.sidecar || lives);
  status["started"] = facts.initialized && lives;
  if (!facts.initialized) {
    status["state"] = {{"waiting", {{"reason", "PodInitializing"}}}};
    return status;
  }
  std::string id = ContainerId(pod, container.name, 0);
  status["containerID"] = id;
  status["imageID"] = container.image;
  if (lives) {
    status["state"] = {{"running", {{"startedAt", FormatTime(facts.start_time)}}}};
    return status;
  }
  ContainerEnd end{0, "Completed", "", facts.start_time, facts.start_time};
  if (container.sidecar && facts.ended) {
    end.finished = facts.ended->finished;
    if (facts.ended->reason == "Unknown") end = *facts.ended;
  }
  status["state"] = Terminated(end, id);
  return status;
}

class Conditions {
 public:
  Conditions(ConditionTimes& times, WallTime now) : times_(times), now_(now) {}

  void Add(const std::string& type, bool holds, const std::string& reason = "",
           const std::string& message = "") {
    std::string status = holds ? "True" : "False";
    Doc condition = {{"type", type}, {"status", status}, {"lastProbeTime", nullptr}};
    condition["lastTransitionTime"] = FormatTime(times_.Since(type, status, now_));
    // Null removes what an earlier patch left there.
    condition["reason"] = reason.empty() ? Doc() : Doc(reason);
    condition["message"] = message.empty() ? Doc() : Doc(message);
    list_.push_back(std::move(condition));
  }
  Doc Take() { return std::move(list_); }

 private:
  ConditionTimes& times_;
  WallTime now_;
  Doc list_ = Doc::array();
};

std::string Unready(const PodShape& pod) {
  std::string names;
  for (const PodShape::Container& container : pod.containers)
    names += (names.empty() ? "" : " ") + container.name;
  return "containers with unready status: [" + names + "]";
}

Doc PodConditions(const PodShape& pod, const StatusFacts& facts, ConditionTimes& times, WallTime now) {
  Conditions conditions(times, now);
  bool running = facts.main == StatusFacts::Main::kRunning;
  bool sandbox = running || (facts.main == StatusFacts::Main::kWaiting && facts.initialized);
  conditions.Add("PodReadyToStartContainers", sandbox);
  if (facts.phase == "Succeeded") {
    conditions.Add("Initialized", true, "PodCompleted");
    conditions.Add("Ready", false, "PodCompleted");
    conditions.Add("ContainersReady", false, "PodCompleted");
  } else if (facts.phase == "Failed") {
    conditions.Add("Initialized", true);
    conditions.Add("Ready", false, "PodFailed");
    conditions.Add("ContainersReady", false, "PodFailed");
  } else {
    std::string reason = running ? "" : "ContainersNotReady";
    std::string message = running ? "" : Unready(pod);
    conditions.Add("Initialized", facts.initialized, facts.initialized ? "" : "ContainersNotInitialized");
    conditions.Add("Ready", running, reason, message);
    conditions.Add("ContainersReady", running, reason, message);
  }
  conditions.Add("PodScheduled", true);
  return conditions.Take();
}

std::vector<PodShape::Container> ReadContainers(const Doc& pod, std::string_view path) {
  std::vector<PodShape::Container> containers;
  const Doc* list = json::Find(pod, path);
  if (list == nullptr || !list->is_array()) return containers;
  for (const Doc& item : *list) {
    containers.push_back({json::GetString(item, "name"), json::GetString(item, "image"),
                          json::GetString(item, "restartPolicy") == "Always"});
  }
  return containers;
}

}  // namespace

PodShape ReadPodShape(const Doc& pod) {
  PodShape shape;
  shape.ns = json::GetString(pod, "metadata.namespace");
  shape.name = json::GetString(pod, "metadata.name");
  shape.uid = json::GetString(pod, "metadata.uid");
  shape.containers = ReadContainers(pod, "spec.containers");
  shape.init_containers = ReadContainers(pod, "spec.initContainers");
  shape.restart_policy = json::GetString(pod, "spec.restartPolicy", "Always");
  shape.host_network = json::GetBool(pod, "spec.hostNetwork");
  return shape;
}

void ConditionTimes::Read(const Doc& pod) {
  const Doc* list = json::Find(pod, "status.conditions");
  if (list == nullptr || !list->is_array()) return;
  for (const Doc& condition : *list) {
    Result<WallTime> since = ParseTime(json::GetString(condition, "lastTransitionTime"));
    if (since.ok())
      times_[json::GetString(condition, "type")] = {json::GetString(condition, "status"), *since};
  }
}

WallTime ConditionTimes::Since(const std::string& type, const std::string& status, WallTime now) {
  auto& [last_status, since] = times_[type];
  if (last_status != status) {
    last_status = status;
    since = now;
  }
  return since;
}

Doc StatusPatch(const PodShape& pod, const StatusFacts& facts, ConditionTimes& times, WallTime now) {
  Doc status = {
      {"phase", facts.phase}, {"startTime", FormatTime(facts.start_time)}, {"hostIP", facts.host_ip}};
  status["hostIPs"] = Doc::array({{{"ip", facts.host_ip}}});
  if (!facts.reason.empty()) status["reason"] = facts.reason;
  if (!facts.message.empty()) status["message"] = facts.message;
  if (!facts.pod_ip.empty()) {
    status["podIP"] = facts.pod_ip;
    status["podIPs"] = Doc::array({{{"ip", facts.pod_ip}}});
  }
  status["conditions"] = PodConditions(pod, facts, times, now);
  Doc& containers = status["containerStatuses"] = Doc::array();
  for (const auto& container : pod.containers) containers.push_back(MainContainer(pod, container, facts));
  if (!pod.init_containers.empty()) {
    Doc& inits = status["initContainerStatuses"] = Doc::array();
    for (const auto& container : pod.init_containers) inits.push_back(InitContainer(pod, container, facts));
  }
  return Doc{{"metadata", {{"uid", pod.uid}}}, {"status", std::move(status)}};
}

Doc RefusedPatch(const PodShape& pod, const std::string& reason, const std::string& message, WallTime now) {
  Doc status = {
      {"phase", "Failed"}, {"reason", reason}, {"message", message}, {"startTime", FormatTime(now)}};
  return Doc{{"metadata", {{"uid", pod.uid}}}, {"status", std::move(status)}};
}

}  // namespace lockstep::kubelet
