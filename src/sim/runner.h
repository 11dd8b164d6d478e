#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "jobs/framework.h"
#include "sim/ground.h"
#include "sim/invariants.h"
#include "sim/operators.h"
#include "sim/scenario.h"
#include "sim/scheduler.h"

namespace lockstep::sim {

// One thing that happened, at a time of the file.
struct LogEntry {
  Duration time{};
  std::string text;
  bool story = true;  // false: a detail that is shown when the scenario fails
};

// Plays one scenario on a ground: statements in their order, what must always hold after every step of an
// operator. At the end the world must be settled: then a new leader finds nothing to do.
class Runner {
 public:
  using OnLog = std::function<void(const LogEntry&)>;

  Runner(Ground& ground, const Scenario& scenario, OnLog on_log = {});
  ~Runner();

  // All operators crash when so many writes (Events apart) have been answered by the server, before they hear
  // of the last one; a new one starts a second later. `lost`: what else was under way never arrives; else it
  // does.
  void CrashAfterWrite(int64_t writes, bool lost) { crash_ = {writes, lost, false}; }
  int64_t writes() const { return writes_; }

  // What the operators asked for, in order: what it is, and the phase of its gang then.
  struct Asked {
    cluster::ActionKind kind{};
    api::GangPhase phase{};
    friend auto operator<=>(const Asked&, const Asked&) = default;
  };
  const std::vector<Asked>& asked() const { return asked_; }
  // All operators crash when so many actions have been sent, before they hear of the last one; a new one
  // starts a second later.
  void CrashAfterAction(int64_t actions, bool lost) { fork_ = {actions, lost, false}; }
  // Gangs that came to run, every attempt counted.
  int64_t gang_starts() const { return gang_starts_; }

  // Nothing, or what failed: file, line, time, what was expected and the last lines of the log.
  Outcome Run();

  // What must always hold did not.
  bool violated() const { return invariants_.violation().has_value(); }

  Duration elapsed() const;  // time of the file
  const std::deque<LogEntry>& log() const { return log_; }

 private:
  struct PlannedCrash {
    int64_t after = 0;
    bool lost = false;
    bool leader_alone = false;
  };

  Outcome Play(const Statement& statement);
  Outcome Do(const AddNodes& deed);
  Outcome Do(const Submit& deed);
  Outcome Do(const SubmitManifest& deed);
  Outcome Do(const ForeignPod& deed);
  Outcome Do(const Expect&) { return {}; }  // Hold
  Outcome Do(const ChangeOperators& deed);
  Outcome Do(const Configure&) { return {}; }  // known before the first operator starts
  Outcome Do(const AddScheduler& deed);
  Outcome Do(const Delete& deed);
  Outcome Do(const ChangeNode& deed);
  Outcome Do(const ChangeJob& deed);
  Outcome Do(const Rank& deed);
  Outcome Do(const Fault& deed);
  Outcome Do(const ClearFaults& deed);
  Outcome Do(const Compact& deed);
  Outcome Do(const Kubelet& deed);
  Outcome Do(const SetQuota& deed);
  Outcome Do(const Inject& deed);
  Outcome Do(const Wait& deed);
  Outcome Do(const ShapeNetwork& deed);

  Outcome Hold(const Statement& statement, const Expect& expect);
  Outcome HoldSettled(Duration within);
  Outcome HoldQuiet(Duration lasts);
  Outcome EndSettled();
  Outcome RunTo(Duration time);
  // `until` null: just that long. The violation of an invariant ends it too.
  bool Run(const std::function<bool()>& until, Duration limit);
  Outcome Violation() const;
  // Of the job that was submitted under this name.
  const jobs::Framework& FrameworkOfJob(const std::string& name) const;
  const kube::Resource& ResourceOf(const std::string& kind, const std::string& name) const;
  Outcome Create(const kube::Resource& resource, const json::Doc& object);
  Outcome Patch(const kube::Resource& resource, const std::string& name, const json::Doc& patch);
  Outcome Answered(const std::string& what, const kube::Response& response);

  void OnPicture(const Picture::Change& change);
  void Log(std::string text, bool story = true);
  void Tick();
  void NoteActions(const cluster::World& world);
  void CrashIfDue();
  void Crash(const PlannedCrash& crash);
  Error Failure(const Statement* statement, const std::string& what) const;

  Ground& ground_;
  const Scenario& scenario_;
  const OnLog on_log_;
  MonoTime began_;
  std::deque<LogEntry> log_;
  Invariants invariants_;
  Operators operators_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;
  Timer tick_;
  bool operators_wanted_ = true;                              // the first statement that needs one starts it
  std::map<std::string, std::string> last_told_;              // by object: what was logged of it
  std::map<std::string, const jobs::Framework*> frameworks_;  // of the jobs that were submitted, by name
  std::optional<PlannedCrash> crash_;                         // by writes
  std::optional<PlannedCrash> fork_;                          // by actions
  std::vector<Asked> asked_;
  cluster::ActionId last_asked_ = 0;
  Timer restart_;
  int64_t writes_ = 0;  // of operators, Events apart
  int64_t gang_starts_ = 0;
  std::map<std::string, int64_t> started_;  // by uid of the job: its last attempt that ran
  MonoTime last_write_{};
  std::string last_written_;  // the last write of an operator, Events included: "patch gangs"
};

}  // namespace lockstep::sim
