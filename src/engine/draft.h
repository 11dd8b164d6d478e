#pragma once

#include <string>
#include <vector>

#include "cluster/world.h"

namespace lockstep::engine {

// What one step is about to answer: the World it thinks about, the time, and the actions so far.
class Draft {
 public:
  Draft(cluster::World& w, Now n) : world(w), now(n) {}

  cluster::World& world;
  const Now now;
  std::vector<std::string> advanced;  // keys of the gangs that this step has looked at already

  // Adds an action, unless one that touches the same key is in flight or the key is backing off after a
  // failure (then the gang is woken in time). True if it was added.
  bool Emit(cluster::ActionKind kind, cluster::GangState& gang, std::string touches, kube::Request request);

  // Writes Gang.status, guarded by the version we know, and assumes it from now on. False if a write of this
  // Gang is in flight: the answer brings the gang back here.
  bool WriteGang(cluster::GangState& gang, api::GangStatus next);

  // A fresh read of the Gang: its answer decides what became of a write that nobody can vouch for, and
  // whether a pod that our copy does not explain is stale.
  bool ReadGang(cluster::GangState& gang);

  // An Event of the job; may be lost. The same reason is not recorded twice in a row.
  void Record(cluster::GangState& gang, std::string_view type, std::string_view reason,
              const std::string& message);

  void WakeAt(WallTime when, const cluster::GangState& gang) {
    world.WakeAt(now.mono + (when - now.wall), gang.key);
  }

  std::vector<cluster::Action> Take() { return std::move(actions_); }

 private:
  std::vector<cluster::Action> actions_;
};

std::string GangObjectKey(const cluster::GangState& gang);  // "gangs/ns/name", what Gang writes touch

// First, doubling `times` - 1 times, at most `longest`; up to a quarter is taken off by a hash of `who`.
Duration Backoff(Duration first, Duration longest, int64_t times, std::string_view who);

}  // namespace lockstep::engine
