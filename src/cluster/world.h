#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/gang.h"
#include "base/time.h"
#include "cluster/action.h"
#include "cluster/admission.h"
#include "cluster/daemons.h"
#include "cluster/group_mark.h"
#include "cluster/nodes.h"
#include "cluster/quotas.h"
#include "cluster/shared_map.h"
#include "cluster/waiting.h"
#include "jobs/framework.h"
#include "kube/model/pod.h"

namespace lockstep::cluster {

// A pod, as far as decisions need it. Shared and never changed, so that copying a World copies pointers.
struct PodRecord {
  std::string ns, name, uid, owner_uid;
  uint64_t resource_version = 0;
  std::string node;       // "" while unassigned
  std::string nominated;  // the node on which another scheduler makes room for it, while it has none
  ClassId pod_class = 0;
  PodIdentityPtr who;  // shared with its like; null while it has no node, or holds nothing of it
  kube::PodPhase phase = kube::PodPhase::kPending;
  bool deleting = false;
  bool holds = true;                 // still counts against its node (kube::HoldsResources)
  bool ended = false;                // every container terminated or never started
  bool started = false;              // some container has run
  bool disrupted = false;            // told to go by somebody else: drained, preempted, its node removed
  bool permanent = false;            // of a DaemonSet or a static pod: it is there on an empty cluster too
  std::optional<int32_t> exit_code;  // of the framework's own container, once it has terminated
  int32_t container_restarts = 0;    // of all containers, in place
  std::string reason, message;       // of the pod's status
  std::string waiting;               // reason of a main container that waits: ImagePullBackOff, ...
  QuotaChargePtr charge;             // in the quotas of its namespace
  std::optional<WallTime> charged_until;     // while it is being deleted
  std::optional<std::string> unschedulable;  // as kube::Pod

  // Membership by labels. Without a role: of no gang, or of one whose labels somebody took away.
  std::string gang;  // key of the GangState
  std::string role;  // lower case, as in the label
  int32_t index = -1;
  int64_t attempt = 0;
  int64_t job_generation = 0;  // of the job it was made of; 0 where the pod does not say
  GroupMarkPtr group;          // of a gang without a job of ours; else null
};
using PodPtr = std::shared_ptr<const PodRecord>;

// The user's object: valid or not.
struct JobRecord {
  kube::Meta meta;
  uint64_t resource_version = 0;
  std::variant<jobs::Job, jobs::InvalidJob> body;

  const jobs::Job* job() const { return std::get_if<jobs::Job>(&body); }
  const json::Doc& status() const;
};

// What the dry run of one template showed.
struct TemplateCheck {
  // Losing this costs one dry run per template.
  bool in_flight = false;
  bool names_node = false;                // the one in flight, or the last
  std::optional<kube::Status> with_node;  // refused with a node: asked without one
  bool bind = false;                      // accepted only without a node
  std::optional<kube::PodNeed> need;      // as admission left the pod
  int32_t priority = 0;                   // the same
  kube::Labels labels;                    // the same
  QuotaChargePtr charge;                  // the same
  std::optional<kube::Status> refusal;
  // No room for one pod in a quota of its namespace: says nothing of the template.
  std::optional<kube::Status> quota_refusal;
  // Of the admission that was asked last, and of the one that the answer is of: when they differ from the
  // present one it is asked again (AdmissionVersions).
  uint64_t asked_of = 0, answer_of = 0;
  MonoTime asked_at{};
  std::string asker;       // the gang that asked last
  MonoTime valid_until{};  // asked again after this
  int32_t failures = 0;
};

// One pod's worth of a node that is taken.
struct Hold {
  std::string node;
  ClassId pod_class = 0;
  PodIdentityPtr who;
  bool leaving = false;  // being deleted
  friend auto operator<=>(const Hold&, const Hold&) = default;
};

struct RoleState {
  ClassId pod_class = 0;
  ClassId plain_class = 0;  // the same without claims, which only narrow where its pods may go
  kube::PodNeed need;
  int32_t priority = 0;   // spec.priority of its pods
  PodIdentityPtr who;     // what its pods are to other pods
  QuotaChargePtr charge;  // what each of its pods is charged for in quotas
  std::string check_key;  // of World::checks
  bool checked = false;   // `need` is what admission left, not only what the user wrote
};

// How far a gang is: attempts up to this one are over, and so many restarts were counted.
struct Counters {
  int64_t attempt = 0, policy = 0, fault = 0;
  friend bool operator==(const Counters&, const Counters&) = default;
};

// One job with its gang and everything known of both.
struct GangState {
  std::string key;  // "pytorchjobs/ns/name"; the order of keys is the order of ties
  const jobs::Framework* framework = nullptr;
  std::string ns, job_name;

