#include "audit/judge.h"

#include <algorithm>
#include <tuple>

#include "audit/overcommit.h"

namespace lockstep::audit {

namespace {

using Pods = std::vector<const PodRecord*>;

std::string Rank(const PodRecord& pod) {
  return pod.job_name + ": " + (pod.role.empty() ? "pod" : pod.role) + " " + pod.index;
}

// Two successful creates of one rank in one attempt. Without an attempt label nothing says that a second
// create is not a new attempt. A pod that never had a node could start nothing: it may be made anew.
void FindDoubledCreates(const Record& record, std::vector<Violation>& violations) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, Pods> ranks;
  for (const PodRecord& pod : record.pods()) {
    if (pod.job.empty() || pod.attempt.empty() || pod.index.empty() || !pod.create_sent || pod.node.empty())
      continue;
    ranks[{pod.job, pod.attempt, pod.role, pod.index}].push_back(&pod);
  }
  for (const auto& [rank, pods] : ranks) {
    for (size_t i = 1; i < pods.size(); ++i) {
      violations.push_back({Rule::kDoubledCreate, *pods[i]->created,
                            Rank(*pods[i]) + " created again in attempt " + pods[i]->attempt + ": " +
                                pods[0]->name + ", then " + pods[i]->name});
    }
  }
}

void FindDoubledPods(const Record& record, std::vector<Violation>& violations) {
  std::map<std::tuple<std::string, std::string, std::string>, Pods> ranks;
  for (const PodRecord& pod : record.pods()) {
    if (!pod.job.empty() && !pod.index.empty() && pod.created) {
      ranks[{pod.job, pod.role, pod.index}].push_back(&pod);
    }
  }
  for (auto& [rank, pods] : ranks) {
    std::ranges::sort(pods, {}, [](const PodRecord* pod) { return *pod->created; });
    const PodRecord* longest = pods[0];
    for (size_t i = 1; i < pods.size(); ++i) {
      const PodRecord* next = pods[i];
      bool alive = !longest->ended || *longest->ended > *next->created;
      bool next_lived = !next->ended || *next->ended > *next->created;
      if (alive && next_lived) {
        violations.push_back({Rule::kDoubledPod, *next->created,
                              Rank(*next) + " lives twice: " + longest->name + " and " + next->name});
      }
      if (longest->ended && (!next->ended || *next->ended > *longest->ended)) longest = next;
    }
  }
}

double GpusOf(const PodRecord& pod) {
  double gpus = 0;
  for (const auto& [name, amount] : pod.requests) {
    if (name.ends_with("/gpu")) gpus += static_cast<double>(amount) / 1000;
  }
  return gpus;
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

int64_t SizeOf(const Record& record, const PodRecord& pod, size_t ranks_seen) {
  auto job = record.jobs().find(pod.job);
  if (job != record.jobs().end() && job->second.min_size) return *job->second.min_size;
  if (job != record.jobs().end() && job->second.size) return *job->second.size;
  return static_cast<int64_t>(ranks_seen);
}

// When a part of a gang stopped to hold its nodes: all of it gone or told to go; `end` if it never did.
WallTime HeldUntil(const Pods& pods, WallTime end) {
  WallTime until{};
  for (const PodRecord* pod : pods) {
    if (!pod->assigned) continue;
    WallTime left = pod->ended.value_or(end);
    if (pod->leaving) left = std::min(left, *pod->leaving);
    until = std::max(until, left);
  }
  return until;
}

// Whether the gang may have been whole before the record began: some of its pods have ended or its job says
// so. What was gone by then can't be counted any more.
bool StartedBefore(const Record& record, const Pods& pods) {
  if (std::ranges::none_of(pods, &PodRecord::from_before)) return false;
  auto job = record.jobs().find(pods[0]->job);
  return (job != record.jobs().end() && job->second.started_before) ||
         std::ranges::any_of(pods, [](const PodRecord* pod) { return pod->from_before && pod->ended; });
}

// Where nobody wrote a job, its first pod says when it was there.
std::optional<WallTime> Submitted(const Record& record, const Pods& pods) {
  auto job = record.jobs().find(pods[0]->job);
  if (job != record.jobs().end() && job->second.submitted) return job->second.submitted;
  if (!pods[0]->attempt.empty()) return std::nullopt;  // submitted before the record began
  std::optional<WallTime> first;
  for (const PodRecord* pod : pods) {
    if (pod->create_sent) first = first ? std::min(*first, *pod->create_sent) : *pod->create_sent;
  }
  return first;
}

// `pods` are those of one attempt; those that never got a node count for the size of a gang of plain pods.
std::optional<GangReport> ReportGang(const Record& record, const Pods& pods) {
  std::set<std::pair<std::string, std::string>> ranks, assigned;
  GangReport gang{.job = pods[0]->job_name, .attempt = pods[0]->attempt};
  for (const PodRecord* pod : pods) {
    std::pair rank(pod->role, pod->index.empty() ? pod->name : pod->index);
    ranks.insert(rank);
    if (!pod->assigned) continue;
    if (assigned.empty() || *pod->assigned < gang.first_assigned) gang.first_assigned = *pod->assigned;
    assigned.insert(rank);
    gang.last_assigned = std::max(gang.last_assigned, *pod->assigned);
  }
  if (assigned.empty()) return std::nullopt;
  gang.pods = static_cast<int64_t>(assigned.size());
  gang.size = SizeOf(record, *pods[0], ranks.size());
  gang.whole = gang.pods >= gang.size || StartedBefore(record, pods);
  gang.submitted = Submitted(record, pods);
  int64_t running = 0;
  for (const PodRecord* pod : pods) running += pod->running ? 1 : 0;
  if (gang.whole && running >= gang.size) {
    for (const PodRecord* pod : pods) {
      if (pod->running) gang.all_running = std::max(gang.all_running.value_or(*pod->running), *pod->running);
    }
  }
  WallTime waited_until = gang.whole ? gang.last_assigned : record.last().value_or(gang.last_assigned);
  for (const PodRecord* pod : pods) {
    if (!pod->assigned) continue;
    WallTime until = pod->ended ? std::min(*pod->ended, waited_until) : waited_until;
    if (until > *pod->assigned) gang.gpu_seconds_waiting += GpusOf(*pod) * Seconds(until - *pod->assigned);
  }
  return gang;
}

// A part that waits too long, be it for ever or until the rest comes.
void FindStuckPart(const GangReport& gang, const Pods& pods, WallTime end, const Limits& limits,
                   std::vector<Violation>& violations) {
  WallTime until = gang.whole ? gang.last_assigned : HeldUntil(pods, end);
  if (until - gang.first_assigned <= limits.stuck_after) return;
  violations.push_back({Rule::kStuckPart, gang.first_assigned,
                        gang.job + (gang.attempt.empty() ? "" : " attempt " + gang.attempt) + ": " +
                            (gang.whole ? "its first pod waited "
                                        : std::to_string(gang.pods) + " of " + std::to_string(gang.size) +
                                              " pods held nodes for ") +
                            FormatDuration(std::chrono::duration_cast<seconds>(until - gang.first_assigned)) +
                            (gang.whole ? " for its last" : " without the rest")});
}

void ReportGangs(const Record& record, const Limits& limits, Report& report) {
  std::map<std::pair<std::string, std::string>, Pods> attempts;
  for (const PodRecord& pod : record.pods()) {
    if (pod.job.empty()) {
      ++report.foreign_pods;
      continue;
    }
    ++report.pods;
    if (pod.create_sent && !pod.from_before) ++report.creates;
    attempts[{pod.job, pod.attempt}].push_back(&pod);
  }
  for (const auto& [key, pods] : attempts) {
    std::optional<GangReport> gang = ReportGang(record, pods);
    if (!gang) continue;
    FindStuckPart(*gang, pods, record.last().value_or(gang->last_assigned), limits, report.violations);
    report.gpu_seconds_waiting += gang->gpu_seconds_waiting;
    if (!gang->whole) ++report.never_whole;
    report.gangs.push_back(std::move(*gang));
  }
  std::ranges::stable_sort(report.gangs, {}, &GangReport::first_assigned);
}

void CountNodes(const Record& record, Report& report) {
  std::set<std::string> unknown;
  for (const PodRecord& pod : record.pods()) {
    auto node = record.nodes().find(pod.node);
    if (!pod.node.empty() && (node == record.nodes().end() || node->second.changes.empty()))
      unknown.insert(pod.node);
  }
  for (const auto& [name, node] : record.nodes()) report.nodes += node.changes.empty() ? 0 : 1;
  report.unknown_nodes = static_cast<int64_t>(unknown.size());
}

}  // namespace

std::string_view RuleText(Rule rule) {
  switch (rule) {
    case Rule::kDoubledCreate:
      return "DoubledCreate";
    case Rule::kDoubledPod:
      return "DoubledPod";
    case Rule::kOverCommit:
      return "OverCommit";
    case Rule::kStuckPart:
      return "StuckPart";
  }
  return "";
}

Report Judge(const Record& record, const Limits& limits) {
  Report report;
  FindDoubledCreates(record, report.violations);
  FindDoubledPods(record, report.violations);
  Excess excess = FindOverCommit(record, limits.excess_after);
  report.short_excesses = excess.short_ones;
  report.longest_short_excess = excess.longest_short;
  std::ranges::move(excess.violations, std::back_inserter(report.violations));
  ReportGangs(record, limits, report);
  std::ranges::stable_sort(report.violations, {}, &Violation::time);
  CountNodes(record, report);
  report.writes = record.writes();
  report.first = record.first();
  report.last = record.last();
  return report;
}

}  // namespace lockstep::audit
