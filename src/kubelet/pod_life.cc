#include "kubelet/pod_life.h"

#include <algorithm>

#include "base/check.h"
#include "kube/model/meta.h"

namespace lockstep::kubelet {

namespace {

constexpr std::string_view kLocated = "The container could not be located when the pod was terminated";

std::string ReasonOf(int exit_code) { return exit_code == 0 ? "Completed" : "Error"; }

}  // namespace

PodLife::PodLife(const json::Doc& pod, const Programme& defaults, NodeAddresses addresses, Now now)
    : shape_(ReadPodShape(pod)), addresses_(std::move(addresses)), first_seen_(now.wall) {
  if (shape_.host_network) addresses_.pod_ip = addresses_.host_ip;
  Result<Programme> programme = ParseProgramme(kube::ParseMeta(pod).annotations, defaults);
  if (programme.ok()) {
    programme_ = *std::move(programme);
  } else {
    programme_ = defaults;
    programme_.start_error = "CreateContainerConfigError";
    programme_.start_error_message = programme.error().message;
  }
  condition_times_.Read(pod);
  Adopt(pod, now);
}

// Reads back what an earlier kubelet wrote. Times of the status have whole seconds.
void PodLife::Adopt(const json::Doc& pod, Now now) {
  Result<WallTime> start = ParseTime(json::GetString(pod, "status.startTime"));
  if (start.ok()) first_seen_ = *start;
  std::string phase = json::GetString(pod, "status.phase");
  if (phase == "Succeeded" || phase == "Failed") {
    state_ = State::kEnded;
    succeeded_ = phase == "Succeeded";
    ended_at_ = now.mono;
    return;
  }
  const json::Doc* status = json::Find(pod, "status.containerStatuses.0");
  if (status == nullptr || phase != "Running") return;
  restarts_ = json::GetInt(*status, "restartCount");
  std::string ip = json::GetString(pod, "status.podIP");
  if (!ip.empty()) addresses_.pod_ip = ip;
  Result<WallTime> since = ParseTime(json::GetString(*status, "state.running.startedAt"));
  if (!since.ok()) return;
  state_ = State::kRunning;
  started_wall_ = std::min(*since, now.wall);
  started_ = now.mono - (now.wall - started_wall_);
}

void PodLife::Become(State state) {
  state_ = state;
  changed_ = true;
}

void PodLife::Admit(Now now) {
  CHECK(state_ == State::kWaiting) << "pod admitted twice: " << shape_.ns << "/" << shape_.name;
  if (!programme_.start_error.empty()) return Become(State::kStuck);
  state_ = State::kStarting;
  start_due_ = now.mono + programme_.start_delay;
}

void PodLife::Refuse(const Refusal& refusal, Now now) {
  CHECK(state_ == State::kWaiting) << "pod refused after admission: " << shape_.ns << "/" << shape_.name;
  refusal_ = refusal;
  ended_at_ = now.mono;
  Become(State::kEnded);
}

void PodLife::SeeDeletion(int64_t grace_seconds, Now now) {
  removal_is_the_servers_ = grace_seconds == 0;
  if (term_at_) return;  // a grace once begun is never shortened (measured)
  term_at_ = now.mono;
  grace_ = seconds(std::clamp<int64_t>(grace_seconds, 0, int64_t{1} << 31));
}

void PodLife::SeeVanished(Now now) {
  vanished_ = true;
  if (term_at_) return;  // default, then grace 0: the object goes, the process has its whole grace (measured)
  term_at_ = now.mono;
  grace_ = Duration::zero();
}

void PodLife::Meet(MonoTime when) {
  if (!met_) met_ = std::max(when, started_);
}

void PodLife::Crash(Now now) {
  if (state_ != State::kRunning) return;
  TakeNextTransition(now);  // a process that had ended before did not crash
  if (state_ == State::kRunning) lost_at_ = now.mono;
}

void PodLife::Boot(Now now) {
  if (state_ == State::kStarting || state_ == State::kBackOff) start_due_ = std::max(start_due_, now.mono);
  if (lost_at_) {
    // The runtime finds a container it has no exit of.
    EndContainers(now.mono, 255, "Unknown", now);
    lost_at_.reset();
    report_at_ = now.mono + kBootReport;
    if (state_ == State::kBackOff) start_due_ = std::max(start_due_, report_at_);
    if (state_ == State::kEnded) ended_at_ = report_at_;
  }
  if (term_at_) term_at_ = now.mono;
}

void PodLife::RestartKubelet(Now now) {
  // A new kubelet does not know how far the old one was: the grace starts over (measured). What has no object
  // any more is an orphan and ends with the shortest grace.
  if (!term_at_ || state_ != State::kRunning) return;
  term_at_ = now.mono;
  if (vanished_) grace_ = Duration::zero();
}

bool PodLife::counts_in_admission() const {
  if (vanished_) return false;
  return state_ != State::kWaiting && state_ != State::kEnded;
}

// When the process ends of itself or is ended, whichever is first; nullopt: not by anything known yet.
std::optional<MonoTime> PodLife::ProcessEnd(int* exit_code) const {
  std::optional<MonoTime> end;
  std::optional<MonoTime> from = programme_.rendezvous ? met_ : std::optional<MonoTime>(started_);
  bool hangs = programme_.hang_terminating && term_at_;
  if (hangs) return std::nullopt;
  if (from && programme_.run_time) {
    end = *from + *programme_.run_time;
    *exit_code = programme_.ExitCode(restarts_);
  }
  if (!term_at_) return end;
  MonoTime ended_by_us = programme_.ignore_term ? *term_at_ + std::max(grace_, kShortestGrace) + kKillTakes
                                                : *term_at_ + kTermObeyed;
  if (end && *end <= ended_by_us) return end;
  *exit_code = programme_.ignore_term ? 137 : programme_.term_exit_code;
  return ended_by_us;
}

void PodLife::StartContainers(MonoTime when, Now now) {
  started_ = when;
  started_wall_ = WallAt(when, now);
  met_.reset();
  Become(State::kRunning);
}

// The wait before the next start: none at first, then 10 s doubling to 5 min, counted from the exit.
Duration PodLife::NextBackOff(Duration ran) {
  if (ran > kBackOffForgotten) back_off_ = Duration::zero();
  waiting_for_ = back_off_;
  back_off_ =
      back_off_ == Duration::zero() ? kFirstBackOff : std::min<Duration>(back_off_ * 2, kLongestBackOff);
  return waiting_for_;
}

void PodLife::EndContainers(MonoTime when, int exit_code, std::string reason, Now now) {
  last_end_ = ContainerEnd{exit_code, std::move(reason), "", started_wall_, WallAt(when, now)};
  bool restart =
      shape_.restart_policy == "Always" || (shape_.restart_policy == "OnFailure" && exit_code != 0);
  if (restart && !term_at_) {
    start_due_ = when + NextBackOff(when - started_);
    return Become(State::kBackOff);
  }
  succeeded_ = exit_code == 0;
  ended_at_ = when;
  Become(State::kEnded);
}

// Deleted before a container started: the kubelet finds none and says so.
void PodLife::EndUnstarted(Now now) {
  if (!last_end_) {
    last_end_ = ContainerEnd{137, "ContainerStatusUnknown", std::string(kLocated), {}, {}};
  }
  succeeded_ = false;
  ended_at_ = now.mono;
  Become(State::kEnded);
}

// One transition that is due; false if none is.
bool PodLife::TakeNextTransition(Now now) {
  switch (state_) {
    case State::kWaiting:
    case State::kStuck:
      if (!term_at_) return false;
      EndUnstarted(now);
      return true;
    case State::kStarting:
    case State::kBackOff:
      if (term_at_) {
        EndUnstarted(now);
        return true;
      }
      if (now.mono < start_due_) return false;
      // A back-off of zero is one change, reported once.
      if (state_ == State::kBackOff) ++restarts_;
      StartContainers(now.mono, now);
      return true;
    case State::kRunning: {
      int exit_code = 0;
      std::optional<MonoTime> end = ProcessEnd(&exit_code);
      if (!end || now.mono < *end) return false;
      EndContainers(*end, exit_code, ReasonOf(exit_code), now);
      return true;
    }
    case State::kEnded:
      return false;
  }
  return false;
}

LifeStep PodLife::Advance(Now now) {
  CHECK(!lost_at_) << "pod on a crashed node advanced: " << shape_.ns << "/" << shape_.name;
  while (TakeNextTransition(now)) {
  }
  LifeStep step;
  std::optional<MonoTime> wake;
  auto wake_at = [&](MonoTime when) { wake = std::min(wake.value_or(when), when); };
  if (changed_ && !vanished_) {
    if (now.mono < report_at_) {
      wake_at(report_at_);
    } else {
      step.status_patch = refusal_ ? RefusedPatch(shape_, refusal_->reason, refusal_->message, now.wall)
                                   : StatusPatch(shape_, Facts(), condition_times_, now.wall);
      changed_ = false;
    }
  }
  int unused = 0;
  if (state_ == State::kStarting || state_ == State::kBackOff) wake_at(start_due_);
  if (state_ == State::kRunning) {
    if (auto end = ProcessEnd(&unused)) wake_at(*end);
  }
  if (state_ == State::kEnded && term_at_ && !vanished_ && !removed_ && !removal_is_the_servers_) {
    MonoTime due = std::max(ended_at_, *term_at_) + kRemovalDelay;
    if (now.mono >= due) {
      step.remove = removed_ = true;
    } else {
      wake_at(due);
    }
  }
  step.wake = wake;
  return step;
}

StatusFacts PodLife::Facts() const {
  StatusFacts facts;
  facts.host_ip = addresses_.host_ip;
  facts.pod_ip = addresses_.pod_ip;
  facts.start_time = first_seen_;
  facts.restarts = restarts_;
  facts.ended = last_end_;
  switch (state_) {
    case State::kWaiting:
    case State::kStarting:
    case State::kStuck:
      facts.phase = "Pending";
      facts.pod_ip.clear();
      facts.initialized = shape_.init_containers.empty();
      facts.waiting_reason = state_ == State::kStuck ? programme_.start_error : "ContainerCreating";
      facts.waiting_message = programme_.start_error_message;
      break;
    case State::kRunning:
      facts.phase = "Running";
      facts.main = StatusFacts::Main::kRunning;
      facts.running_since = started_wall_;
      break;
    case State::kBackOff:
      facts.phase = "Running";
      facts.waiting_reason = "CrashLoopBackOff";
      facts.waiting_message = "back-off " + FormatDuration(waiting_for_) +
                              " restarting failed container, pod=" + shape_.name + "_" + shape_.ns + "(" +
                              shape_.uid + ")";
      break;
    case State::kEnded:
      facts.phase = succeeded_ ? "Succeeded" : "Failed";
      facts.main = StatusFacts::Main::kTerminated;
      if (last_end_ && last_end_->reason == "ContainerStatusUnknown") facts.pod_ip.clear();
      break;
  }
  return facts;
}

}  // namespace lockstep::kubelet
