#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "json/doc.h"

namespace lockstep::kubelet {

// What of a pod its status must name; read once, when the kubelet first sees the pod.
struct PodShape {
  struct Container {
    std::string name, image;
    bool sidecar = false;  // an init container with restartPolicy Always
  };

  std::string ns, name, uid;
  std::vector<Container> containers, init_containers;
  std::string restart_policy;  // "Always", "OnFailure", "Never"
  bool host_network = false;
};

PodShape ReadPodShape(const json::Doc& pod);

// One end of a container.
struct ContainerEnd {
  int exit_code = 0;
  std::string reason;  // "Completed", "Error", "Unknown", "ContainerStatusUnknown"
  std::string message;
  WallTime started, finished;
};

// When each condition of a pod last changed; a patch must not move the time of one that did not.
class ConditionTimes {
 public:
  // Takes over what the API server shows, e.g. PodScheduled from a scheduler.
  void Read(const json::Doc& pod);
  WallTime Since(const std::string& type, const std::string& status, WallTime now);

 private:
  std::map<std::string, std::pair<std::string, WallTime>> times_;
};

// Everything a status says, in the terms of a kubelet.
struct StatusFacts {
  enum class Main { kWaiting, kRunning, kTerminated };

  std::string phase;  // "Pending", "Running", "Succeeded", "Failed"
  std::string reason, message;
  Main main = Main::kWaiting;
  std::string waiting_reason, waiting_message;
  std::optional<WallTime> running_since;
  std::optional<ContainerEnd> ended;  // of kTerminated, or the last state of the others
  int64_t restarts = 0;
  bool initialized = true;  // init containers done, sidecars running
  std::string host_ip, pod_ip;
  WallTime start_time;
};

// A strategic merge patch for pods/status in the shape of kubelet 1.34. It names metadata.uid, so an API
// server refuses it (409) when the name belongs to another pod by now.
json::Doc StatusPatch(const PodShape& pod, const StatusFacts& facts, ConditionTimes& times, WallTime now);

// The same for a pod that failed admission: no container ever existed.
json::Doc RefusedPatch(const PodShape& pod, const std::string& reason, const std::string& message,
                       WallTime now);

}  // namespace lockstep::kubelet
