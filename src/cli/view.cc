#include "cli/view.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "jobs/framework.h"

namespace lockstep::cli {

namespace {

constexpr int kColours[] = {39, 208, 77, 170, 220, 45, 203, 141, 114, 180, 33, 199};
constexpr int kBarWidth = 16;

struct PodSum {
  int pods = 0, running = 0, unseated = 0, over = 0;
};

PodSum Sum(const std::vector<const sim::SeenPod*>& pods, const std::string& owner_uid) {
  PodSum sum;
  for (const sim::SeenPod* pod : pods) {
    if (!owner_uid.empty() && pod->owner_uid != owner_uid) continue;
    ++sum.pods;
    if (pod->running()) ++sum.running;
    if (pod->pod.terminal()) ++sum.over;
    if (pod->live() && pod->pod.node_name.empty()) ++sum.unseated;
  }
  return sum;
}

int WantedPods(const sim::SeenJob& job) {
  int wanted = 0;
  const json::Doc* roles = jobs::RoleSpecs(jobs::FrameworkOf(*job.resource)->kind(), *job.object);
  if (roles == nullptr) return 0;
  for (const json::Doc& role : *roles) wanted += static_cast<int>(json::GetInt(role, "replicas", 1));
  return wanted;
}

JobRow RowOf(const sim::Picture& picture, const sim::SeenJob& job) {
  JobRow row;
  row.name = job.meta.key();
  PodSum sum = Sum(picture.PodsOf(row.name), job.meta.uid);
  row.running = sum.running;
  row.pods = sum.pods;
  row.wanted = WantedPods(job);
  row.finished = job.finished();
  row.succeeded = job.is_true("Succeeded");
  const api::Gang* gang = picture.GangOf(job);
  row.phase = gang == nullptr ? job.state() : std::string(api::PhaseText(gang->status.phase));
  if (row.finished) row.phase = job.state();
  if (gang != nullptr && !row.finished && gang->status.phase != api::GangPhase::kRunning) {
    row.reason = gang->status.reason.message;
  } else if (job.is_true("Failed")) {
    row.reason = json::GetString(*job.condition("Failed"), "message");
  }
  if (row.finished) row.running = 0;
  return row;
}

// Pods that carry a job's name but belong to no job object: what a user of plain pods has.
JobRow RowOfPods(const std::string& name, const std::vector<const sim::SeenPod*>& pods) {
  JobRow row;
  row.name = name;
  PodSum sum = Sum(pods, "");
  row.running = sum.running;
  row.pods = row.wanted = sum.pods;
  row.finished = sum.over == sum.pods;
  row.succeeded = row.finished && std::all_of(pods.begin(), pods.end(), [](const sim::SeenPod* pod) {
                    return pod->pod.phase == kube::PodPhase::kSucceeded;
                  });
  row.stuck = sum.running > 0 && sum.unseated > 0;
  row.phase = row.finished               ? (row.succeeded ? "Succeeded" : "Failed")
              : sum.unseated == sum.pods ? "Pending"
                                         : "Running";
  if (row.stuck) {
    row.phase = "Stuck";
    row.reason = std::to_string(sum.running) + " pods hold their places and wait for " +
                 std::to_string(sum.unseated) + " that find none";
  }
  return row;
}

// What the map counts: the extended resource that most nodes have, or processors.
std::string UnitOf(const sim::Picture& picture) {
  std::map<std::string, int> nodes;
  for (const auto& [name, node] : picture.nodes) {
    for (const auto& [resource, amount] : node.allocatable) {
      if (resource.find('/') != std::string::npos && amount > 0) ++nodes[resource];
    }
  }
  std::string unit = "cpu";
  int most = 0;
  for (const auto& [resource, count] : nodes) {
    if (count > most) {
      unit = resource;
      most = count;
    }
  }
  return unit;
}

kube::Amount Of(const kube::Resources& resources, const std::string& name) {
  auto found = resources.find(name);
  return found == resources.end() ? 0 : found->second;
}

std::string Paint(const std::string& text, int colour, bool enabled) {
  if (!enabled || colour == 0) return text;
  int code = colour < 0 ? 245 : kColours[static_cast<size_t>(colour - 1) % std::size(kColours)];
  return "\x1b[38;5;" + std::to_string(code) + "m" + text + "\x1b[0m";
}

std::string Bold(const std::string& text, bool enabled) {
  return enabled ? "\x1b[1m" + text + "\x1b[0m" : text;
}

std::string Pad(std::string text, size_t width) {
  if (text.size() > width) return width < 2 ? text.substr(0, width) : text.substr(0, width - 1) + "~";
  text.resize(width, ' ');
  return text;
}

std::string Repeat(const char* text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string Bar(const JobRow& row, bool colour) {
  int wanted = std::max(row.wanted, 1), width = std::min(wanted, kBarWidth);
  std::string rest(static_cast<size_t>(kBarWidth - width), ' ');
  if (row.succeeded) return (colour ? "\x1b[2m" + Repeat("━", width) + "\x1b[0m" : Repeat("=", width)) + rest;
  int running = row.running * width / wanted;
  if (row.running > 0) running = std::max(running, 1);
  int there = std::min(width - running, std::max(0, (row.pods - row.running) * width / wanted));
  if (row.finished) there = 0;
  std::string bar =
      colour ? Paint(Repeat("█", running), row.colour, true) + Paint(Repeat("▒", there), row.colour, true)
             : Repeat("#", running) + Repeat("+", there);
  return bar + Repeat(colour ? "·" : ".", width - running - there) + rest;
}

// Text after a reason may hold any bytes of UTF-8; only printable ASCII is cut at a width safely, so others
// become ?.
std::string Plain(const std::string& text) {
  std::string plain;
  for (char c : text) plain += c >= ' ' && c < 0x7F ? c : '?';
  return plain;
}

std::string JobLine(const JobRow& row, const DrawOptions& options) {
  std::string phase = Pad(row.phase.empty() ? "-" : row.phase, 11);
  if (options.colour && row.stuck) phase = "\x1b[31m" + phase + "\x1b[0m";
  if (options.colour && row.succeeded) phase = "\x1b[32m" + phase + "\x1b[0m";
  std::string name = Pad(Plain(row.name), 20);
  std::string count =
      Pad(row.succeeded ? "done" : std::to_string(row.running) + "/" + std::to_string(row.wanted), 9);
  size_t left = options.width > 62 ? static_cast<size_t>(options.width - 62) : 0;
  return "  " + Paint(name, row.colour, options.colour) + " " + phase + " " + Bar(row, options.colour) + " " +
         count + " " + Pad(Plain(row.reason), left);
}

// Several nodes side by side: `node-0 ■■■■■■■■`.
std::vector<std::string> NodeLines(const View& view, const DrawOptions& options, size_t most) {
  size_t name_width = 6, units = 1;
  for (const NodeMap& node : view.nodes) {
    name_width = std::max(name_width, std::min<size_t>(node.name.size(), 20));
    units = std::max(units, node.units.size());
  }
  size_t cell = name_width + units + 3;
  size_t columns = std::max<size_t>(1, static_cast<size_t>(options.width - 2) / cell);
  std::vector<std::string> lines;
  for (size_t i = 0; i < view.nodes.size(); i += columns) {
    if (lines.size() + 1 == most && i + columns < view.nodes.size()) {
      lines.push_back("  and " + std::to_string(view.nodes.size() - i) + " more nodes");
      return lines;
    }
    std::string line = "  ";
    for (size_t j = i; j < std::min(i + columns, view.nodes.size()); ++j) {
      const NodeMap& node = view.nodes[j];
      line += Pad(Plain(node.name), name_width) + (node.usable ? " " : "!");
      for (int unit : node.units) {
        if (options.colour) {
          line += unit == 0 ? "·" : Paint("■", unit, true);
        } else {
          line += unit == 0 ? '.' : unit < 0 ? 'x' : static_cast<char>('A' + (unit - 1) % 26);
        }
      }
      line += std::string(units - node.units.size() + 2, ' ');
    }
    lines.push_back(line);
  }
  return lines;
}

// Which rows to show when not all find room: what runs first, then what waits, then what is over.
std::vector<const JobRow*> Shown(const View& view, size_t most) {
  std::vector<const JobRow*> rows;
  rows.reserve(view.jobs.size());
  for (const JobRow& row : view.jobs) rows.push_back(&row);
  if (rows.size() <= most) return rows;
  auto weight = [](const JobRow* row) {
    return row->finished ? 2 : row->running > 0 || row->pods > 0 ? 0 : 1;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const JobRow* a, const JobRow* b) { return weight(a) < weight(b); });
  rows.resize(most);
  return rows;
}

}  // namespace

size_t View::Count(bool (*test)(const JobRow&)) const {
  return static_cast<size_t>(std::count_if(jobs.begin(), jobs.end(), test));
}

int Viewer::ColourOf(const std::string& job) {
  return colours_.try_emplace(job, static_cast<int>(colours_.size()) + 1).first->second;
}

View Viewer::Look(const sim::Picture& picture) {
  View view;
  view.unit = UnitOf(picture);
  std::vector<std::pair<WallTime, JobRow>> rows;
  for (const auto& [key, job] : picture.jobs) {
    const api::Gang* gang = picture.GangOf(job);
    rows.emplace_back(gang != nullptr ? gang->spec.queued_at : WallTime::max(), RowOf(picture, job));
  }
  std::map<std::string, std::vector<const sim::SeenPod*>> plain;
  for (const auto& [key, pod] : picture.pods) {
    if (!pod.job.empty() && picture.FindJob(pod.job) == nullptr) plain[pod.job].push_back(&pod);
  }
  for (const auto& [job, pods] : plain) rows.emplace_back(WallTime::max(), RowOfPods(job, pods));
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [queued_at, row] : rows) {
    row.colour = ColourOf(row.name);
    view.jobs.push_back(std::move(row));
  }
  std::map<std::string, size_t> index;
  for (const auto& [name, node] : picture.nodes) {
    index[name] = view.nodes.size();
    int64_t units = std::min<int64_t>(Of(node.allocatable, view.unit) / 1000, 64);
    NodeMap map{name, {}, node.ready() && !node.unschedulable};
    map.units.resize(static_cast<size_t>(std::max<int64_t>(units, 0)), 0);
    view.nodes.push_back(std::move(map));
  }
  for (const auto& [key, pod] : picture.pods) {
    auto found = index.find(pod.pod.node_name);
    if (found == index.end() || !kube::HoldsResources(pod.pod)) continue;
    int64_t units = (Of(pod.pod.need.requests, view.unit) + 999) / 1000;
    for (int& unit : view.nodes[found->second].units) {
      if (units == 0) break;
      if (unit != 0) continue;
      unit = pod.job.empty() ? -1 : ColourOf(pod.job);
      --units;
    }
  }
  // A namespace that all share is noise.
  std::string shared = view.jobs.empty() ? "" : view.jobs[0].name.substr(0, view.jobs[0].name.find('/') + 1);
  bool all = std::all_of(view.jobs.begin(), view.jobs.end(),
                         [&](const JobRow& row) { return row.name.rfind(shared, 0) == 0; });
  if (all) {
    for (JobRow& row : view.jobs) row.name = row.name.substr(shared.size());
  }
  return view;
}

