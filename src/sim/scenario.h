#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/gang.h"
#include "base/result.h"
#include "base/time.h"
#include "json/doc.h"
#include "kube/model/meta.h"
#include "kube/model/quantity.h"
#include "kube/model/taint.h"

namespace lockstep::sim {

// A scenario is a story in a text file, one statement a line; the grammar is tests/scenarios/README.md. Times
// are since its begin; a ground may run faster than the file says (see ground.h).

// `cluster nodes=8 gpu=1`, `add node node-9 gpu=8`
struct AddNodes {
  std::vector<std::string> names;
  kube::Resources capacity;  // holds "pods"
  kube::Labels labels;
  std::vector<kube::Taint> taints;
};

// `submit pytorchjob a,b workers=8 gpu=1 runtime=60s`, `submit tfjob …`. The object lacks only its name.
struct Submit {
  std::vector<std::string> names;
  json::Doc manifest;
  bool rendezvous = false;  // run time counts from when all pods of the job run
};

// `submit manifest jobs/mnist.yaml`: a path beside the scenario's file.
struct SubmitManifest {
  std::string path;
};

// `pod foreign gpu=1 node=node-2`: a pod that nobody of ours owns. `manifest` lacks its name.
struct ForeignPod {
  std::vector<std::string> names;
  json::Doc manifest;
};

// `expect queued b because "..."`; what may be expected: expectations.h.
struct Expect {
  std::string what;
  std::vector<std::string> names;  // of jobs, mostly
  std::vector<std::string> arguments;
  std::map<std::string, std::string> options;
  std::optional<std::string> because;
};

// `crash operator|leader`, `stop leader` (SIGTERM), `start operator`, `operators 2` (with leader election).
// `crash operator|leader after=3 lost=yes`: when three more writes of operators have been answered, before
// they hear of the last; what else was under way is lost (or else arrives); a new operator starts a second
// later.
struct ChangeOperators {
  enum class What { kCrashAll, kCrashLeader, kStopLeader, kStart, kReplicas };
  What what = What::kStart;
  int replicas = 1;
  std::optional<int64_t> after;
  bool lost = false;
};

// `network seed=7 latency=1ms jitter=20ms`: between operators and API server, in virtual time. Each request
// and each answer draws its own jitter, so they overtake each other.
struct ShapeNetwork {
  std::optional<uint64_t> seed;
  std::optional<Duration> latency, jitter;
};

// `operator assign=bind`: the flags of all operators, from the start.
struct Configure {
  api::Way way = api::Way::kAssign;
};

// `scheduler default-scheduler refuses=node-0`: one that binds the pods that name it (scheduler.h).
struct AddScheduler {
  std::string name;
  std::string refuses;  // a node that it never takes, for reasons of its own
};

// `delete job a`, `delete pod a-worker-3 [grace=0]`, `delete gang a`, `delete node node-3`, `delete service
// x`
struct Delete {
  std::string kind;
  std::vector<std::string> names;
  std::optional<int64_t> grace_seconds;
  std::string disruption;  // of a pod: the reason that its condition DisruptionTarget gives first
};

// `cordon node-1`, `taint node-1 k=v:NoSchedule`, `untaint node-1 k`, `label node-1 k=v`, `set node-1 gpu=3`
struct ChangeNode {
  std::vector<std::string> names;
  std::optional<bool> unschedulable;
  std::vector<kube::Taint> add_taints;
  std::vector<std::string> remove_taints;  // by key
  kube::Labels labels;
  kube::Resources capacity;
};

// `suspend a`, `resume a`, `hand a managed-by=x`, `scale a workers=4`
struct ChangeJob {
  std::vector<std::string> names;
  json::Doc patch;                 // a merge patch that fits every kind
  std::optional<int64_t> workers;  // where they stand depends on the kind
};

// `rank a-worker-3 attempt=1 runtime=5s exit=1`: what one rank of one attempt does (0: of every attempt).
struct Rank {
  std::string pod;  // `<job>-<role>-<index>`
  int64_t attempt = 0;
  kube::Labels programme;
};

// `fault create pods fails 500 for 2s`: what goes wrong between the operator and the API server (network.h).
struct Fault {
  enum class Effect {
    kFails,    // answered with `code`, not applied
    kLost,     // never arrives; no answer
    kDropped,  // applied, the answer is lost
    kLate,     // no answer; applied `delay` later
    kSlow,     // applied and answered `delay` later
    kStalls,   // watch: events wait until the fault ends
    kBreaks,   // watch: the connection ends, once
    kExpires,  // watch: ends with 410, once
    kRefused,  // watch: not accepted
  };
  std::string verb;      // "create", "write", "all", "watch", ...; "check" is a dry run
  std::string resource;  // plural, or "all"
  Effect effect = Effect::kFails;
  int code = 0;
  std::string message;
  Duration delay{};
  std::optional<Duration> lasts;  // until `fault clear` if not given
  std::optional<int64_t> count;   // of requests it hits
  std::string name;               // only objects whose name contains this
};

struct ClearFaults {};

// `compact`: the server forgets its history; every watch is too old.
struct Compact {};

// `kubelet freeze|thaw|crash|boot|restart node-1`
struct Kubelet {
  enum class What { kFreeze, kThaw, kCrash, kBoot, kRestart };
  What what = What::kFreeze;
  std::vector<std::string> names;
};

// `quota team gpu=8 pods=20`: made, or given other limits.
struct SetQuota {
  std::string name;
  json::Doc spec;
};

// `inject cpu=1 memory=1Gi`: from now on admission gives every new pod a sidecar that asks for this.
struct Inject {
  kube::Resources sidecar;
};

// `wait 5s`
struct Wait {
  Duration duration{};
};

using Deed = std::variant<AddNodes, Submit, SubmitManifest, ForeignPod, Expect, ChangeOperators, Configure,
                          AddScheduler, Delete, ChangeNode, ChangeJob, Rank, Fault, ClearFaults, Compact,
                          Kubelet, SetQuota, Inject, Wait, ShapeNetwork>;

struct Statement {
  enum class When {
    kThen,  // right after the statement before
    kAt,    // not before `time`
    kBy,    // an expectation: as soon as it holds, and no later than `time`
  };
  int line = 0;
  bool may_fail = false;  // `try`: what can't be done is left out
  std::string text;       // as written, without time and comment
  When when = When::kThen;
  Duration time{};
  Deed deed;
};

struct Scenario {
  std::string name;  // of the file, without folder and ending
  std::string path;
  std::string story;                        // the comment at its top
  std::optional<std::string> virtual_only;  // why it can't run on a real API server
  std::vector<Statement> statements;

  Duration length() const;  // the largest time in it
};

// Errors name file, line and what would be right: "seed.scenario:3: expect: ...".
Result<Scenario> ParseScenario(std::string_view text, const std::string& path);
Result<Scenario> LoadScenario(const std::string& path);

}  // namespace lockstep::sim