  // Observed. Of a gang without a job of ours, `job` is derived from its pods and null while they can't
  // start.
  std::shared_ptr<const JobRecord> job;         // null: never seen or deleted
  std::shared_ptr<const api::Gang> gang;        // null: not created yet or deleted
  std::map<std::string, PodPtr> pods;           // by name; all attempts
  std::map<std::string, std::string> services;  // name to owner uid

  // Assumed: the status write in flight. Decisions read status(), which prefers it.
  std::optional<api::GangStatus> assumed;
  // Assumed while the Gang's create is in flight or tried again: its place in the queue counts from the first
  // try.
  std::optional<WallTime> assumed_queued_at;

  // Derived from the job and the checks.
  std::vector<RoleState> roles;
  // Derived: it has waited beyond the age limit and goes before all that have not.
  bool aged = false;
  // Derived, of a gang without a job of ours that runs: seats of pods it has lost are kept for those to come.
  bool keeps_seats = false;
  // Derived: what this gang's seats and pods hold, as told to Nodes.
  std::vector<Hold> held;
  // Derived: what it has seats for and has still to create, as told to Quotas.
  std::vector<QuotaAsk> promised;

  // Memory: lost with the process; what that costs stands beside each.
  std::set<std::string> created;    // pods of the current attempt that existed; a second create of a pod
                                    // that somebody deleted meanwhile
  std::set<std::string> bound;      // pods of it whose binding was acknowledged; a second binding, refused
  std::set<std::string> succeeded;  // "role/index" seen Succeeded in this attempt; a restart if such a
                                    // pod is then deleted
  int64_t disrupted_attempt = 0;    // of which a pod was disrupted; a restart that is counted
  std::set<std::string> doubtful;   // pods ("pods/ns/name") that were asked for, without an answer that says
                                    // what became of it; two pods of a rank while a watch is silent
  Counters counted;                 // what its job's annotation does not say yet, if the Gang is deleted
                                    // just then
  std::string counted_of;           // uid of that job
  std::map<std::string, MonoTime> retry_at;  // per touched key; an earlier retry
  std::map<std::string, int32_t> failures;   // per touched key, in a row
  std::string create_error;                  // the last refusal of a pod's or a service's create
  std::string create_refused;                // ... if it is permanent, by its reason's code: undo the attempt
  bool quota_refused = false;                // a create, for want of quota; a longer wait for its room
  std::string record_error;                  // why there is no Gang to write to: refused, or unreadable
  std::optional<MonoTime> last_progress;     // of any member while starting; a longer start timeout
  std::optional<MonoTime> status_written;    // of the job; an earlier write
  std::optional<MonoTime> reason_written;    // of the Gang's reason; an earlier write
  std::pair<uint64_t, uint64_t> told;        // versions of job and Gang that agree on why it waits; some work
  std::string event_reason;                  // last event recorded; one event twice
  bool gang_read = false;                    // Gang read fresh since a pod of a later attempt appeared
  bool unread = false;                       // a Gang write whose fate a read must still show

  const api::GangStatus& status() const;
  uint64_t gang_version() const;
  std::optional<WallTime> queued_at() const;
  int32_t priority() const;  // the highest of its roles
  // Since when it waits: since it was queued, or since it lost its seats.
  std::optional<WallTime> waiting_since() const;
  bool waiting() const;    // wants seats: has a place in the queue, no placement, and a live valid job
  bool has_seats() const;  // Placing, Starting or Running
};

// What an administrator may set.
struct Settings {
  // A gang that has waited this long goes before all younger ones and blocks them until it starts.
  Duration age_limit = minutes(30);
  // How pods get to their nodes where they leave the choice: kAssign or kBind.
  api::Way way = api::Way::kAssign;
};

// Everything the engine knows: a plain value. Copy it to ask "what if"; copies share what neither changes.
struct World {
  Settings settings;

