#include "sim/expectations.h"

#include <algorithm>
#include <set>

#include "jobs/pod_set.h"
#include "sim/words.h"

namespace lockstep::sim {

namespace {

using Wrong = std::optional<std::string>;
using api::GangPhase;

std::string Quote(const std::string& text) { return "\"" + text + "\""; }

struct Pods {
  int live = 0, running = 0, total = 0, terminating = 0, succeeded = 0, failed = 0;
  int unbound = 0, unschedulable = 0;
};

Pods CountPods(const Picture& picture, const std::string& job) {
  Pods pods;
  for (const SeenPod* pod : picture.PodsOf(job)) {
    ++pods.total;
    if (pod->live()) ++pods.live;
    if (pod->running()) ++pods.running;
    if (pod->unbound()) ++pods.unbound;
    if (pod->pod.unschedulable) ++pods.unschedulable;
    if (pod->deleting()) ++pods.terminating;
    if (pod->pod.phase == kube::PodPhase::kSucceeded) ++pods.succeeded;
    if (pod->pod.phase == kube::PodPhase::kFailed) ++pods.failed;
  }
  return pods;
}

// One line that says how a job is, for every message.
std::string HowItIs(const Picture& picture, const SeenJob& job) {
  std::string key = job.meta.key();
  Pods pods = CountPods(picture, key);
  std::string state = job.state();
  std::string text = "STATE " + (state.empty() ? "none" : state);
  if (const api::Gang* gang = picture.GangOf(job)) {
    text += ", gang " + std::string(api::PhaseText(gang->status.phase)) + ", attempt " +
            std::to_string(gang->status.attempt) + ", " + gang->status.reason.code + ": " +
            Quote(gang->status.reason.message);
  } else {
    text += ", no gang";
  }
  return text + ", " + std::to_string(pods.total) + " pods, " + std::to_string(pods.live) + " live, " +
         std::to_string(pods.running) + " running";
}

using JobCheck = Wrong (*)(const Picture&, const SeenJob&, const Expect&);

// Runs `check` for every named job, which must exist, and puts the job's state behind what is wrong.
template <JobCheck check>
Wrong EachJob(const Picture& picture, const std::string& ns, const Expect& expect) {
  for (const std::string& name : expect.names) {
    const SeenJob* job = picture.FindJob(ns + "/" + name);
    if (job == nullptr) return "there is no job " + name;
    if (Wrong wrong = check(picture, *job, expect))
      return name + " " + *wrong + " (" + HowItIs(picture, *job) + ")";
  }
  return {};
}

Wrong WrongText(const std::string& what, const std::string& is, const std::string& wanted) {
  if (is == wanted) return {};
  return "has " + what + " " + (is.empty() ? "none" : is) + ", not " + wanted;
}

Wrong CheckBecause(const Expect& expect, const std::string& where, const std::string& message) {
  if (!expect.because || message.find(*expect.because) != std::string::npos) return {};
  return "has no " + Quote(*expect.because) + " in its " + where + ", which is " + Quote(message);
}

std::string ConditionMessage(const SeenJob& job, std::string_view type) {
  const json::Doc* condition = job.condition(type);
  return condition == nullptr ? "" : json::GetString(*condition, "message");
}

Wrong Running(const Picture& picture, const SeenJob& job, const Expect&) {
  if (job.finished()) return "is finished";
  if (!job.is_true("Running")) return "has no condition Running=True";
  const api::Gang* gang = picture.GangOf(job);
  if (gang == nullptr || gang->status.phase != GangPhase::kRunning) return "has no running gang";
  int wanted = gang->pods(), running = CountPods(picture, job.meta.key()).running;
  int over = CountPods(picture, job.meta.key()).succeeded;
  if (running + over < wanted)
    return "runs " + std::to_string(running) + " of " + std::to_string(wanted) + " pods";
  return {};
}

Wrong Queued(const Picture& picture, const SeenJob& job, const Expect& expect) {
  if (job.finished()) return "is finished";
  const api::Gang* gang = picture.GangOf(job);
  if (gang == nullptr) return "has no gang";
  if (gang->status.phase != GangPhase::kQueued && gang->status.phase != GangPhase::kChecking)
    return "is not queued";
  Pods pods = CountPods(picture, job.meta.key());
  if (pods.live > pods.unbound) return "has live pods on nodes";
  if (!expect.because) return {};
  if (Wrong wrong = CheckBecause(expect, "gang's reason", gang->status.reason.message)) return wrong;
  const json::Doc* placed = job.condition("Placed");
  if (placed == nullptr) return "has no condition Placed";
  if (json::GetString(*placed, "status") != "False") return "has a condition Placed that is not False";
  return CheckBecause(expect, "condition Placed", ConditionMessage(job, "Placed"));
}

Wrong Succeeded(const Picture&, const SeenJob& job, const Expect&) {
  if (!job.is_true("Succeeded")) return "has not succeeded";
  if (job.is_true("Running")) return "is Succeeded and Running";
  return {};
}

Wrong Failed(const Picture&, const SeenJob& job, const Expect& expect) {
  if (!job.is_true("Failed")) return "has not failed";
  return CheckBecause(expect, "condition Failed", ConditionMessage(job, "Failed"));
}

Wrong Unfinished(const Picture&, const SeenJob& job, const Expect&) {
  if (job.finished()) return "is finished";
  return {};
}

Wrong Restarting(const Picture&, const SeenJob& job, const Expect& expect) {
  if (!job.is_true("Restarting")) return "is not restarting";
  return CheckBecause(expect, "condition Restarting", ConditionMessage(job, "Restarting"));
}

Wrong Suspended(const Picture& picture, const SeenJob& job, const Expect&) {
  if (!job.is_true("Suspended")) return "has no condition Suspended=True";
  if (CountPods(picture, job.meta.key()).live > 0) return "has live pods";
  return {};
}

Wrong Phase(const Picture& picture, const SeenJob& job, const Expect& expect) {
  const api::Gang* gang = picture.GangOf(job);
  std::string phase = gang == nullptr ? "" : std::string(api::PhaseText(gang->status.phase));
  return WrongText("gang phase", phase, expect.arguments[0]);
}

Wrong State(const Picture&, const SeenJob& job, const Expect& expect) {
  return WrongText("STATE", job.state(), expect.arguments[0]);
}

Wrong Reason(const Picture& picture, const SeenJob& job, const Expect& expect) {
  const api::Gang* gang = picture.GangOf(job);
  if (gang == nullptr) return "has no gang";
  if (Wrong wrong = WrongText("reason", gang->status.reason.code, expect.arguments[0])) return wrong;
  return CheckBecause(expect, "gang's reason", gang->status.reason.message);
}

Wrong Attempts(const Picture& picture, const SeenJob& job, const Expect& expect) {
  const api::Gang* gang = picture.GangOf(job);
  if (gang == nullptr) return "has no gang";
  return WrongText("attempt", std::to_string(gang->status.attempt), expect.arguments[0]);
}

Wrong Restarts(const Picture& picture, const SeenJob& job, const Expect& expect) {
  const api::Gang* gang = picture.GangOf(job);
  if (gang == nullptr) return "has no gang";
  for (const auto& [kind, wanted] : expect.options) {
    int64_t is = kind == "policy" ? gang->status.policy_restarts : gang->status.fault_restarts;
    if (Wrong wrong = WrongText(kind + " restarts", std::to_string(is), wanted)) return wrong;
  }
  return {};
}

Wrong PodCounts(const Picture& picture, const SeenJob& job, const Expect& expect) {
  Pods pods = CountPods(picture, job.meta.key());
  if (!expect.arguments.empty()) {
    if (Wrong wrong = WrongText("live pods", std::to_string(pods.live), expect.arguments[0])) return wrong;
  }
  for (const auto& [kind, wanted] : expect.options) {
    int is = kind == "running"         ? pods.running
             : kind == "total"         ? pods.total
             : kind == "terminating"   ? pods.terminating
             : kind == "succeeded"     ? pods.succeeded
             : kind == "unbound"       ? pods.unbound
             : kind == "unschedulable" ? pods.unschedulable
                                       : pods.failed;
    if (Wrong wrong = WrongText(kind + " pods", std::to_string(is), wanted)) return wrong;
  }
  return {};
}

Wrong Condition(const Picture&, const SeenJob& job, const Expect& expect) {
  const std::string& type = expect.arguments[0];
  const json::Doc* condition = job.condition(type);
  std::string status = condition == nullptr ? "" : json::GetString(*condition, "status");
  if (expect.arguments[1] == "absent") {
    if (condition != nullptr) return "has a condition " + type;
    return {};
  }
  if (Wrong wrong = WrongText("condition " + type, status, expect.arguments[1])) return wrong;
  if (expect.arguments.size() > 2) {
    if (Wrong wrong =
            WrongText(type + " reason", json::GetString(*condition, "reason"), expect.arguments[2])) {
      return wrong;
    }
  }
  return CheckBecause(expect, "condition " + type, json::GetString(*condition, "message"));
}

std::set<std::string> NodesOf(const Picture& picture, const SeenJob& job) {
  std::set<std::string> nodes;
  for (const SeenPod* pod : picture.PodsOf(job.meta.key())) {
    if (pod->live() && !pod->pod.node_name.empty()) nodes.insert(pod->pod.node_name);
  }
  return nodes;
}

Wrong On(const Picture& picture, const SeenJob& job, const Expect& expect) {
  Result<std::vector<std::string>> allowed = ParseNames(expect.arguments[0]);
  if (!allowed.ok()) return allowed.error().message;
  std::set<std::string> used = NodesOf(picture, job);
  if (used.empty()) return "is on no node";
  for (const std::string& node : used) {
    if (std::find(allowed->begin(), allowed->end(), node) == allowed->end()) return "is on " + node;
  }
  return {};
}

Wrong NodeCount(const Picture& picture, const SeenJob& job, const Expect& expect) {
  return WrongText("nodes", std::to_string(NodesOf(picture, job).size()), expect.arguments[0]);
}

Wrong Services(const Picture& picture, const SeenJob& job, const Expect& expect) {
  int count = 0;
  for (const auto& [key, meta] : picture.services) {
    const kube::OwnerRef* owner = meta.controller();
    if (owner != nullptr && owner->uid == job.meta.uid) ++count;
  }
  return WrongText("services", std::to_string(count), expect.arguments[0]);
}

Wrong Event(const Picture& picture, const SeenJob& job, const Expect& expect) {
  for (const auto& [key, event] : picture.events) {
    if (json::GetString(*event, "involvedObject.uid") != job.meta.uid) continue;
    if (json::GetString(*event, "reason") != expect.arguments[0]) continue;
    if (!CheckBecause(expect, "", json::GetString(*event, "message"))) return {};
  }
  return "has no event " + expect.arguments[0];
}

Wrong Absent(const Picture& picture, const std::string& ns, const Expect& expect) {
  for (const std::string& name : expect.names) {
    std::string key = ns + "/" + name;
    if (picture.FindJob(key) != nullptr) return "job " + name + " exists";
    if (!picture.PodsOf(key).empty()) return "pods of job " + name + " exist";
    for (const auto& [gang_key, gang] : picture.gangs) {
      if (gang.meta.ns == ns && gang.spec.job.name == name) return "the gang of job " + name + " exists";
    }
  }
  return {};
}

// Each job was placed no earlier than the one named before it; gangs of one decision have the same time.
Wrong Order(const Picture& picture, const std::string& ns, const Expect& expect) {
  const std::string* last = nullptr;
  WallTime last_time{};
  for (const std::string& name : expect.names) {
    auto placed = picture.first_placed.find(ns + "/" + name);
    if (placed == picture.first_placed.end()) return name + " has not been placed";
    if (last != nullptr && placed->second < last_time) return name + " was placed before " + *last;
    last = &name;
    last_time = placed->second;
  }
  return {};
}

// Every job has ended, is another's, or is held by what no time changes.
Wrong Over(const Picture& picture, const std::string&, const Expect&) {
  static const std::set<std::string> held = {"Impossible", "Unsupported", "AdmissionRefused", "Suspended"};
  for (const auto& [key, job] : picture.jobs) {
    if (job.finished() || !job.ours) continue;
    const api::Gang* gang = picture.GangOf(job);
    if (gang == nullptr) return "job " + key + " has neither a gang nor an end";
    const api::GangReason& reason = gang->status.reason;
    if (gang->status.phase == GangPhase::kQueued && held.contains(reason.code)) continue;
    return "the gang of " + key + " is " + std::string(api::PhaseText(gang->status.phase)) + ", " +
           reason.code + ": " + reason.message;
  }
  return {};
}

Wrong Empty(const Picture& picture, const std::string&, const Expect& expect) {
  for (const std::string& name : expect.names) {
    if (!picture.nodes.contains(name)) return "there is no node " + name;
    for (const auto& [key, pod] : picture.pods) {
      if (pod.pod.node_name == name && !pod.ended()) return "pod " + key + " is on " + name;
    }
  }
  return {};
}

Wrong Pod(const Picture& picture, const std::string& ns, const Expect& expect) {
  for (const std::string& name : expect.names) {
    auto found = picture.pods.find(ns + "/" + name);
    std::string is =
        found == picture.pods.end() ? "absent" : std::string(kube::PhaseText(found->second.pod.phase));
    if (is != "absent" && found->second.deleting() && expect.arguments[0] == "Terminating")
      is = "Terminating";
    if (Wrong wrong = WrongText("phase", is, expect.arguments[0])) return "pod " + name + " " + *wrong;
  }
  return {};
}

// The gang of pods that no job made: its phase, and what it says.
Wrong Group(const Picture& picture, const std::string& ns, const Expect& expect) {
  for (const std::string& name : expect.names) {
    auto found = picture.gangs.find(ns + "/" + api::GangName(jobs::PodSets().resource().kind, name));
    if (found == picture.gangs.end()) {
      if (expect.arguments[0] == "absent") continue;
      return "there is no gang of pods " + name;
    }
    const api::GangStatus& status = found->second.status;
    std::string is = std::string(api::PhaseText(status.phase)) + " " + status.reason.code;
    std::string wanted =
        expect.arguments[0] + " " + (expect.arguments.size() > 1 ? expect.arguments[1] : status.reason.code);
    Wrong wrong = WrongText("phase and reason", is, wanted);
    if (!wrong) wrong = CheckBecause(expect, "gang's reason", status.reason.message);
    if (wrong) return name + " " + *wrong + " (" + Quote(status.reason.message) + ")";
  }
  return {};
}

constexpr Expectation kExpectations[] = {
    {"running", true, 0, 0, EachJob<Running>},
    {"queued", true, 0, 0, EachJob<Queued>},
    {"succeeded", true, 0, 0, EachJob<Succeeded>},
    {"failed", true, 0, 0, EachJob<Failed>},
    {"unfinished", true, 0, 0, EachJob<Unfinished>},
    {"restarting", true, 0, 0, EachJob<Restarting>},
    {"suspended", true, 0, 0, EachJob<Suspended>},
    {"absent", true, 0, 0, Absent},
    {"phase", true, 1, 1, EachJob<Phase>},
    {"state", true, 1, 1, EachJob<State>},
    {"reason", true, 1, 1, EachJob<Reason>},
    {"condition", true, 2, 3, EachJob<Condition>},
    {"attempts", true, 1, 1, EachJob<Attempts>},
    {"restarts", true, 0, 0, EachJob<Restarts>},
    {"pods", true, 0, 1, EachJob<PodCounts>},
    {"on", true, 1, 1, EachJob<On>},
    {"nodes", true, 1, 1, EachJob<NodeCount>},
    {"services", true, 1, 1, EachJob<Services>},
    {"event", true, 1, 1, EachJob<Event>},
    {"order", true, 0, 0, Order},
    {"empty", true, 0, 0, Empty},
    {"pod", true, 1, 1, Pod},
    {"group", true, 1, 2, Group},
    {"over", false, 0, 0, Over},
    {"settled", false, 0, 0, nullptr},
    {"quiet", false, 1, 1, nullptr},
};

Outcome CheckOptions(const Expect& expect) {
  static const std::map<std::string, std::set<std::string>> known = {
      {"restarts", {"policy", "fault"}},
      {"pods", {"running", "total", "terminating", "succeeded", "failed", "unbound", "unschedulable"}}};
  auto allowed = known.find(expect.what);
  for (const auto& [key, value] : expect.options) {
    if (allowed == known.end() || !allowed->second.contains(key)) {
      return Error{"expect " + expect.what + ": does not know the option " + key + "="};
    }
    Result<int64_t> number = ParseCount(value, 0, 1'000'000);
    if (!number.ok()) return Error{key + ": " + number.error().message};
  }
  bool needs_some = expect.what == "restarts" || (expect.what == "pods" && expect.arguments.empty());
  if (needs_some && expect.options.empty()) return Error{"expect " + expect.what + ": must say how many"};
  return {};
}

}  // namespace

const Expectation* FindExpectation(const std::string& name) {
  for (const Expectation& known : kExpectations) {
    if (name == known.name) return &known;
  }
  return nullptr;
}

std::string ExpectationNames() {
  std::string names;
  for (const Expectation& known : kExpectations)
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

Outcome CheckExpect(const Expect& expect) {
  const Expectation* known = FindExpectation(expect.what);
  int count = static_cast<int>(expect.arguments.size());
  if (count < known->min_arguments || count > known->max_arguments) {
    return Error{
        "expect " + expect.what + ": must have " + std::to_string(known->min_arguments) +
        (known->max_arguments > known->min_arguments ? " to " + std::to_string(known->max_arguments) : "") +
        " words after the names, has " + std::to_string(count)};
  }
  if (expect.what == "quiet") {
    if (Result<Duration> lasts = ParseDuration(expect.arguments[0]); !lasts.ok())
      return Error{"expect quiet: " + lasts.error().message};
  }
  return CheckOptions(expect);
}

std::optional<std::string> Mismatch(const Picture& picture, const std::string& ns, const Expect& expect) {
  const Expectation* known = FindExpectation(expect.what);
  return known->check(picture, ns, expect);
}

}  // namespace lockstep::sim
