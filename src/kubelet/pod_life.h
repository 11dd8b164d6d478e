#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "json/doc.h"
#include "kubelet/admission.h"
#include "kubelet/pod_status.h"
#include "kubelet/programme.h"

namespace lockstep::kubelet {

// How long things take on a real node, measured with kubelet 1.34.4, containerd 1.6.20 and runc 1.1.5
// (seconds after the DELETE: object gone / process gone).
inline constexpr Duration kTermObeyed = milliseconds(100);    // exit 0 on SIGTERM: - / 0.1
inline constexpr Duration kShortestGrace = seconds(2);        // grace 1 and grace 0: - / 2.1
inline constexpr Duration kKillTakes = milliseconds(100);     // grace 1: - / 2.1, grace 30: - / 30.05 to 30.1
inline constexpr Duration kRemovalDelay = milliseconds(650);  // grace 1: 2.8 / 2.1; obeyed: 0.7 to 1.5 / 0.1
inline constexpr Duration kBootReport = milliseconds(1250);   // deleted, power lost, booted at 15: 16.9 / -

// Restart back-off of one container. Source: pkg/kubelet MaxContainerBackOff, backOffPeriod.
inline constexpr Duration kFirstBackOff = seconds(10);
inline constexpr Duration kLongestBackOff = minutes(5);
inline constexpr Duration kBackOffForgotten =
    2 * kLongestBackOff;  // a run this long starts the doubling over

// What the kubelet does now.
struct LifeStep {
  std::optional<json::Doc> status_patch;  // strategic merge, for pods/status
  bool remove = false;                    // delete the object: grace 0, UID precondition
  std::optional<MonoTime> wake;           // when to advance again, if nothing else happens
};

struct NodeAddresses {
  std::string host_ip, pod_ip;
};

// The life of one pod on its node, as its kubelet leads it. No I/O and no clock: the owner says what happened
// and when, and does what Advance answers.
//
//   Waiting ──Refuse──────────────────────────────► Ended (Failed, no container)
//      │ Admit
//      ▼
//   Starting ──start delay──► Running ──exit──► Ended (Succeeded | Failed)
//      │ start error            ▲      │ restart policy
//      ▼                        └──── BackOff
//   Stuck (Pending, waiting reason)
//
// A deletion that was seen lets Running end by SIGTERM or, after the grace, by SIGKILL; then the end is
// reported and, kRemovalDelay later, the object removed. A grace once begun is never changed. Where the
// object vanished (forced deletion) the process ends the same way, unseen, with the shortest grace.
class PodLife {
 public:
  enum class State { kWaiting, kStarting, kStuck, kRunning, kBackOff, kEnded };

  // `pod` as the API server first showed it, seen at `now`. A pod whose status says that it runs or has ended
  // is taken over as it is: the kubelet was restarted, or this program was.
  PodLife(const json::Doc& pod, const Programme& defaults, NodeAddresses addresses, Now now);

  // What happened to the pod.
  void Admit(Now now);
  void Refuse(const Refusal& refusal, Now now);
  void SeeDeletion(int64_t grace_seconds, Now now);
  void SeeVanished(Now now);
  // All pods of its rendezvous run since `when`. Only the first call counts for one container start.
  void Meet(MonoTime when);
  bool awaits_meeting() const { return programme_.rendezvous && process_runs() && !met_; }

  // What happened to the node. Between Crash and Boot, and while the kubelet is frozen or stopped, nobody may
  // call Advance.
  void Crash(Now now);
  void Boot(Now now);
  void RestartKubelet(Now now);

  // Moves the pod on to `now` and says what to do. An answer with a patch is given once per change.
  LifeStep Advance(Now now);

  State state() const { return state_; }
  const PodShape& shape() const { return shape_; }
  const Programme& programme() const { return programme_; }
  bool process_runs() const { return state_ == State::kRunning && !lost_at_; }
  bool terminating() const { return term_at_.has_value(); }
  bool vanished() const { return vanished_; }
  // Counts in the admission of later pods: until it ended, or its object was removed by force (measured: a
  // kubelet admits a pod on the resources of one that was deleted with grace 0 while its process still runs).
  bool counts_in_admission() const;
  // Nothing is left to do: the object vanished and no process lives.
  bool over() const { return vanished_ && state_ != State::kRunning; }

 private:
  void Adopt(const json::Doc& pod, Now now);
  bool TakeNextTransition(Now now);
  void StartContainers(MonoTime when, Now now);
  void EndContainers(MonoTime when, int exit_code, std::string reason, Now now);
  void EndUnstarted(Now now);
  void Become(State state);
  std::optional<MonoTime> ProcessEnd(int* exit_code) const;
  Duration NextBackOff(Duration ran);
  StatusFacts Facts() const;
  WallTime WallAt(MonoTime when, Now now) const { return now.wall - (now.mono - when); }

  PodShape shape_;
  Programme programme_;
  NodeAddresses addresses_;
  ConditionTimes condition_times_;
  WallTime first_seen_;

  State state_ = State::kWaiting;
  bool changed_ = false;  // since the last patch
  std::optional<Refusal> refusal_;
  std::string programme_error_;

  MonoTime start_due_{};  // kStarting, kBackOff: when the containers start
  MonoTime started_{};    // kRunning
  WallTime started_wall_{};
  std::optional<MonoTime> met_;
  int64_t restarts_ = 0;
  Duration back_off_{};     // the next one; zero: restart at once
  Duration waiting_for_{};  // kBackOff: the present one
  std::optional<ContainerEnd> last_end_;
  bool succeeded_ = false;  // of kEnded

  std::optional<MonoTime> term_at_;  // the kubelet began to end the pod
  Duration grace_{};
  bool vanished_ = false;
  std::optional<MonoTime> lost_at_;  // power lost while running; unknown until boot
  MonoTime report_at_{};             // no patch before
  MonoTime ended_at_{};
  bool removed_ = false;
  bool removal_is_the_servers_ = false;  // deleted with grace 0 already: only finalizers hold the object
};

}  // namespace lockstep::kubelet
