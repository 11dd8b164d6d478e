#include "audit/report.h"

#include <algorithm>
#include <cstdio>

namespace lockstep::audit {

namespace {

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string Fixed(double value, int digits = 2) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// The value below which `share` of the values lie; nearest rank.
std::optional<double> Percentile(std::vector<double> values, double share) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

struct StartTimes {
  std::vector<double> assigned, running;  // seconds from submit
};

StartTimes TimesOf(const Report& report) {
  StartTimes times;
  for (const GangReport& gang : report.gangs) {
    if (!gang.submitted || !gang.whole) continue;
    times.assigned.push_back(Seconds(gang.last_assigned - *gang.submitted));
    if (gang.all_running) times.running.push_back(Seconds(*gang.all_running - *gang.submitted));
  }
  return times;
}

std::string Spread(const std::vector<double>& values) {
  if (values.empty()) return "none seen";
  return "P50 " + Fixed(*Percentile(values, 0.5)) + " s, P99 " + Fixed(*Percentile(values, 0.99)) +
         " s, most " + Fixed(*std::ranges::max_element(values)) + " s";
}

double WritesPerPod(const Report& report) {
  return report.creates == 0
             ? 0
             : static_cast<double>(report.writes.controllers()) / static_cast<double>(report.creates);
}

constexpr size_t kShownParts = 20;

// Columns as wide as their widest cell, two spaces apart.
std::string Table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      line += " " + row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 1, ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::string Since(const std::optional<WallTime>& begin, const std::optional<WallTime>& end) {
  return begin && end ? Fixed(Seconds(*end - *begin)) + " s" : "-";
}

std::string GangTable(const std::vector<GangReport>& gangs, bool all) {
  std::vector<std::vector<std::string>> rows = {
      {"GANG", "ATTEMPT", "PODS", "WHOLE", "ASSIGNED AFTER", "RUNNING AFTER", "GPU-SECONDS HELD IN PART"}};
  size_t left_out = 0;
  for (const GangReport& gang : gangs) {
    if (!all && gang.whole) continue;
    if (!all && rows.size() > kShownParts) {
      ++left_out;
      continue;
    }
    rows.push_back({gang.job, gang.attempt.empty() ? "-" : gang.attempt,
                    std::to_string(gang.pods) + " of " + std::to_string(gang.size),
                    gang.whole ? "yes" : "never",
                    gang.whole ? Since(gang.submitted, gang.last_assigned) : "-",
                    Since(gang.submitted, gang.all_running), Fixed(gang.gpu_seconds_waiting)});
  }
  if (rows.size() == 1) return "";
  return Table(rows) + (left_out > 0 ? "  and " + std::to_string(left_out) + " more\n" : "");
}

std::string WritesText(const Report& report, const ReadCounts& read) {
  std::string text = "writes       " + Fixed(WritesPerPod(report)) + " per pod by controllers; kubelets' " +
                     std::to_string(report.writes.kubelet);
  if (read.watched) {
    text += "; dry runs and refused ones are not seen by a watch\n";
  } else {
    text += ", dry runs " + std::to_string(report.writes.dry_run) + ", refused " +
            std::to_string(report.writes.refused) + "\n";
  }
  for (const auto& [what, count] : report.writes.others)
    text += "  " + what + " " + std::to_string(count) + "\n";
  return text;
}

json::Doc GangDoc(const GangReport& gang) {
  json::Doc doc = {{"job", gang.job},
                   {"attempt", gang.attempt},
                   {"pods", gang.pods},
                   {"size", gang.size},
                   {"whole", gang.whole},
                   {"firstAssigned", FormatMicroTime(gang.first_assigned)},
                   {"lastAssigned", FormatMicroTime(gang.last_assigned)},
                   {"gpuSecondsWaiting", gang.gpu_seconds_waiting}};
  if (gang.submitted) {
    doc["submitted"] = FormatMicroTime(*gang.submitted);
    doc["secondsToAssigned"] = Seconds(gang.last_assigned - *gang.submitted);
    if (gang.all_running) doc["secondsToRunning"] = Seconds(*gang.all_running - *gang.submitted);
  }
  return doc;
}

}  // namespace

std::string ReportText(const Report& report, const ReadCounts& read, bool gangs) {
  std::string text = "events       " + std::to_string(read.events);
  if (report.first) {
    text += " over " + Fixed(Seconds(*report.last - *report.first), 1) + " s" +
            (read.watched ? " of watching" : " of writes");
  }
  if (read.skipped > 0) text += "; " + std::to_string(read.skipped) + " lines skipped, " + read.first_error;
  for (const std::string& kind : read.not_seen) text += "\nnot seen     " + kind;
  text += "\nnodes        " + std::to_string(report.nodes);
  if (report.unknown_nodes > 0) {
    text += "; " + std::to_string(report.unknown_nodes) + " more of unknown capacity, not judged";
  }
  text += "\npods         " + std::to_string(report.creates) + " created for jobs";
  if (report.pods > report.creates)
    text += ", " + std::to_string(report.pods - report.creates) + " were there before";
  if (report.foreign_pods > 0) text += ", " + std::to_string(report.foreign_pods) + " others";
  text += "\ngangs        " + std::to_string(report.gangs.size()) + " placed, " +
          std::to_string(report.never_whole) + " of them never whole; parts held " +
          Fixed(report.gpu_seconds_waiting) + " GPU-seconds\n";
  if (report.short_excesses > 0) {
    text += "excesses     " + std::to_string(report.short_excesses) + " for a moment, the longest " +
            Fixed(Seconds(report.longest_short_excess)) + " s\n";
  }
  StartTimes times = TimesOf(report);
  text += "assigned     " + Spread(times.assigned) + " after submit\n";
  text += "running      " + Spread(times.running) + " after submit\n";
  text += WritesText(report, read) + GangTable(report.gangs, gangs);
  text += "violations   " + std::to_string(report.violations.size()) + "\n";
  for (const Violation& violation : report.violations) {
    text += "  " + FormatMicroTime(violation.time) + " " + std::string(RuleText(violation.rule)) + " " +
            violation.message + "\n";
  }
  return text;
}

json::Doc ReportDoc(const Report& report, const ReadCounts& read) {
  json::Doc violations = json::Doc::array(), gangs = json::Doc::array();
  for (const Violation& violation : report.violations) {
    violations.push_back({{"rule", RuleText(violation.rule)},
                          {"time", FormatMicroTime(violation.time)},
                          {"message", violation.message}});
  }
  for (const GangReport& gang : report.gangs) gangs.push_back(GangDoc(gang));
  json::Doc doc = {{"events", read.events},
                   {"source", read.watched ? "watch" : "log"},
                   {"skippedLines", read.skipped},
                   {"notSeen", read.not_seen},
                   {"nodes", report.nodes},
                   {"unknownNodes", report.unknown_nodes},
                   {"pods", report.creates},
                   {"foreignPods", report.foreign_pods},
                   {"gangs", std::move(gangs)},
                   {"neverWhole", report.never_whole},
                   {"gpuSecondsWaiting", report.gpu_seconds_waiting},
                   {"shortExcesses", report.short_excesses},
                   {"longestShortExcessSeconds", Seconds(report.longest_short_excess)},
                   {"writes",
                    {{"perPod", WritesPerPod(report)},
                     {"controllers", report.writes.controllers()},
                     {"kubelet", report.writes.kubelet},
                     {"byKind", report.writes.others}}},
                   {"violations", std::move(violations)}};
  if (!read.watched) {
    doc["writes"]["dryRun"] = report.writes.dry_run;
    doc["writes"]["refused"] = report.writes.refused;
  }
  StartTimes times = TimesOf(report);
  for (auto [key, values] :
       {std::pair("secondsToAssigned", &times.assigned), std::pair("secondsToRunning", &times.running)}) {
    if (values->empty()) continue;
    doc[key] = {{"p50", *Percentile(*values, 0.5)},
                {"p99", *Percentile(*values, 0.99)},
                {"max", *std::ranges::max_element(*values)}};
  }
  return doc;
}

}  // namespace lockstep::audit
