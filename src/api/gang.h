#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/model/meta.h"
#include "kube/model/quantity.h"

namespace lockstep::api {

// The durable life of one gang, as recorded in Gang.status.phase (DESIGN: the gang commit).
//
//   Queued ─► Checking ─► Placing ──all pods exist──► Starting ──all run──► Running ──► Succeeded | Failed
//     ▲          │           │                           │                     │
//     │◄─refused─┴──undone───┘◄────── start timeout ─────┘ failed rank         │
//     │                                                    ▼                   ▼
//     └───────────── old pods gone, seats needed ────── Restarting ◄───────────┘
//
// Placing is written before the first pod exists, so a new leader can complete or undo it. Checking is a dry
// run in flight: it holds nothing, and losing it costs one more dry run.
enum class GangPhase { kQueued, kChecking, kPlacing, kStarting, kRunning, kRestarting, kSucceeded, kFailed };

std::string_view PhaseText(GangPhase phase);
std::optional<GangPhase> ParsePhase(std::string_view text);

// How the pods of a placement get to their nodes (DESIGN: four ways to a node).
enum class Way {
  kAssign,  // created with spec.nodeName
  kBind,    // created without a node and with our schedulerName, bound when the placement is on record
  kSteer,   // created with a required affinity to the node; a scheduler that they name binds them there
};

std::string_view WayText(Way way);
std::optional<Way> ParseWay(std::string_view text);  // in any case

struct GangRole {
  std::string name;  // "Master"
  int32_t count = 0;
  int32_t min_count = 0;

  friend bool operator==(const GangRole&, const GangRole&) = default;
};

struct JobRef {
  std::string api_version, kind, name, uid;

  friend bool operator==(const JobRef&, const JobRef&) = default;
};

// Pods `first` to `last` (inclusive) of one role, seated on one node.
struct RoleRange {
  std::string role;
  int32_t first = 0, last = 0;

  friend bool operator==(const RoleRange&, const RoleRange&) = default;
};

// Grouped by node and without UIDs. Written as in placement_text.h.
struct NodeSeats {
  std::string node;
  std::vector<RoleRange> pods;

  friend bool operator==(const NodeSeats&, const NodeSeats&) = default;
};

// Why a gang is not running, or that it is. `code` is a stable CamelCase word for programs, `message` one
// sentence for people.
struct GangReason {
  std::string code, message;

  friend bool operator==(const GangReason&, const GangReason&) = default;
};

// A node that this gang may not use until `until`: its kubelet refused one of the gang's pods.
struct BarredNode {
  std::string node;
  WallTime until;
  int32_t times = 1;  // refusals in a row; the bar grows with it
  std::string reason;

  friend bool operator==(const BarredNode&, const BarredNode&) = default;
};

struct GangSpec {
  JobRef job;
  WallTime queued_at;  // set once, microseconds: first-in first-out is exact
  std::vector<GangRole> roles;

  friend bool operator==(const GangSpec&, const GangSpec&) = default;
};

struct GangStatus {
  GangPhase phase = GangPhase::kQueued;
  int64_t attempt = 0;          // of the last placement that was written down; numbers never come back
  int64_t policy_restarts = 0;  // failed ranks
  int64_t fault_restarts = 0;   // node and GPU faults
  std::vector<NodeSeats> placement;
  Way way = Way::kAssign;  // of the placement
  std::optional<WallTime> phase_since;
  // When it began to wait again: after a restart or a suspension. Absent: since it was queued.
  std::optional<WallTime> waiting_since;
  int32_t priority = 0;                // of its pods, as admission set it; the highest of its roles
  std::optional<WallTime> not_before;  // back-off: not placed before this
  int64_t start_failures = 0;          // attempts in a row that never reached Running; drives the back-off
  std::vector<BarredNode> barred;
  kube::Resources needs;  // the whole gang's effective requests, as admission left them
  GangReason reason;

  friend bool operator==(const GangStatus&, const GangStatus&) = default;
};

struct Gang {
  kube::Meta meta;
  GangSpec spec;
  GangStatus status;
  // What of the stored status can't be read, or "". `status` is then that of a queued gang with the counters
  // that can.
  std::string unreadable;

  int32_t pods() const;  // of all roles
};

// Errors name the field of the spec. An absent status is a queued gang.
Result<Gang> ParseGang(const json::Doc& object);
// A whole new Gang for `spec`, owned by its job (controller, blockOwnerDeletion), named by GangName.
json::Doc NewGangDoc(const std::string& ns, const GangSpec& spec);
// The status as stored; empty members are null so that a merge patch removes them. A merge patch keeps the
// keys of a map that it does not name: with `previous`, what was needed then and is not now is null too.
json::Doc StatusDoc(const GangStatus& status, const std::vector<GangRole>& roles,
                    const GangStatus* previous = nullptr);

// "pytorchjob-<job>", shortened with a hash over 253 characters.
std::string GangName(std::string_view kind, std::string_view job_name);

}  // namespace lockstep::api
