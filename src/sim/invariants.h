#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "cluster/world.h"
#include "sim/picture.h"
#include "sim/room_left.h"

namespace lockstep::sim {

struct InvariantOptions {
  // How long something that must be so "at once" may take: an answer, a watch event and a step.
  Duration patience = seconds(2);
  // The same after a crash or a fault: back-offs of reflectors and writes are part of the behaviour.
  Duration patience_after_trouble = seconds(60);
  // As the operator has it.
  Duration age_limit = minutes(30);
};

// What must always hold (DESIGN: what must always hold, 1 to 3 and 5 to 7), judged by what the API server
// holds and never by what the engine believes. Those that need time to come true are violated when they stay
// untrue for longer than the patience while somebody leads and nothing is disturbed.
class Invariants {
 public:
  Invariants(Picture& picture, Loop& loop, InvariantOptions options);

  // Something was done to the operators or to the network: back-offs may follow.
  void Disturb();
  // While true (nobody leads, faults in force), nothing has to come true.
  void SetPaused(std::function<bool()> paused) { paused_ = std::move(paused); }
  // A write may be applied long after its sender gave it up: doubles are then possible for a moment.
  void AllowLateWrites() { late_writes_ = true; }
  // A pod of nobody's or a change of a node may make an excess on it that has to be resolved.
  void ExcuseNode(const std::string& node) { excused_[node] = loop_.now().mono; }

  // After every step of a leader.
  void OnStep(const cluster::World& world);
  // Everything that depends on time; call it whenever some has passed.
  void Look();

  // The first thing that did not hold: "invariant 2: ...".
  const std::optional<std::string>& violation() const { return violation_; }

 private:
  void OnChange(const Picture::Change& change);
  void NoteFault(const Picture::Change& change);
  void CheckPod(const std::string& key);
  void CheckGang(const api::Gang& gang);
  void CheckJob(const SeenJob& job);
  void CheckNodes();
  void CheckParts(const SeenJob& job, const api::Gang* gang);
  void CheckReason(const SeenJob& job, const api::Gang* gang);
  void CheckLeftovers();
  void CheckQueue();
  bool Impossible(const SeenJob& job);
  bool MayStart(const SeenJob& job, const api::Gang& gang);
  const std::map<std::string, Taken>& TakenNow();
  const std::map<std::string, Taken>& ExpectedNow();  // and what is to come whatever we do
  void CheckRules(const api::Gang& gang);
  std::vector<const kube::Node*> NodesFor(const api::Gang& gang) const;
  bool Excused(const std::string& node) const;

  void Violate(int number, const std::string& what);
  // `what` is wrong now; a violation if it has been for too long.
  void Wrong(int number, const std::string& key, const std::string& what, Duration patience);
  void EndLook();

  Picture& picture_;
  Loop& loop_;
  const InvariantOptions options_;
  std::function<bool()> paused_ = [] { return false; };
  std::optional<std::string> violation_;
  bool late_writes_ = false;
  uint64_t looked_at_ = 0;  // version of the picture
  MonoTime looked_{};       // when

  // What was worked out from the picture, and from which of its versions.
  std::optional<uint64_t> taken_of_, expected_of_, excess_of_;
  std::map<std::string, Taken> taken_, expected_;
  std::map<std::string, std::string> excess_;  // node to resource
  struct Judged {
    uint64_t version = UINT64_MAX;  // of the picture
    int64_t generation = 0;         // of the job
    bool yes = false;
  };
  std::map<std::string, Judged> impossible_, may_start_;  // by uid of the job
  std::optional<MonoTime> disturbed_;
  std::map<std::string, MonoTime> excused_;  // by node

  struct Counters {
    int64_t attempt = 0, policy = 0, fault = 0;
  };
  std::map<std::string, Counters> counters_;                           // by job uid
  std::map<std::string, std::pair<std::string, int64_t>> attempt_of_;  // by pod: job uid and attempt
  std::map<std::string, std::set<int64_t>> faulted_;                   // by job uid: attempts
  std::map<std::string, std::string> finished_;                        // by job uid: "Succeeded", "Failed"
  std::map<std::string, std::string> part_;                            // by job: how far its start is
  std::map<std::string, MonoTime> wrong_since_;
  std::set<std::string> wrong_now_;
};

}  // namespace lockstep::sim
