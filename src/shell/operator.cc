#include "shell/operator.h"

#include <algorithm>

#include "base/log.h"
#include "shell/kinds.h"

namespace lockstep::shell {

using cluster::Action;
using cluster::ActionDone;
using cluster::Observed;

namespace {

// How long a standby waits for its watches to show what the last leader saw before it lists instead.
constexpr Duration kCatchUp = milliseconds(300);
constexpr Duration kCatchUpStep = milliseconds(10);
// How long a leader that ends waits for answers.
constexpr Duration kLastAnswers = milliseconds(200);

}  // namespace

Operator::Operator(kube::Api& api, OperatorOptions options, Observer* observer)
    : api_(api),
      options_(std::move(options)),
      observer_(observer == nullptr ? &quiet_ : observer),
      pulse_(api),
      wake_(api.loop()) {
  world_.settings = options_.settings;
}

Operator::~Operator() { *alive_ = false; }

void Operator::Start() {
  pulse_.Start();
  MakeReflectors();
  if (!options_.leader) return Lead();
  gate_ = std::make_unique<LeaderGate>(
      api_, *options_.leader,
      LeaderGate::Callbacks{[this](const auto* left) { BecomeLeader(left); }, [this] { BecomeStandby(); }});
  gate_->Start();
}

void Operator::MakeReflectors() {
  reflectors_.clear();
  auto add = [this](const kube::Resource& resource, Reflector::Scope scope) {
    Reflector::Callbacks callbacks;
    callbacks.on_upsert = [this, &resource](const std::string&, const std::string&, json::DocPtr object) {
      AddEvent(Observed{&resource, std::move(object), /*gone=*/false});
    };
    callbacks.on_delete = [this, &resource](const std::string& key, const std::string& uid,
                                            json::DocPtr last) {
      if (last == nullptr) {  // a list found the deletion: the identity is all that is left
        size_t slash = key.find('/');
        json::Doc meta = {{"name", slash == std::string::npos ? key : key.substr(slash + 1)}, {"uid", uid}};
        if (slash != std::string::npos) meta["namespace"] = key.substr(0, slash);
        meta["resourceVersion"] = std::to_string(UINT64_MAX);
        last = std::make_shared<const json::Doc>(json::Doc{{"metadata", meta}});
      }
      AddEvent(Observed{&resource, std::move(last), /*gone=*/true});
    };
    callbacks.on_synced = [this] { ScheduleStep(); };
    callbacks.on_failed = [this] { ScheduleStep(); };
    ReflectorOptions reflector;
    reflector.jitter_seed = options_.identity;
    reflector.optional = IsAdmission(resource) || &resource == &kube::kPodGroups;
    if (IsAdmission(resource)) reflector.longest_backoff = minutes(5);
    reflectors_.push_back(
        std::make_unique<Reflector>(api_, resource, std::move(scope), std::move(callbacks), reflector));
    reflectors_.back()->Start();
  };
  for (WatchedKind& kind : WatchedKinds(options_.ns)) add(*kind.resource, std::move(kind.scope));
}

// A cluster need not have every kind of job; one that runs PyTorchJobs alone has no CRD of TFJobs.
bool Operator::Excused(const Reflector& reflector) const {
  if (IsAdmission(reflector.resource())) return !reflector.last_error().ok();
  bool may_be_missing =
      jobs::FrameworkOf(reflector.resource()) != nullptr || &reflector.resource() == &kube::kPodGroups;
  return reflector.missing() && may_be_missing;
}

void Operator::SeeMissingKinds() {
  std::set<const jobs::Framework*> missing;
  for (const auto& reflector : reflectors_) {
    const jobs::Framework* framework = jobs::FrameworkOf(reflector->resource());
    if (framework != nullptr && Excused(*reflector)) missing.insert(framework);
  }
  if (missing == world_.missing_kinds) return;
  world_.missing_kinds = std::move(missing);
  for (const auto& [key, gang] : world_.gangs) world_.Touch(key);
}

bool Operator::synced() const {
  return !reflectors_.empty() && std::all_of(reflectors_.begin(), reflectors_.end(),
                                             [&](const auto& r) { return r->synced() || Excused(*r); });
}

bool Operator::Stale() const {
  MonoTime now = api_.loop().now().mono;
  return std::any_of(reflectors_.begin(), reflectors_.end(), [&](const auto& r) {
    return !r->in_touch() && !Excused(*r) && now >= r->last_contact() + options_.stale_after;
  });
}

std::string Operator::trouble() const {
  for (const auto& reflector : reflectors_) {
    if (!reflector->in_touch() && !reflector->last_error().ok() && !Excused(*reflector))
      return reflector->trouble();
  }
  if (!pulse_.trouble().empty()) return pulse_.trouble();
  if (gate_ != nullptr && !leading_ && !gate_->trouble().empty()) return gate_->trouble();
  if (!synced()) return "waiting for the first list of every kind";
  return "";
}

void Operator::BecomeLeader(const LeaderGate::Seen* left) {
  if (left == nullptr || !synced()) return LeadAfresh();
  CatchUp(*left, api_.loop().now().mono + kCatchUp);
}

// Follows on until it has seen all that the last leader had seen.
void Operator::CatchUp(const LeaderGate::Seen& left, MonoTime until) {
  bool behind = std::any_of(reflectors_.begin(), reflectors_.end(), [&](const auto& reflector) {
    auto seen = left.find(std::string(reflector->resource().plural));
    return !Excused(*reflector) && (seen == left.end() || reflector->seen_until() < seen->second);
  });
  if (!behind) return Lead();
  if (api_.loop().now().mono >= until) return LeadAfresh();
  wake_.SetAfter(kCatchUpStep, [this, left, until] { CatchUp(left, until); });
}

// What a standby followed may be behind what the last leader wrote: begin with a fresh list of everything.
void Operator::LeadAfresh() {
  world_ = {};
  world_.settings = options_.settings;
  events_.clear();
  MakeReflectors();
  Lead();
}

void Operator::Lead() {
  executor_ = std::make_unique<Executor>(
      api_, [this] { return gate_ == nullptr ? std::optional(MonoTime::max()) : gate_->MayWriteUntil(); },
      [this](const Action& action, ActionDone done, Duration took) {
        observer_->OnAnswer(action, done.status, took);
        if (!done.status.ok()) LogFailure(action, done.status);
        if (done.object != nullptr) {
          uint64_t& newest = written_[std::string(action.request.resource->plural)];
          std::string version = json::GetString(*done.object, "metadata.resourceVersion");
          newest = std::max(newest, cluster::ParseVersion(version));
        }
        AddEvent(std::move(done));
      },
      options_.width);
  leading_ = true;
  observer_->OnLeader(true);
  ScheduleStep();
}

// A conflict or a lost answer is daily business. A refusal (RBAC, a quota, a webhook) comes again with every
// try, so one a minute is told of each kind.
void Operator::LogFailure(const Action& action, const kube::Status& status) {
  bool refused = !status.transient() && !status.unknown() && !status.conflict() && !status.not_found() &&
                 !status.already_exists();
  MonoTime now = api_.loop().now().mono;
  bool tell = refused && now >= refusal_told_again_[{action.kind, status.code}];
  if (tell) refusal_told_again_[{action.kind, status.code}] = now + minutes(1);
  LogLine(tell ? LogLevel::kWarning : LogLevel::kDebug, tell ? "write refused" : "action failed",
          {{"action", cluster::KindText(action.kind)}, {"on", action.touches}, {"error", status.message}});
}

void Operator::BecomeStandby() {
  leading_ = false;
  executor_.reset();
  world_ = {};
  world_.settings = options_.settings;
  events_.clear();
  wake_.Stop();
  MakeReflectors();
  observer_->OnLeader(false);
}

void Operator::AddEvent(cluster::Event event) {
  events_.push_back(std::move(event));
  ScheduleStep();
}

void Operator::ScheduleStep() {
  if (step_scheduled_ || stopped_) return;
  step_scheduled_ = true;
  api_.loop().Post([this, alive = alive_] {
    if (!*alive) return;
    step_scheduled_ = false;
    StepNow();
  });
}

void Operator::StepNow() {
  if (stopped_) return;
  std::vector<cluster::Event> events;
  events.swap(events_);
  SeeMissingKinds();
  if (!leading_ || !synced()) return engine::Follow(world_, events);
  if (Stale()) {
    // Nothing is decided on a view known to be stale; answers and events wait.
    events_.swap(events);
    return wake_.SetAfter(seconds(1), [this] { StepNow(); });
  }
  Now now = api_.loop().now();
  engine::StepResult result = engine::Step(world_, events, now);
  observer_->OnStep(world_, api_.loop().now().mono - now.mono, events.size(), result.actions.size());
  if (result.next_wake) {
    wake_.SetAt(*result.next_wake, [this] { StepNow(); });
  } else {
    wake_.Stop();
  }
  executor_->Run(std::move(result.actions));
}

LeaderGate::Seen Operator::Seen() const {
  LeaderGate::Seen seen = written_;
  for (const auto& reflector : reflectors_) {
    uint64_t& newest = seen[std::string(reflector->resource().plural)];
    newest = std::max(newest, reflector->newest());
  }
  return seen;
}

void Operator::Stop(std::function<void()> done) {
  stopped_ = true;
  wake_.Stop();
  if (gate_ == nullptr || !leading_) {
    leading_ = false;
    executor_.reset();
    if (gate_ == nullptr) return done();
    return gate_->Release({}, std::move(done));
  }
  leading_ = false;
  executor_->DropQueued();
  GiveUp(api_.loop().now().mono + kLastAnswers, std::move(done));
}

void Operator::GiveUp(MonoTime until, std::function<void()> done) {
  if (executor_ != nullptr && executor_->in_flight() > 0 && api_.loop().now().mono < until)
    return wake_.SetAfter(kCatchUpStep, [this, until, done] { GiveUp(until, done); });
  executor_.reset();
  gate_->Release(Seen(), std::move(done));
}

}  // namespace lockstep::shell
