// Plays scenario files and says which failed: `play_scenarios [--kube] [--scale N] [--seeds N]
// [--crash-everywhere] [--bind] [--log] FILE...`. --bind: pods are bound instead of assigned, whatever the
// file says. Without --kube in virtual time; --crash-everywhere plays a file once for each write of the
// operator, with a crash right after it. With --kube on the API server of $KUBECONFIG, those marked
// virtual-only left out; a story whose moments were too short for a busy machine is told once more, slower.
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "sim/kube_ground.h"
#include "sim/runner.h"
#include "sim/simulated_ground.h"

namespace lockstep::sim {
namespace {

struct Options {
  bool kube = false;
  bool log = false;
  bool crash_everywhere = false;
  bool bind = false;
  double scale = 20;
  uint64_t seeds = 1;
  std::vector<std::string> files;
};

constexpr double kSlower = 4;

// What there is to know of one play besides its outcome.
struct Played {
  int64_t writes = 0;
  bool violated = false;  // what must always hold did not
};

void Print(const LogEntry& entry) {
  std::printf("%10s  %s\n", FormatDuration(entry.time).c_str(), entry.text.c_str());
}

struct Crash {
  int64_t after_write = 0;
  bool lost = false;
};

Outcome PlayOn(Ground& ground, const Scenario& scenario, const Options& options,
               std::optional<Crash> crash = {}, Played* played = nullptr) {
  if (Outcome error = ground.Prepare()) return error;
  Outcome outcome;
  {
    Runner runner(ground, scenario, options.log ? Print : Runner::OnLog());
    if (crash) runner.CrashAfterWrite(crash->after_write, crash->lost);
    outcome = runner.Run();
    if (played != nullptr) *played = {runner.writes(), runner.violated()};
  }
  ground.CleanUp();
  return outcome;
}

Outcome PlaySimulated(const Scenario& scenario, const Options& options) {
  for (uint64_t seed = 1; seed <= options.seeds; ++seed) {
    SimulatedGroundOptions ground_options;
    ground_options.seed = seed;
    SimulatedGround ground(ground_options);
    if (Outcome error = PlayOn(ground, scenario, options)) {
      return Error{"seed " + std::to_string(seed) + ": " + error->message};
    }
  }
  return {};
}

// DESIGN: whatever crashes, the same jobs succeed or fail with the same counted restarts.
Outcome PlayWithCrashes(const Scenario& scenario, const Options& options) {
  Played whole;
  {
    SimulatedGround ground;
    if (Outcome error = PlayOn(ground, scenario, options, {}, &whole)) return error;
  }
  const int64_t writes = whole.writes;
  for (int64_t after = 0; after <= writes; ++after) {
    for (bool lost : {false, true}) {
      SimulatedGround ground;
      Outcome error = PlayOn(ground, scenario, options, Crash{after, lost});
      if (!error) continue;
      return Error{"crash after write " + std::to_string(after) + " of " + std::to_string(writes) +
                   (lost ? ", the rest lost: " : ", the rest applied: ") + error->message};
    }
  }
  std::printf("%s: %lld crash points, two ways each\n", scenario.name.c_str(),
              static_cast<long long>(writes + 1));
  return {};
}

Outcome PlayRealAt(double scale, const Scenario& scenario, const Options& options, Played& played) {
  Result<kube::ClientConfig> config = kube::LoadKubeconfig();
  if (!config.ok()) return config.error();
  KubeGroundOptions ground_options;
  ground_options.scale = scale;
  ground_options.name = scenario.name;
  KubeGround ground(*config, ground_options);
  return PlayOn(ground, scenario, options, {}, &played);
}

// `running a` is a second of real time where a runs for 20 s: a machine that stalls misses it. What must
// always hold has no such excuse.
Outcome PlayReal(const Scenario& scenario, const Options& options) {
  Played played;
  Outcome error = PlayRealAt(options.scale, scenario, options, played);
  if (!error || played.violated) return error;
  std::printf("once more, slower: %s\n", error->message.c_str());
  return PlayRealAt(options.scale / kSlower, scenario, options, played);
}

bool PlayFile(const std::string& file, const Options& options) {
  Result<Scenario> scenario = LoadScenario(file);
  if (!scenario.ok()) {
    std::printf("FAILED %s\n", scenario.error().message.c_str());
    return false;
  }
  if (options.bind)
    scenario->statements.insert(scenario->statements.begin(),
                                {.text = "operator assign=bind", .deed = Configure{api::Way::kBind}});
  if (options.kube && scenario->virtual_only) {
    std::printf("left out %s: %s\n", scenario->name.c_str(), scenario->virtual_only->c_str());
    return true;
  }
  auto began = std::chrono::steady_clock::now();
  Outcome error = options.kube               ? PlayReal(*scenario, options)
                  : options.crash_everywhere ? PlayWithCrashes(*scenario, options)
                                             : PlaySimulated(*scenario, options);
  double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (error) {
    std::printf("FAILED %s\n", error->message.c_str());
  } else {
    std::printf("passed %s (%.1f s)\n", scenario->name.c_str(), took);
  }
  std::fflush(stdout);
  return !error;
}

int Main(int argc, char** argv) {
  SetLog(LogLevel::kError, LogFormat::kText);
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--kube") {
      options.kube = true;
    } else if (word == "--crash-everywhere") {
      options.crash_everywhere = true;
    } else if (word == "--bind") {
      options.bind = true;
    } else if (word == "--log") {
      options.log = true;
    } else if (word == "--scale" && i + 1 < argc) {
      options.scale = std::atof(argv[++i]);
    } else if (word == "--seeds" && i + 1 < argc) {
      options.seeds = static_cast<uint64_t>(std::atoll(argv[++i]));
    } else {
      options.files.push_back(word);
    }
  }
  int failed = 0;
  for (const std::string& file : options.files) failed += PlayFile(file, options) ? 0 : 1;
  std::printf("%zu scenarios, %d failed\n", options.files.size(), failed);
  return failed == 0 && !options.files.empty() ? 0 : 1;
}

}  // namespace
}  // namespace lockstep::sim

int main(int argc, char** argv) { return lockstep::sim::Main(argc, argv); }
