#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "base/virtual_loop.h"
#include "json/patch.h"
#include "kube/model/pod.h"
#include "kubelet/pod_life.h"

// A pod, its kubelet and the object that an API server would hold, for tests.
namespace lockstep::kubelet {

// A pod document with one container; `annotations` without their prefix.
inline json::Doc PodDoc(std::map<std::string, std::string> annotations = {},
                        const std::string& policy = "Never") {
  json::Doc pod = {{"metadata", {{"namespace", "ns"}, {"name", "p"}, {"uid", "u1"}}},
                   {"spec", {{"nodeName", "node-0"}, {"restartPolicy", policy}}},
                   {"status", {{"phase", "Pending"}}}};
  pod["spec"]["containers"] = json::Doc::array({json::Doc{{"name", "main"}, {"image", "img"}}});
  pod["metadata"]["annotations"] = json::Doc::object();
  for (const auto& [name, value] : annotations) {
    pod["metadata"]["annotations"]["hollow.lockstep.dev/" + name] = value;
  }
  return pod;
}

// A kubelet with one pod and the object the API server would hold, in virtual time.
class Kubelet {
 public:
  explicit Kubelet(json::Doc pod, bool admit = true) : object(std::move(pod)) {
    life.emplace(object, Programme{}, NodeAddresses{"10.0.0.1", "10.128.0.1"}, now());
    if (admit && life->state() == PodLife::State::kWaiting) life->Admit(now());
    Step();
  }

  Now now() const { return loop.now(); }
  // Advances now and at every wake until `until`.
  void RunTo(Duration until) {
    while (!frozen && wake && *wake <= MonoTime{} + until) {
      loop.RunUntil(*wake);
      Step();
    }
    loop.RunUntil(MonoTime{} + until);
    if (!frozen) Step();
  }
  void Step() {
    LifeStep step = life->Advance(now());
    wake = step.wake;
    if (step.status_patch) {
      ++patches;
      patched_at = loop.elapsed();
      Outcome error = json::StrategicMergePatch(object, *step.status_patch);
      EXPECT_FALSE(error.has_value()) << error->message;
    }
    if (step.remove) {
      EXPECT_FALSE(removed_at.has_value()) << "removed twice";
      removed_at = loop.elapsed();
    }
  }
  void Delete(int64_t grace) {
    life->SeeDeletion(grace, now());
    Step();
  }
  void DeleteByForce() {
    life->SeeVanished(now());
    Step();
  }

  std::string Get(std::string_view path) const { return json::GetString(object, path); }
  int64_t Number(std::string_view path) const { return json::GetInt(object, path, -1); }
  kube::Pod pod() const { return *kube::ParsePod(object); }
  std::string Condition(const std::string& type, const std::string& field = "status") const {
    for (const json::Doc& condition : object["status"]["conditions"]) {
      if (condition["type"] == type) return json::GetString(condition, field);
    }
    return "";
  }

  VirtualLoop loop;
  json::Doc object;
  std::optional<PodLife> life;
  std::optional<MonoTime> wake;
  int patches = 0;
  Duration patched_at{};
  std::optional<Duration> removed_at;
  bool frozen = false;
};

// When the process of an unreported pod was gone, to the tenth of a second.
inline Duration ProcessGone(Kubelet& kubelet, Duration limit = minutes(5)) {
  while (kubelet.life->process_runs() && kubelet.loop.elapsed() < limit) {
    kubelet.RunTo(kubelet.loop.elapsed() + milliseconds(100));
  }
  return kubelet.loop.elapsed();
}

// Its process runs for ever and ignores SIGTERM, as the measured ones did.
inline Kubelet Stubborn(std::map<std::string, std::string> more = {}) {
  more.merge(std::map<std::string, std::string>{{"run-time", "forever"}, {"ignore-term", "true"}});
  return Kubelet(PodDoc(std::move(more)));
}

}  // namespace lockstep::kubelet
