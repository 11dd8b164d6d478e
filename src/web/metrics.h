#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"

namespace lockstep::web {

// Every metric of the program: this header is their list. All members may be called from any thread. Labels
// come from small fixed sets (phases, verbs, plurals), never from names of objects, so the number of series
// is bounded.
class Metrics {
 public:
  explicit Metrics(std::string_view version);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // lockstep_steps_total, lockstep_step_duration_seconds: one turn of the engine.
  void StepDone(Duration took);
  // lockstep_actions_total{kind, result}: result is "ok", "error", "unknown" or "skipped".
  void ActionDone(std::string_view kind, std::string_view result);
  // lockstep_actions_in_flight
  void SetActionsInFlight(int64_t count);
  // lockstep_api_requests_total{verb, resource, code}, lockstep_api_request_duration_seconds{verb}.
  // code 0: no answer.
  void RequestDone(std::string_view verb, std::string_view resource, int code, Duration took);
  // lockstep_watch_ends_total{resource, reason}: reason is "timeout", "gone", "error" or "lost".
  void WatchEnded(std::string_view resource, std::string_view reason);
  // lockstep_queue_length{queue}: gangs that wait.
  void SetQueueLength(std::string_view queue, int64_t length);
  // lockstep_gangs{phase}
  void SetGangs(std::string_view phase, int64_t count);
  // lockstep_gang_start_duration_seconds: from queuedAt to the moment at which all members run.
  void GangStarted(Duration since_queued);
  // lockstep_gang_commit_duration_seconds: from the recorded placement to the same moment.
  void GangCommitted(Duration since_placed);
  // lockstep_leader: 1 in the process that may write.
  void SetLeader(bool leads);
  // lockstep_impossible_total{what}: doubtful states that were counted, logged and passed over.
  void Impossible(std::string_view what);

  // The Prometheus text format, version 0.0.4. Also has lockstep_build_info{version} and
  // process_start_time_seconds.
  std::string Text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace lockstep::web
