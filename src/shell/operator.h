#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/step.h"
#include "shell/executor.h"
#include "shell/leader.h"
#include "shell/pulse.h"
#include "shell/reflector.h"

namespace lockstep::shell {

// Called on the loop as the operator works; the default does nothing. Used by metrics and by tests.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnStep(const cluster::World&, Duration /*took*/, size_t /*events*/, size_t /*actions*/) {}
  virtual void OnAnswer(const cluster::Action&, const kube::Status&, Duration /*took*/) {}
  virtual void OnLeader(bool /*leading*/) {}
};

struct OperatorOptions {
  std::string ns;                       // watch one namespace only; empty: all
  std::optional<LeaderOptions> leader;  // elect a leader; else this process always leads
  cluster::Settings settings;
  size_t width = 64;                   // writes in flight
  Duration stale_after = seconds(20);  // a copy that the API server has refused to renew this long is stale
  std::string identity = "lockstep";
};

// The whole operator over any API server: reflectors fill a World, the engine thinks about it, the executor
// acts. Everything runs on the Api's loop.
//
//   Standby (follows the World, decides nothing) ──lease──► Syncing (a fresh list of everything) ──► Leading
//                                                    └─ given up: has seen what the last leader saw ──┘
//
// A leader that lost its lease drops everything and is a standby again.
class Operator {
 public:
  Operator(kube::Api& api, OperatorOptions options, Observer* observer = nullptr);
  ~Operator();
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  void Start();
  // Stops acting, waits a little for the answers to what it has sent and gives the lease up; `done` when that
  // is finished. Writes still in flight stay as they are: the next leader repairs from what is.
  void Stop(std::function<void()> done);

  bool synced() const;  // every kind was listed once
  bool leading() const { return leading_; }
  const cluster::World& world() const { return world_; }
  // What keeps it from working, for readiness and logs; empty when all is well.
  std::string trouble() const;

 private:
  void MakeReflectors();
  void BecomeLeader(const LeaderGate::Seen* left);
  void CatchUp(const LeaderGate::Seen& left, MonoTime until);
  void LeadAfresh();
  void Lead();
  void GiveUp(MonoTime until, std::function<void()> done);
  LeaderGate::Seen Seen() const;
  void BecomeStandby();
  void AddEvent(cluster::Event event);
  void ScheduleStep();
  void StepNow();
  bool Stale() const;
  bool Excused(const Reflector& reflector) const;
  void SeeMissingKinds();
  void LogFailure(const cluster::Action& action, const kube::Status& status);

  kube::Api& api_;
  const OperatorOptions options_;
  Observer* const observer_;
  Observer quiet_;
  Pulse pulse_;
  std::unique_ptr<LeaderGate> gate_;
  std::vector<std::unique_ptr<Reflector>> reflectors_;
  std::unique_ptr<Executor> executor_;
  cluster::World world_;
  std::vector<cluster::Event> events_;
  LeaderGate::Seen written_;  // versions that answers to our own writes have shown
  std::map<std::pair<cluster::ActionKind, int>, MonoTime> refusal_told_again_;
  Timer wake_;
  bool leading_ = false;
  bool stopped_ = false;
  bool step_scheduled_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockstep::shell