std::vector<std::string> Draw(const View& view, const DrawOptions& options) {
  std::vector<std::string> lines;
  size_t running =
      view.Count([](const JobRow& row) { return !row.finished && !row.stuck && row.running > 0; });
  size_t over = view.Count([](const JobRow& row) { return row.finished; });
  size_t stuck = view.Count([](const JobRow& row) { return row.stuck; });
  std::string counts = std::to_string(running) + " running, " +
                       std::to_string(view.jobs.size() - running - over - stuck) + " waiting, " +
                       std::to_string(over) + " done";
  if (stuck > 0) counts += ", " + std::to_string(stuck) + " stuck";
  lines.push_back(Bold(view.title, options.colour) + "   " + counts);
  lines.push_back("");
  size_t height = static_cast<size_t>(std::max(options.height, 12));
  size_t node_lines = std::min<size_t>(height / 3, 1 + view.nodes.size());
  size_t log_lines = std::min<size_t>(view.log.size(), 6);
  size_t job_lines = height - node_lines - log_lines - 7;
  std::vector<const JobRow*> rows = Shown(view, job_lines);
  for (const JobRow* row : rows) lines.push_back(JobLine(*row, options));
  if (rows.size() < view.jobs.size()) {
    lines.push_back("  and " + std::to_string(view.jobs.size() - rows.size()) + " more jobs");
  }
  lines.push_back("");
  lines.push_back("  " + view.unit + " of " + std::to_string(view.nodes.size()) + " nodes");
  for (std::string& line : NodeLines(view, options, node_lines)) lines.push_back(std::move(line));
  if (log_lines > 0) lines.push_back("");
  for (size_t i = view.log.size() - log_lines; i < view.log.size(); ++i) {
    lines.push_back("  " + Pad(Plain(view.log[i]), static_cast<size_t>(std::max(options.width - 3, 20))));
  }
  return lines;
}

Screen::Screen() : terminal_(isatty(STDOUT_FILENO) != 0) {
  if (terminal_) std::fputs("\x1b[?25l\x1b[2J", stdout);
}

Screen::~Screen() {
  if (terminal_) std::fputs("\x1b[?25h", stdout);
  std::fflush(stdout);
}

void Screen::Show(const View& view) {
  if (!terminal_) {
    DrawOptions plain{120, 40, false};
    for (const JobRow& row : view.jobs) {
      std::string line = JobLine(row, plain);
      while (!line.empty() && line.back() == ' ') line.pop_back();
      std::string& last = printed_[row.name];
      if (last != line) std::printf("%-10s%s\n", view.title.c_str(), line.c_str());
      last = line;
    }
    std::fflush(stdout);
    return;
  }
  DrawOptions options;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = size.ws_col;
    options.height = size.ws_row - 1;
  }
  options.colour = std::getenv("NO_COLOR") == nullptr;
  std::string frame = "\x1b[H";
  for (const std::string& line : Draw(view, options)) frame += line + "\x1b[K\n";
  std::fputs((frame + "\x1b[J").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace lockstep::cli
