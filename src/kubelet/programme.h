#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/model/meta.h"

namespace lockstep::kubelet {

// What a pretended container does, as the pod's annotations tell it. A pod's main containers act as one.
//
//   hollow.lockstep.dev/run-time: 10s            how long it runs; "forever"
//   hollow.lockstep.dev/exit-code: "1,1,0"       of each container start in turn; the last one stays
//   hollow.lockstep.dev/rendezvous: group/8      run time counts from when 8 pods of the group (same
//   namespace) run hollow.lockstep.dev/start-delay: 2s          from admission to running
//   hollow.lockstep.dev/start-error: ImagePullBackOff   never starts; the waiting reason
//   hollow.lockstep.dev/ignore-term: "true"      ends only when it is killed
//   hollow.lockstep.dev/term-exit-code: "143"    of a process that obeys SIGTERM (0)
//   hollow.lockstep.dev/hang-terminating: "true" survives the kill while its node is up
struct Programme {
  struct Rendezvous {
    std::string group;
    int64_t size = 0;

    friend bool operator==(const Rendezvous&, const Rendezvous&) = default;
  };

  std::optional<Duration> run_time = seconds(10);  // nullopt: for ever
  std::vector<int> exit_codes = {0};               // 0 to 255, never empty
  std::optional<Rendezvous> rendezvous;
  Duration start_delay{};
  std::string start_error, start_error_message;
  bool ignore_term = false;
  int term_exit_code = 0;
  bool hang_terminating = false;

  int ExitCode(int64_t restarts) const;
};

// `defaults` with what the annotations say instead. An error names the annotation.
Result<Programme> ParseProgramme(const kube::Labels& annotations, const Programme& defaults);

// A duration, or "forever" as nullopt.
Result<std::optional<Duration>> ParseRunTime(std::string_view text);

}  // namespace lockstep::kubelet
