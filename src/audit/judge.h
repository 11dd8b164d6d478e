#pragma once

#include <string>
#include <vector>

#include "audit/record.h"

namespace lockstep::audit {

struct Limits {
  // A part of a gang that holds its nodes longer than this, without the rest and without leaving, is stuck.
  Duration stuck_after = seconds(60);
  // More on a node than it offers is a violation when it lasts as long as this. Two schedulers that do not
  // know of each other's decisions make an excess for a moment.
  Duration excess_after = seconds(5);
};

enum class Rule {
  kDoubledCreate,  // two creates of one (job, attempt, role, index)
  kDoubledPod,     // two pods of one (job, role, index) alive at the same time
  kOverCommit,     // a pod was added to a node that was full without it, and the excess lasted
  kStuckPart,      // a part of a gang held nodes
};

std::string_view RuleText(Rule rule);

struct Violation {
  Rule rule;
  WallTime time;  // when it began
  std::string message;
};

// One attempt of one gang; of pods without an attempt label, all of the job.
struct GangReport {
  std::string job, attempt;  // "namespace/name"
  int64_t pods = 0;          // distinct (role, index) that got a node
  int64_t size = 0;          // that must start together
  bool whole = false;
  WallTime first_assigned, last_assigned;
  std::optional<WallTime> submitted, all_running;
  double gpu_seconds_waiting = 0;  // from each pod's assignment to its gang's last, or to its own end
};

struct Report {
  std::vector<Violation> violations;  // by time
  std::vector<GangReport> gangs;      // by first assignment
  int64_t pods = 0, creates = 0;      // of jobs; some were there before
  int64_t foreign_pods = 0;           // of no job
  int64_t nodes = 0, unknown_nodes = 0;
  double gpu_seconds_waiting = 0;
  int64_t never_whole = 0;
  int64_t short_excesses = 0;  // of a node, that did not last
  Duration longest_short_excess{};
  WriteCounts writes;
  std::optional<WallTime> first, last;
};

// What the record shows, each fact only where it leaves no other reading: intervals are taken at their
// shortest.
Report Judge(const Record& record, const Limits& limits);

}  // namespace lockstep::audit