  // Observed.
  Nodes nodes;
  SharedMap<std::string, PodPtr> pods;  // "ns/name"
  // What is counted on each node name, also on nodes that are not (or no longer) there: a node that comes
  // back finds its pods on it.
  struct Occupancy {
    ClassId pod_class = 0;
    Tenure tenure = Tenure::kPod;
    int32_t pods = 0;
    PodIdentityPtr who;
    bool leaving = false;
  };
  SharedMap<std::string, std::vector<Occupancy>> occupancy;
  Daemons daemons;
  // Kinds of jobs that this API server does not have (no CRD, perhaps for now): of their gangs nothing is
  // known, so nothing is started, judged or removed.
  std::set<const jobs::Framework*> missing_kinds;
  std::map<std::string, int64_t> pod_groups;  // "ns/name" to minMember, of scheduler-plugins' PodGroups
  SharedMap<std::string, GangState> gangs;    // by GangState::key
  Quotas quotas;
  AdmissionVersions admission;
  SharedSet<std::string> holding;  // the gangs with something in `held`
  // "services/ns/name" and "gangs/ns/name" to the key of the gang that counts the object.
  SharedMap<std::string, std::string> counted_by;
  // The gangs whose pods use a claim ("ns/name"); some may be gone.
  std::map<std::string, std::set<std::string>> claimants;

  // Assumed: keys of the actions in flight.
  std::map<std::string, ActionId> in_flight;
  std::map<ActionId, Action> actions;
  ActionId next_action = 1;

  // Memory.
  std::map<std::string, TemplateCheck> checks;  // by RoleState::check_key
  // What was left of the checks, of the classes of pods and of the claimants when they were swept last.
  size_t checks_kept = 0, classes_kept = 0, claims_kept = 0;
  std::set<std::string> dirty;
  SharedSet<std::pair<MonoTime, std::string>> wakes;  // gangs to look at again

  // The gangs that want seats, in queue order.
  Waiting waiting;
  // The gang that others wait for although they would fit, as of the last step: aged, or restarting. Or "".
  std::string goes_first;
  // Where the last step stopped explaining; the state of the cluster that the last whole pass over the queue,
  // and the one under way, began with.
  QueueKey explained_up_to;
  uint64_t explained_generation = 0, explaining_generation = 0;

  void Occupy(const std::string& node, ClassId pod_class, Tenure tenure = Tenure::kPod,
              const PodIdentityPtr& who = nullptr, bool leaving = false);
  void Release(const std::string& node, ClassId pod_class, Tenure tenure = Tenure::kPod,
               const PodIdentityPtr& who = nullptr, bool leaving = false);

  GangState& GangAt(const jobs::Framework& framework, const std::string& ns, const std::string& job_name);
  void Touch(const std::string& gang) { dirty.insert(gang); }
  // All gangs of a namespace, or of every one ("").
  void TouchAll(const std::string& ns);
  // Changes with all that a gang's chances hang on: nodes and what is on them, quotas.
  uint64_t Generation() const { return nodes.generation() + quotas.generation(); }
  void WakeAt(MonoTime when, const std::string& gang) { wakes.insert({when, gang}); }
  bool InFlight(const std::string& touches) const { return in_flight.contains(touches); }
};

// What one service of a gang is charged for.
const QuotaChargePtr& ServiceCharge();

// Takes one object into the World: parses it, moves counts and memberships, touches the gangs it concerns. An
// object older than the one already known is ignored (a watch can be behind the answers to our own writes).
void TakeIn(World& world, const Observed& observed);

// Brings `held` and `promised` of a gang up to date with its seats and pods.
void RefreshHeld(World& world, GangState& gang);
// Puts the gang into or out of the queue.
void RefreshQueue(World& world, GangState& gang);

// "pytorchjobs/ns/name"
std::string GangKey(const jobs::Framework& framework, std::string_view ns, std::string_view job_name);
uint64_t ParseVersion(std::string_view resource_version);

}  // namespace lockstep::cluster
