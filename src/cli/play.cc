// `lockstep play FILE`: a scenario in the terminal, in virtual time or on a real API server.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <deque>
#include <thread>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/view.h"
#include "sim/kube_ground.h"
#include "sim/runner.h"
#include "sim/simulated_ground.h"

namespace lockstep::cli {

namespace {

constexpr int kFramesPerSecond = 20;

struct Flags {
  std::string file, kubeconfig;
  double real_seconds = 8, scale = 20;
  uint64_t seed = 1;
  bool no_pace = false, kube = false;
};

std::string LogText(const sim::LogEntry& entry) {
  std::string time = FormatDuration(std::chrono::duration_cast<milliseconds>(entry.time));
  return std::string(time.size() < 9 ? 9 - time.size() : 0, ' ') + time + "  " + entry.text;
}

void PrintEntry(const sim::LogEntry& entry) {
  if (entry.story) std::printf("%s\n", LogText(entry).c_str());
}

int Report(const sim::Scenario& scenario, const Outcome& error) {
  if (error) {
    std::printf("FAILED %s\n", error->message.c_str());
    return 1;
  }
  std::printf("%s: all %zu statements hold, and what must always hold did\n", scenario.name.c_str(),
              scenario.statements.size());
  return 0;
}

Outcome Play(sim::Ground& ground, const sim::Scenario& scenario, const sim::Runner::OnLog& on_log,
             const std::function<void(sim::Runner&)>& begun = {}) {
  if (Outcome error = ground.Prepare()) return error;
  Outcome outcome;
  {
    sim::Runner runner(ground, scenario, on_log);
    if (begun) begun(runner);
    outcome = runner.Run();
  }
  ground.CleanUp();
  return outcome;
}

// Shows the cluster as it changes; the whole file takes `real_seconds`.
Outcome PlayPaced(const Flags& flags, const sim::Scenario& scenario) {
  using Clock = std::chrono::steady_clock;
  sim::SimulatedGroundOptions options;
  options.seed = flags.seed;
  sim::SimulatedGround ground(options);
  Screen screen;
  Viewer viewer;
  std::deque<std::string> log;
  sim::Runner* runner = nullptr;
  Clock::time_point began = Clock::now();
  Duration length = std::max<Duration>(scenario.length(), seconds(1));
  double virtual_per_real = static_cast<double>(length.count()) / flags.real_seconds;
  auto show = [&] {
    if (runner == nullptr || runner->elapsed() > length) return;  // the end is checked without an audience
    auto due = began + std::chrono::microseconds(static_cast<int64_t>(
                           static_cast<double>(runner->elapsed().count()) * 1e6 / virtual_per_real));
    std::this_thread::sleep_until(due);
    View view = viewer.Look(ground.picture());
    view.title =
        scenario.name + " " + FormatDuration(std::chrono::duration_cast<milliseconds>(runner->elapsed()));
    view.log.assign(log.begin(), log.end());
    screen.Show(view);
  };
  ground.SetPace(Duration(static_cast<int64_t>(virtual_per_real / kFramesPerSecond) + 1), show);
  auto on_log = [&](const sim::LogEntry& entry) {
    if (!entry.story) return;
    log.push_back(LogText(entry));
    if (log.size() > 6) log.pop_front();
  };
  return Play(ground, scenario, on_log, [&](sim::Runner& begun) { runner = &begun; });
}

int RunPlay(const Flags& flags) {
  SetLog(LogLevel::kError, LogFormat::kText);
  Result<sim::Scenario> scenario = sim::LoadScenario(flags.file);
  if (!scenario.ok()) {
    std::fprintf(stderr, "lockstep play: %s\n", scenario.error().message.c_str());
    return 1;
  }
  std::printf("%s\n\n", scenario->story.c_str());
  if (flags.kube) {
    Result<kube::ClientConfig> config = Connect(flags.kubeconfig);
    if (!config.ok()) {
      std::fprintf(stderr, "lockstep play: %s\n", config.error().message.c_str());
      return 1;
    }
    sim::KubeGroundOptions options;
    options.scale = flags.scale;
    options.name = scenario->name;
    sim::KubeGround ground(*config, options);
    return Report(*scenario, Play(ground, *scenario, PrintEntry));
  }
  if (!flags.no_pace) return Report(*scenario, PlayPaced(flags, *scenario));
  sim::SimulatedGroundOptions options;
  options.seed = flags.seed;
  sim::SimulatedGround ground(options);
  return Report(*scenario, Play(ground, *scenario, PrintEntry));
}

}  // namespace

void AddPlayCommand(CLI::App& app, Run& run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("play", "Plays a scenario in the terminal: hours of a cluster in seconds");
  command->add_option("file", flags->file, "tests/scenarios/*.scenario")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("--seconds", flags->real_seconds, "how long the whole file takes")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  command->add_flag("--no-pace", flags->no_pace, "as a plain log, at once");
  command->add_option("--seed", flags->seed, "of the simulated network's delays")->capture_default_str();
  command->add_flag("--kube", flags->kube,
                    "on a real API server, which must be one for tests: nodes are made and deleted");
  command->add_option("--kubeconfig", flags->kubeconfig, "with --kube: kubeconfig file");
  command->add_option("--scale", flags->scale, "with --kube: how much faster than the file says")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1000.0));
  command->callback([flags, &run] { run = [flags] { return RunPlay(*flags); }; });
}

}  // namespace lockstep::cli
