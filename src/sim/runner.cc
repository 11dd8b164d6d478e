#include "sim/runner.h"

#include <algorithm>

#include "api/labels.h"
#include "sim/expectations.h"

namespace lockstep::sim {

namespace {

constexpr size_t kLogKept = 1000;
constexpr size_t kLogShown = 40;
constexpr Duration kTick = milliseconds(500);
constexpr Duration kQuiet = seconds(10);  // no write for so long is settled, in virtual time
constexpr Duration kQuietReal = seconds(2);
constexpr Duration kSettleWithin = seconds(120);
constexpr Duration kShortestGuard = seconds(60);  // of an expectation in real time
constexpr int kGuardFactor = 20;

bool Busy(const api::Gang& gang) {
  switch (gang.status.phase) {
    case api::GangPhase::kPlacing:
    case api::GangPhase::kStarting:
    case api::GangPhase::kRunning:
    case api::GangPhase::kRestarting:
      return true;
    default:
      return false;
  }
}

InvariantOptions PatienceOn(const Ground& ground) {
  InvariantOptions options;
  if (!ground.virtual_time()) options.patience = seconds(20);  // of a machine that does other things too
  return options;
}

bool TestsLateWrites(const Scenario& scenario) {
  return std::any_of(scenario.statements.begin(), scenario.statements.end(), [](const Statement& statement) {
    const Fault* fault = std::get_if<Fault>(&statement.deed);
    return fault != nullptr &&
           (fault->effect == Fault::Effect::kLate || fault->effect == Fault::Effect::kSlow);
  });
}

bool BringsReplicas(const Scenario& scenario) {
  return std::any_of(scenario.statements.begin(), scenario.statements.end(), [](const Statement& statement) {
    const auto* change = std::get_if<ChangeOperators>(&statement.deed);
    return change != nullptr && change->what == ChangeOperators::What::kReplicas;
  });
}

cluster::Settings SettingsOf(const Scenario& scenario) {
  cluster::Settings settings;
  for (const Statement& statement : scenario.statements) {
    if (const auto* configure = std::get_if<Configure>(&statement.deed)) settings.way = configure->way;
  }
  return settings;
}

}  // namespace

Runner::Runner(Ground& ground, const Scenario& scenario, OnLog on_log)
    : ground_(ground),
      scenario_(scenario),
      on_log_(std::move(on_log)),
      began_(ground.loop().now().mono),
      invariants_(ground.picture(), ground.loop(), PatienceOn(ground)),
      operators_(ground, SettingsOf(scenario),
                 {[this](const cluster::World& world) {
                    ground_.Refresh();
                    invariants_.OnStep(world);
                    NoteActions(world);
                  },
                  [this](const std::string& text) { Log(text, text.find(':') == std::string::npos); }}),
      tick_(ground.loop()),
      restart_(ground.loop()) {
  ground_.picture().Listen([this](const Picture::Change& change) { OnPicture(change); });
  ground_.network().Listen([this](const kube::Request& request, const kube::Response&) {
    if (request.resource == &kube::kLeases) return;
    last_written_ = std::string(kube::VerbText(request.verb)) + " " + std::string(request.resource->plural);
    if (request.resource == &kube::kEvents) return;
    ++writes_;
    last_write_ = ground_.loop().now().mono;
  });
  invariants_.SetPaused([this] { return !operators_.someone_leads() || ground_.network().troubled(); });
  if (TestsLateWrites(scenario)) invariants_.AllowLateWrites();
}

Runner::~Runner() {
  operators_.CrashAll();
  ground_.network().Listen({});
  ground_.picture().ForgetListeners();
}

Duration Runner::elapsed() const {
  return Duration(static_cast<int64_t>(static_cast<double>((ground_.loop().now().mono - began_).count()) *
                                       ground_.scale()));
}

void Runner::Log(std::string text, bool story) {
  log_.push_back({elapsed(), std::move(text), story});
  if (log_.size() > kLogKept) log_.pop_front();
  if (on_log_) on_log_(log_.back());
}

void Runner::Tick() {
  ground_.Refresh();
  invariants_.Look();
  tick_.SetAfter(kTick, [this] { Tick(); });
}

// Tells the life of jobs and gangs, each change once.
void Runner::OnPicture(const Picture::Change& change) {
  for (const auto& scheduler : schedulers_) scheduler->Wake();
  const Picture& picture = ground_.picture();
  std::string text, name = change.key;
  if (name.rfind(ground_.ns() + "/", 0) == 0) name.erase(0, ground_.ns().size() + 1);
  std::string who = std::string(change.resource->kind) + " " + name;
  bool story = true;
  if (change.gone) {
    text = "gone";
    story = change.resource == &kube::kNodes || jobs::FrameworkOf(*change.resource) != nullptr;
  } else if (change.resource == &kube::kGangs) {
    auto gang = picture.gangs.find(change.key);
    if (gang == picture.gangs.end()) return;
    who = "gang of " + gang->second.spec.job.name;
    const api::GangStatus& status = gang->second.status;
    int64_t& started = started_[gang->second.spec.job.uid];
    if (status.phase == api::GangPhase::kRunning && status.attempt > started) {
      started = status.attempt;
      ++gang_starts_;
    }
    text = std::string(api::PhaseText(status.phase)) + ", attempt " + std::to_string(status.attempt);
    if (!status.reason.code.empty()) text += ", " + status.reason.code + ": " + status.reason.message;
  } else if (change.resource == &kube::kPods) {
    const SeenPod& pod = picture.pods.at(change.key);
    text = std::string(kube::PhaseText(pod.pod.phase)) + " on " + pod.pod.node_name;
    if (pod.deleting()) text += ", terminating";
    if (!pod.pod.reason.empty()) text += ", " + pod.pod.reason;
    story = false;
  } else if (change.resource == &kube::kNodes) {
    text = "there";
    story = false;
  } else if (const SeenJob* job = picture.FindJob(change.key);
             job != nullptr && job->resource == change.resource) {
    if (job->state().empty()) return;
    text = "STATE " + job->state();
  } else {
    return;
  }
  std::string& last = last_told_[std::string(change.resource->plural) + "/" + change.key];
  if (last == text) return;
  last = text;
  Log(who + ": " + text, story);
}

Outcome Runner::Violation() const {
  if (!invariants_.violation()) return {};
  return Error{*invariants_.violation()};
}

bool Runner::Run(const std::function<bool()>& until, Duration limit) {
  bool held = false;
  ground_.RunUntilTrue(
      [&] {
        CrashIfDue();
        held = until && until();
        return held || invariants_.violation().has_value();
      },
      limit);
  return held;
}

// A new leader counts its actions from one again.
void Runner::NoteActions(const cluster::World& world) {
  if (world.next_action <= last_asked_) last_asked_ = 0;
  for (auto action = world.actions.upper_bound(last_asked_); action != world.actions.end(); ++action) {
    const cluster::GangState* gang = world.gangs.Get(action->second.gang);
    asked_.push_back({action->second.kind, gang == nullptr ? api::GangPhase::kQueued : gang->status().phase});
  }
  last_asked_ = world.next_action - 1;
}

// Called between two tasks, so that nothing of the operator is on the stack.
void Runner::CrashIfDue() {
  if (crash_ && writes_ >= crash_->after) {
    Crash(*std::exchange(crash_, {}));
  } else if (fork_ && static_cast<int64_t>(asked_.size()) >= fork_->after) {
    Crash(*std::exchange(fork_, {}));
  }
}

void Runner::Crash(const PlannedCrash& crash) {
  if (crash.lost) ground_.network().LoseRequestsUnderWay();
  if (!crash.leader_alone) {
    operators_.CrashAll();
  } else if (operators_.CrashLeader()) {
    return;  // nobody leads
  }
  invariants_.Disturb();
  restart_.SetAfter(seconds(1), [this] { operators_.Start(); });
}

Outcome Runner::RunTo(Duration time) {
  Duration left = began_ + ground_.Scaled(time) - ground_.loop().now().mono;
  if (left > Duration::zero()) Run({}, left);
  return Violation();
}

Error Runner::Failure(const Statement* statement, const std::string& what) const {
  std::string text = scenario_.name + ".scenario:";
  if (statement != nullptr) text += std::to_string(statement->line) + ": " + statement->text + ":";
  text += " at " + FormatDuration(elapsed()) + ": " + what;
  size_t from = log_.size() > kLogShown ? log_.size() - kLogShown : 0;
  for (size_t i = from; i < log_.size(); ++i) {
    text += "\n  " + FormatDuration(log_[i].time) + "  " + log_[i].text;
  }
  return Error{text};
}

Outcome Runner::Run() {
  tick_.SetAfter(kTick, [this] { Tick(); });
  if (!BringsReplicas(scenario_)) operators_.Start();
  for (const Statement& statement : scenario_.statements) {
    if (Outcome error = Play(statement)) return Failure(&statement, error->message);
  }
  if (Outcome error = EndSettled()) return Failure(nullptr, error->message);
  ground_.Refresh();
  invariants_.Look();
  if (Outcome error = Violation()) return Failure(nullptr, error->message);
  return {};
}

Outcome Runner::Play(const Statement& statement) {
  if (statement.when == Statement::When::kAt) {
    if (Outcome error = RunTo(statement.time)) return error;
  }
  if (const Expect* expect = std::get_if<Expect>(&statement.deed)) return Hold(statement, *expect);
  Log("> " + statement.text);
  Outcome error = std::visit([this](const auto& deed) { return Do(deed); }, statement.deed);
  if (error && !statement.may_fail) return error;
  if (error) Log("  left out: " + error->message, /*story=*/false);
  return Violation();
}

// In virtual time an expectation without `by` is judged at once: nothing is slow there. In real time it is
// waited for, since `at` only orders.
Outcome Runner::Hold(const Statement& statement, const Expect& expect) {
  if (expect.what == "settled") return HoldSettled(kSettleWithin);
  if (expect.what == "quiet") return HoldQuiet(ParseDuration(expect.arguments[0]).value());
  std::optional<std::string> mismatch = "";
  std::optional<uint64_t> judged;  // version of the picture
  auto holds = [&] {
    if (judged == ground_.picture().version) return !mismatch.has_value();
    judged = ground_.picture().version;
    mismatch = Mismatch(ground_.picture(), ground_.ns(), expect);
    return !mismatch.has_value();
  };
  ground_.Refresh();
  bool wait = statement.when == Statement::When::kBy || !ground_.virtual_time();
  if (!holds() && wait) {
    Duration limit = began_ + ground_.Scaled(statement.time) - ground_.loop().now().mono;
    if (!ground_.virtual_time()) {
      limit = std::max(kShortestGuard, ground_.Scaled(statement.time) * kGuardFactor);
    }
    if (limit > Duration::zero()) Run(holds, limit);
  }
  if (Outcome error = Violation()) return error;
  if (mismatch) return Error{*mismatch};
  Log("  " + statement.text + "  (holds)");
  return {};
}

Outcome Runner::HoldSettled(Duration within) {
  Duration quiet = ground_.virtual_time() ? kQuiet : kQuietReal;
  MonoTime since = ground_.loop().now().mono;
  auto settled = [&] { return ground_.loop().now().mono >= std::max(last_write_, since) + quiet; };
  bool held = Run(settled, within);
  if (Outcome error = Violation()) return error;
  if (!held) return Error{"the operator still writes after " + FormatDuration(within)};
  return {};
}

// Neither an operator nor a kubelet writes anything but leases.
Outcome Runner::HoldQuiet(Duration lasts) {
  last_written_.clear();
  ground_.Refresh();
  uint64_t version = ground_.picture().version;
  auto written = [&] { return !last_written_.empty() || ground_.picture().version != version; };
  bool broken = Run(written, ground_.Scaled(lasts));
  if (Outcome error = Violation()) return error;
  if (!broken) return {};
  return Error{"it was written: " + (last_written_.empty() ? "by a kubelet" : last_written_)};
}

// A settled world gives no actions: not to the operator that settled it and not to one that knows nothing.
Outcome Runner::EndSettled() {
  const Picture& picture = ground_.picture();
  bool busy = std::any_of(picture.gangs.begin(), picture.gangs.end(),
                          [](const auto& entry) { return Busy(entry.second); });
  if (busy || operators_.running() == 0) return {};
  ground_.network().Clear();
  if (Outcome error = HoldSettled(kSettleWithin)) return error;
  if (!ground_.virtual_time()) return {};
  operators_.CrashAll();
  invariants_.Disturb();
  Run({}, seconds(1));  // what was under way arrives
  int64_t before = writes_;
  operators_.Start();
  Run([this] { return operators_.someone_leads(); }, seconds(30));
  Run({}, seconds(30));
  if (Outcome error = Violation()) return error;
  if (writes_ != before) return Error{"a new leader finds something to do in a settled world"};
  return {};
}

}  // namespace lockstep::sim
