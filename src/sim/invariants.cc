#include "sim/invariants.h"

#include <algorithm>
#include <tuple>

#include "engine/limits.h"

namespace lockstep::sim {

using api::GangPhase;

namespace {

constexpr Duration kQuotaTold = seconds(2);
constexpr Duration kResolve = seconds(60);  // an excess or a double that a race made
// While nothing changes and nothing is wrong, only time can make something wrong.
constexpr Duration kLookAgain = seconds(5);

bool Waits(GangPhase phase) { return phase == GangPhase::kQueued || phase == GangPhase::kChecking; }

}  // namespace

Invariants::Invariants(Picture& picture, Loop& loop, InvariantOptions options)
    : picture_(picture), loop_(loop), options_(options) {
  picture_.Listen([this](const Picture::Change& change) { OnChange(change); });
}

void Invariants::Violate(int number, const std::string& what) {
  if (!violation_) violation_ = "invariant " + std::to_string(number) + ": " + what;
}

void Invariants::Disturb() { disturbed_ = loop_.now().mono; }

bool Invariants::Excused(const std::string& node) const {
  MonoTime now = loop_.now().mono;
  if (disturbed_ && now < *disturbed_ + options_.patience_after_trouble) return true;
  auto found = excused_.find(node);
  return found != excused_.end() && now < found->second + kResolve;
}

void Invariants::Wrong(int number, const std::string& key, const std::string& what, Duration patience) {
  MonoTime now = loop_.now().mono;
  std::string id = std::to_string(number) + "/" + key;
  wrong_now_.insert(id);
  MonoTime since = wrong_since_.try_emplace(id, now).first->second;
  if (disturbed_) since = std::max(since, *disturbed_ + options_.patience_after_trouble);
  if (now > since + patience) Violate(number, what + ", for " + FormatDuration(now - wrong_since_.at(id)));
}

void Invariants::EndLook() {
  std::erase_if(wrong_since_, [&](const auto& entry) { return !wrong_now_.contains(entry.first); });
  wrong_now_.clear();
}

// --- what must hold at every change ---

void Invariants::OnChange(const Picture::Change& change) {
  if (violation_) return;
  if (change.resource == &kube::kNodes) ExcuseNode(change.key);
  if (change.resource == &kube::kPods) NoteFault(change);
  if (change.gone) return;
  if (change.resource == &kube::kPods) CheckPod(change.key);
  if (change.resource == &kube::kGangs) {
    auto found = picture_.gangs.find(change.key);
    if (found != picture_.gangs.end()) CheckGang(found->second);
  }
  auto job = picture_.jobs.find(change.key);
  if (job != picture_.jobs.end() && job->second.resource == change.resource) CheckJob(job->second);
}

// A rank that failed or went is why a restart may be counted.
void Invariants::NoteFault(const Picture::Change& change) {
  if (change.gone) {
    auto known = attempt_of_.find(change.key);
    if (known == attempt_of_.end()) return;
    faulted_[known->second.first].insert(known->second.second);
    attempt_of_.erase(known);
    return;
  }
  const SeenPod& pod = picture_.pods.at(change.key);
  if (pod.job.empty()) return;
  attempt_of_.insert_or_assign(change.key, std::pair(pod.owner_uid, pod.attempt));
  if (pod.deleting() || pod.pod.phase == kube::PodPhase::kFailed) faulted_[pod.owner_uid].insert(pod.attempt);
}

// 5. One pod per (gang, role, index) may start containers. A late write may bring one of an attempt that is
// over; that it goes is CheckLeftovers'.
void Invariants::CheckPod(const std::string& key) {
  const SeenPod& pod = picture_.pods.at(key);
  if (pod.job.empty()) return ExcuseNode(pod.pod.node_name);
  if (pod.ended()) return;
  for (const SeenPod* other : picture_.PodsOf(pod.job)) {
    if (other->index != pod.index || other == &pod || other->role != pod.role || other->ended()) continue;
    if (other->owner_uid != pod.owner_uid) continue;  // of a deleted namesake: CheckLeftovers
    if (late_writes_ && other->attempt != pod.attempt) continue;
    Violate(5, "pods " + key + " and " + other->pod.meta.key() + " are both rank " + pod.role + "/" +
                   std::to_string(pod.index) + " of job " + pod.job);
  }
}

// 2. A placement fits when it is written; 5, 6. numbers only grow.
void Invariants::CheckGang(const api::Gang& gang) {
  const api::GangStatus& status = gang.status;
  if (!gang.status.phase_since) return;  // made a moment ago: its status has never been written
  Counters& known = counters_[gang.spec.job.uid];
  auto grows = [&](const char* what, int number, int64_t is, int64_t& was) {
    if (is < was) {
      Violate(number, std::string(what) + " of " + gang.meta.key() + " fell from " + std::to_string(was) +
                          " to " + std::to_string(is));
    }
    was = std::max(was, is);
  };
  bool new_attempt = status.attempt > known.attempt;
  const SeenJob* job = picture_.FindJob(gang.meta.ns + "/" + gang.spec.job.name);
  // Of a job that is over no attempt will come: nobody need know the last one's number.
  if (job == nullptr || !job->finished()) grows("attempt", 5, status.attempt, known.attempt);
  grows("policy restarts", 6, status.policy_restarts, known.policy);
  grows("fault restarts", 6, status.fault_restarts, known.fault);
  auto faulted = static_cast<int64_t>(faulted_[gang.spec.job.uid].size());
  if (status.policy_restarts + status.fault_restarts > faulted) {
    Violate(6, "gang " + gang.meta.key() + " counts " +
                   std::to_string(status.policy_restarts + status.fault_restarts) +
                   " restarts, but a rank failed or went in " + std::to_string(faulted) + " attempts");
  }
  if (!new_attempt || status.phase != GangPhase::kPlacing) return;
  const std::map<std::string, Taken>& taken = TakenNow();
  for (const api::NodeSeats& seats : status.placement) {
    auto node = picture_.nodes.find(seats.node);
    if (Excused(seats.node)) continue;
    auto there = taken.find(seats.node);
    if (node == picture_.nodes.end()) {
      Violate(2, "gang " + gang.meta.key() + " has seats on " + seats.node + ", which does not exist");
    } else if (std::string resource = there == taken.end() ? "" : Excess(node->second, there->second);
               !resource.empty()) {
      Violate(2, "the seats of gang " + gang.meta.key() + " on " + seats.node + " need more " + resource +
                     " than is free there");
    }
  }
  CheckRules(gang);
}

// 2. ... and so do the rules between pods: those of the gang's, and those of the pods that are there.
void Invariants::CheckRules(const api::Gang& gang) {
  auto excused = [&](const api::NodeSeats& seats) { return Excused(seats.node); };
  if (std::ranges::any_of(gang.status.placement, excused)) return;
  const SeenJob* job = picture_.FindJob(gang.meta.ns + "/" + gang.spec.job.name);
  if (job == nullptr || job->meta.uid != gang.spec.job.uid) return;
  if (!HasRules(job->asks) && !AnybodyKeepsAway(TakenNow())) return;
  std::string broken = BrokenRule(picture_, *job, gang, TakenByNode(picture_, job->meta.key()));
  if (!broken.empty()) Violate(2, "the seats of gang " + gang.meta.key() + " break a rule: " + broken);
}

// 5. A success already seen is final.
void Invariants::CheckJob(const SeenJob& job) {
  std::string& before = finished_[job.meta.uid];
  std::string is = job.succeeded ? "Succeeded" : job.failed ? "Failed" : "";
  if (!before.empty() && is != before)
    Violate(5, "job " + job.meta.key() + " was " + before + " and is no longer");
  before = is;
}

// --- what must come true ---

namespace {

// The operator counts pods on the node that are not there yet, room or no room.
bool IsExpecting(const cluster::World& world, const std::string& node) {
  return std::ranges::any_of(world.daemons.sets,
                             [&](const auto& set) { return set.second.expected.contains(node); }) ||
         std::ranges::any_of(world.pods, [&](const auto& pod) { return pod.second->nominated == node; });
}

}  // namespace

void Invariants::OnStep(const cluster::World& world) {
  for (cluster::NodeId node : world.nodes.ByName()) {
    for (const auto& [resource, allocatable] : world.nodes.facts(node).allocatable) {
      if (world.nodes.Used(node, resource) <= allocatable || Excused(world.nodes.name(node))) continue;
      if (IsExpecting(world, world.nodes.name(node))) continue;
      Violate(2, "the operator placed more " + resource + " on " + world.nodes.name(node) + " than there is");
    }
  }
  if (picture_.version != looked_at_) Look();  // else nothing is wrong that was not, and Look comes with time
}

void Invariants::Look() {
  if (violation_) return;
  if (paused_()) Disturb();
  MonoTime now = loop_.now().mono;
  if (picture_.version == looked_at_ && wrong_since_.empty() && now < looked_ + kLookAgain) return;
  looked_at_ = picture_.version;
  looked_ = now;
  CheckNodes();
  for (const auto& [key, job] : picture_.jobs) {
    if (job.meta.deleted_at || !job.ours) continue;
    const api::Gang* gang = picture_.GangOf(job);
    CheckParts(job, gang);
    CheckReason(job, gang);
  }
  CheckLeftovers();
  CheckQueue();
  EndLook();
}

// 2. What pods take of a node; an excess that a race made is resolved.
void Invariants::CheckNodes() {
  if (excess_of_ != picture_.seats_version) {
    excess_of_ = picture_.seats_version;
    excess_.clear();
    std::map<std::string, Taken> taken;
    for (const auto& [key, pod] : picture_.pods) {
      if (pod.pod.node_name.empty() || !kube::HoldsResources(pod.pod)) continue;
      kube::AddTo(taken[pod.pod.node_name].requests, pod.pod.need.requests);
      taken[pod.pod.node_name].requests["pods"] += 1000;
    }
    for (const auto& [name, node] : picture_.nodes) {
      if (std::string resource = Excess(node, taken[name]); !resource.empty()) excess_[name] = resource;
    }
  }
  for (const auto& [name, resource] : excess_) {
    std::string what = "pods on " + name + " take more " + resource + " than it has";
    if (!Excused(name)) Violate(2, what);
    Wrong(2, name, what, kResolve);
  }
}

// 1. No live pods, or within placeTimeout + startTimeout all that must run. Every progress begins a new time.
void Invariants::CheckParts(const SeenJob& job, const api::Gang* gang) {
  int live = 0, running = 0, over = 0;
  // Such a job goes on without a worker that failed (jobs/tensorflow).
  bool can_lose = json::GetBool(*job.object, "spec.enableDynamicWorker");
  for (const SeenPod* pod : picture_.PodsOf(job.meta.key())) {
    if (pod->owner_uid != job.meta.uid) continue;
    if (pod->live() && !pod->unbound()) ++live;
    if (pod->running()) ++running;
    if (pod->pod.phase == kube::PodPhase::kSucceeded) ++over;
    if (pod->pod.phase == kube::PodPhase::kFailed && can_lose) ++over;
  }
  if (live == 0 || job.finished()) return;
  std::string key = job.meta.key();
  if (gang != nullptr && running + over >= gang->pods()) return;
  std::string progress = std::to_string(live) + "/" + std::to_string(running) + "/" + std::to_string(over);
  std::string& last = part_[key];
  if (last != progress) wrong_since_.erase("1/" + key);
  last = progress;
  Wrong(1, key,
        "job " + key + " has a part of its pods: " + std::to_string(live) + " live, " +
            std::to_string(running) + " running",
        engine::kPlaceTimeout + engine::kStartTimeout + options_.patience_after_trouble);
}

// 7. Every gang that is not running has a reason that is true.
void Invariants::CheckReason(const SeenJob& job, const api::Gang* gang) {
  std::string key = job.meta.key();
  if (job.finished()) return;
  const std::vector<RoleAsk>& asks = job.asks;
  if (gang == nullptr)
    return Wrong(7, key, "job " + key + " has neither a gang nor an end", options_.patience);
  const api::GangReason& reason = gang->status.reason;
  if (!Waits(gang->status.phase)) return;
  if (reason.code.empty())
    return Wrong(7, key, "gang of " + key + " waits without a reason", options_.patience);
  const json::Doc* placed = job.condition("Placed");
  if (placed == nullptr) return Wrong(7, key, "job " + key + " has no condition Placed", options_.patience);
  if (json::GetString(*placed, "status") == "True")
    return Wrong(7, key, "job " + key + " waits and says Placed", options_.patience);
  if (asks.empty() || !Alike(asks)) return;
  if (reason.code == "QuotaExceeded" || reason.code == "QuotaTooSmall" || reason.code == "QuotaUnknown") {
    if (FullQuota(picture_, job).empty() && !gang->status.not_before)
      Wrong(7, key, "no quota is full, but gang of " + key + " says " + reason.message, kQuotaTold);
    return;
  }
  bool held_back = job.suspended || gang->status.not_before || reason.code == "AdmissionRefused" ||
                   reason.code == "Unsupported" || reason.code == "OldPodsLeft";
  if (held_back) return;
  bool impossible = Impossible(job);
  // The search that says so is a plain one, and knows no volumes.
  if ((HasRules(asks) || HasPorts(asks) || HasClaims(asks)) && impossible) return;
  if (impossible != (reason.code == "Impossible")) {
    Wrong(7, key,
          "gang of " + key +
              (reason.code == "Impossible" ? " could run here but says " : " can never run here but says ") +
              reason.code + ": " + reason.message,
          std::max<Duration>(options_.patience, milliseconds(500)));
  }
}

const std::map<std::string, Taken>& Invariants::ExpectedNow() {
  if (expected_of_ == picture_.seats_version) return expected_;
  expected_ = TakenNow();
  AddExpected(picture_, /*daemons_alone=*/false, expected_);
  AddGroupSeats(picture_, /*running=*/true, expected_);
  expected_of_ = picture_.seats_version;
  return expected_;
}

const std::map<std::string, Taken>& Invariants::TakenNow() {
  if (taken_of_ != picture_.seats_version) taken_ = TakenByNode(picture_);
  taken_of_ = picture_.seats_version;
  return taken_;
}

bool Invariants::Impossible(const SeenJob& job) {
  Judged& judged = impossible_[job.meta.uid];
  if (judged.version == picture_.nodes_version && judged.generation == job.meta.generation) return judged.yes;
  std::vector<const kube::Node*> nodes;
  nodes.reserve(picture_.nodes.size());
  for (const auto& [name, node] : picture_.nodes) nodes.push_back(&node);
  judged = {picture_.nodes_version, job.meta.generation,
            !SurelyFits(nodes, PermanentByNode(picture_), job.asks, job.meta.ns, picture_.nodes)};
  return judged.yes;
}

bool Invariants::MayStart(const SeenJob& job, const api::Gang& gang) {
  Judged& judged = may_start_[job.meta.uid];
  bool known = judged.version == picture_.seats_version && judged.generation == job.meta.generation;
  if (known && gang.status.barred.empty()) return judged.yes;  // a bar ends with time
  judged = {picture_.seats_version, job.meta.generation,
            SurelyFits(NodesFor(gang), ExpectedNow(), job.asks, job.meta.ns, picture_.nodes)};
  return judged.yes;
}

// 1. Pods of jobs that are gone, and of attempts that are not the recorded one, go.
void Invariants::CheckLeftovers() {
  for (const auto& [key, pod] : picture_.pods) {
    if (pod.job.empty() || pod.owner_uid.empty() || !pod.live() || pod.attempt == 0) continue;
    const SeenJob* job = picture_.FindJob(pod.job);
    if (job == nullptr || job->meta.uid != pod.owner_uid) {
      Wrong(1, key, "pod " + key + " outlives its job", kResolve);
      continue;
    }
    const api::Gang* gang = picture_.GangOf(*job);
    if (gang == nullptr || job->finished()) continue;
    bool waits = pod.unbound() && pod.attempt == gang->status.attempt + 1 && Waits(gang->status.phase);
    if (waits) continue;
    bool current = pod.attempt == gang->status.attempt && !Waits(gang->status.phase) &&
                   gang->status.phase != GangPhase::kRestarting;
    if (!current)
      Wrong(1, key, "pod " + key + " is of attempt " + std::to_string(pod.attempt) + ", which is over",
            kResolve);
  }
}

std::vector<const kube::Node*> Invariants::NodesFor(const api::Gang& gang) const {
  WallTime now = loop_.now().wall;
  std::vector<const kube::Node*> nodes;
  for (const auto& [name, node] : picture_.nodes) {
    bool barred = std::any_of(gang.status.barred.begin(), gang.status.barred.end(),
                              [&, &n = name](const auto& b) { return b.node == n && b.until > now; });
    if (!barred) nodes.push_back(&node);
  }
  return nodes;
}

namespace {

// The order of the queue, told from the record alone: (not aged, -priority, since, name).
struct Place {
  bool young = true;
  int64_t below = 0;
  WallTime since;
  const SeenJob* job = nullptr;
  bool restarting = false;
};

Place PlaceOf(const SeenJob& job, const api::Gang& gang, WallTime now, Duration age_limit) {
  WallTime since = gang.status.waiting_since.value_or(gang.spec.queued_at);
  Place place{.since = gang.spec.queued_at, .job = &job};
  place.restarting = gang.status.phase == GangPhase::kRestarting || gang.status.reason.code == "Restarting";
  place.young = job.suspended || now < since + age_limit;
  if (place.young) {
    place.below = -int64_t{gang.status.priority};
  } else {
    place.since = since;
  }
  return place;
}

}  // namespace

// 3. Whoever may start and fits, starts; unless somebody before him has waited beyond the age limit, or
// restarts.
void Invariants::CheckQueue() {
  WallTime now = loop_.now().wall;
  if (OldGroupWaits(picture_, now - options_.age_limit)) return;
  std::vector<Place> queue;
  for (const auto& [key, job] : picture_.jobs) {
    const api::Gang* gang = picture_.GangOf(job);
    if (gang == nullptr || job.finished() || job.meta.deleted_at || !job.ours) continue;
    if (!Waits(gang->status.phase) && gang->status.phase != GangPhase::kRestarting) continue;
    queue.push_back(PlaceOf(job, *gang, now, options_.age_limit));
  }
  std::sort(queue.begin(), queue.end(), [](const Place& a, const Place& b) {
    return std::tuple(a.young, a.below, a.since, a.job->meta.key()) <
           std::tuple(b.young, b.below, b.since, b.job->meta.key());
  });
  for (const Place& place : queue) {
    const SeenJob& job = *place.job;
    const api::Gang* gang = picture_.GangOf(job);
    const std::string& code = gang->status.reason.code;
    if (job.asks.empty() || job.suspended || code == "AdmissionRefused" || code == "Unsupported") continue;
    bool backs_off = gang->status.not_before && *gang->status.not_before > now;
    // Of ports the plain search can't tell; whoever wants some is not judged, but may go first.
    if (backs_off || (Impossible(job) && !HasPorts(job.asks))) continue;
    if (!FullQuota(picture_, job).empty()) {
      if (place.restarting) return;  // it keeps its turn while its old pods are still counted
      continue;
    }
    bool old_pods = std::ranges::any_of(picture_.PodsOf(job.meta.key()),
                                        [](const SeenPod* pod) { return !pod->unbound(); });
    if (!old_pods && MayStart(job, *gang)) {
      Wrong(3, job.meta.key() + std::to_string(gang->status.attempt),
            "the gang of " + job.meta.key() + " may start, would fit and is not placed (" + code + ")",
            options_.patience);
    }
    if (!place.young || place.restarting) return;
  }
}

}  // namespace lockstep::sim
