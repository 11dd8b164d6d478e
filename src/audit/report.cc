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

std::string GangLine(const GangReport& gang) {
  std::string line = "  " + FormatMicroTime(gang.first_assigned) + " " + gang.job;
  if (!gang.attempt.empty()) line += " attempt " + gang.attempt;
  line += ": " + std::to_string(gang.pods) + " of " + std::to_string(gang.size) + " pods";
  if (gang.submitted)
    line += ", assigned after " + Fixed(Seconds(gang.last_assigned - *gang.submitted)) + " s";
  if (gang.submitted && gang.all_running) {
    line += ", running after " + Fixed(Seconds(*gang.all_running - *gang.submitted)) + " s";
  }
  return line + (gang.whole ? "\n" : ", never whole\n");
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
  if (report.first) text += " over " + Fixed(Seconds(*report.last - *report.first), 1) + " s of writes";
  if (read.skipped > 0) text += "; " + std::to_string(read.skipped) + " lines skipped, " + read.first_error;
  text += "\nnodes        " + std::to_string(report.nodes);
  if (report.unknown_nodes > 0) {
    text += "; " + std::to_string(report.unknown_nodes) + " more of unknown capacity, not judged";
  }
  text += "\npods         " + std::to_string(report.creates) + " created for jobs";
  if (report.foreign_pods > 0) text += ", " + std::to_string(report.foreign_pods) + " others";
  text += "\ngangs        " + std::to_string(report.gangs.size()) + " placed, " +
          std::to_string(report.never_whole) + " of them never whole; parts held " +
          Fixed(report.gpu_seconds_waiting) + " GPU-seconds\n";
  StartTimes times = TimesOf(report);
  text += "assigned     " + Spread(times.assigned) + " after submit\n";
  text += "running      " + Spread(times.running) + " after submit\n";
  text += "writes       " + Fixed(WritesPerPod(report)) + " per pod by controllers; kubelets' " +
          std::to_string(report.writes.kubelet) + ", dry runs " + std::to_string(report.writes.dry_run) +
          ", refused " + std::to_string(report.writes.refused) + "\n";
  for (const auto& [what, count] : report.writes.others)
    text += "  " + what + " " + std::to_string(count) + "\n";
  if (gangs) {
    for (const GangReport& gang : report.gangs) text += GangLine(gang);
  }
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
                   {"skippedLines", read.skipped},
                   {"nodes", report.nodes},
                   {"unknownNodes", report.unknown_nodes},
                   {"pods", report.creates},
                   {"foreignPods", report.foreign_pods},
                   {"gangs", std::move(gangs)},
                   {"neverWhole", report.never_whole},
                   {"gpuSecondsWaiting", report.gpu_seconds_waiting},
                   {"writes",
                    {{"perPod", WritesPerPod(report)},
                     {"controllers", report.writes.controllers()},
                     {"kubelet", report.writes.kubelet},
                     {"dryRun", report.writes.dry_run},
                     {"refused", report.writes.refused},
                     {"byKind", report.writes.others}}},
                   {"violations", std::move(violations)}};
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
