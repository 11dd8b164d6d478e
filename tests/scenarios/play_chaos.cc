// Plays random worlds with random faults: `play_chaos [--seed N] [--worlds N] [--starts N] [--within SECONDS]
// [--tell] [--shrink PLAYS] [--keep FOLDER]`.
// From seed N on (1), one world per seed, until so many worlds were played, so many gangs started or so much
// time has passed. A world that fails is made smaller and kept as chaos-SEED.scenario, which play_scenarios
// plays.
// Where a world shows an action in a phase of its gang in which no operator of this run has crashed yet, it
// is played twice more with a crash right there: what is under way arrives, or is lost. The table of these
// pairs is printed.
// --tell prints the story of one seed and plays nothing.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "sim/chaos.h"
#include "sim/runner.h"
#include "sim/shrink.h"
#include "sim/simulated_ground.h"

namespace lockstep::sim {
namespace {

constexpr double kTellEvery = 60;  // seconds

struct Options {
  uint64_t seed = 1;
  int64_t worlds = INT64_MAX, starts = INT64_MAX;
  double within = 1e18;
  int shrink = 300;
  bool tell = false;
  std::string keep = ".";
};

struct Fork {
  int64_t action = 0;  // the last one that was sent
  bool lost = false;
};

struct Played {
  int64_t starts = 0, writes = 0;
  std::vector<Runner::Asked> asked;
  Outcome error;
};

Played PlayText(const std::string& text, const std::string& name, std::optional<Fork> fork = {}) {
  Played played;
  Result<Scenario> scenario = ParseScenario(text, name + ".scenario");
  if (!scenario.ok()) {
    played.error = Error{"no scenario: " + scenario.error().message};
    return played;
  }
  SimulatedGround ground;
  played.error = ground.Prepare();
  if (played.error) return played;
  Runner runner(ground, *scenario);
  if (fork) runner.CrashAfterAction(fork->action, fork->lost);
  played.error = runner.Run();
  played.starts = runner.gang_starts();
  played.writes = runner.writes();
  played.asked = runner.asked();
  return played;
}

// What the failures of one fault have in common: the number of what does not hold, or what was expected.
std::string KindOf(const std::string& message) {
  size_t invariant = message.find("invariant ");
  if (invariant != std::string::npos) return message.substr(invariant, std::strlen("invariant 1"));
  size_t expect = message.find("expect ");
  if (expect != std::string::npos) return message.substr(expect, message.find(':', expect) - expect);
  return message.find("settled world") != std::string::npos ? "settled"
                                                            : message.substr(0, message.find(':'));
}

void TellFailure(uint64_t seed, const std::string& story, std::optional<Fork> fork, const Error& error,
                 const Options& options) {
  std::printf("FAILED seed %llu: %s\n", static_cast<unsigned long long>(seed), error.message.c_str());
  if (fork) {
    std::printf("with a crash after action %lld, what is under way %s\n",
                static_cast<long long>(fork->action), fork->lost ? "lost" : "applied");
  }
  std::fflush(stdout);
  if (options.shrink == 0) return;
  std::string name = "chaos-" + std::to_string(seed);
  auto fails = [&](const std::string& text) -> std::optional<std::string> {
    Outcome failed = PlayText(text, name, fork).error;
    if (!failed) return {};
    return KindOf(failed->message);
  };
  std::string small = Shrink(story, fails, options.shrink);
  Outcome failed = PlayText(small, name, fork).error;
  std::printf("made smaller:\n%s\n%s\n", small.c_str(), failed ? failed->message.c_str() : "");
  std::ofstream(options.keep + "/" + name + ".scenario") << small;
}

// How often an action was asked for in a phase, and whether a crash right after it was tried.
struct Pair {
  int64_t seen = 0;
  bool forked = false;
};
using Pairs = std::map<Runner::Asked, Pair>;

struct Sums {
  int64_t worlds = 0, forks = 0, starts = 0, writes = 0;
  int failed = 0;

  void Add(const Played& played) {
    starts += played.starts;
    writes += played.writes;
    if (played.error) ++failed;
  }
};

// A crash at the first of each pair that is new.
void PlayForks(uint64_t seed, const std::string& story, const std::vector<Runner::Asked>& asked, Pairs& pairs,
               const Options& options, const std::function<bool()>& more, Sums& sums) {
  for (size_t i = 0; i < asked.size(); ++i) {
    Pair& pair = pairs[asked[i]];
    ++pair.seen;
    if (!more() || std::exchange(pair.forked, true)) continue;
    for (bool lost : {false, true}) {
      Fork fork{static_cast<int64_t>(i) + 1, lost};
      Played played = PlayText(story, "chaos-" + std::to_string(seed), fork);
      ++sums.forks;
      sums.Add(played);
      if (played.error) TellFailure(seed, story, fork, *played.error, options);
    }
  }
}

void PrintPairs(const Pairs& pairs) {
  std::printf("%-16s %-12s %10s  crashed there\n", "action", "phase", "times");
  for (const auto& [asked, pair] : pairs) {
    std::printf("%-16s %-12s %10lld  %s\n", std::string(cluster::KindText(asked.kind)).c_str(),
                std::string(api::PhaseText(asked.phase)).c_str(), static_cast<long long>(pair.seen),
                pair.forked ? "applied, lost" : "no");
  }
}

int Play(const Options& options) {
  Pairs pairs;
  auto began = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  Sums sums;
  uint64_t seed = options.seed;
  double told = 0;
  auto more = [&] { return sums.starts < options.starts && elapsed() < options.within; };
  for (; sums.worlds < options.worlds && more(); ++seed) {
    if (elapsed() > told + kTellEvery) {
      told = elapsed();
      std::printf("before seed %llu: %lld gang starts in %.0f s, %d failed\n",
                  static_cast<unsigned long long>(seed), static_cast<long long>(sums.starts), told,
                  sums.failed);
      std::fflush(stdout);
    }
    std::string story = TellChaos(seed);
    Played played = PlayText(story, "chaos-" + std::to_string(seed));
    ++sums.worlds;
    sums.Add(played);
    if (played.error) {
      TellFailure(seed, story, {}, *played.error, options);
    } else {
      PlayForks(seed, story, played.asked, pairs, options, more, sums);
    }
  }
  PrintPairs(pairs);
  double cpu = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  std::printf(
      "seeds %llu to %llu: %lld worlds and %lld forks, %lld gang starts, %lld writes in %.1f s, %.2f ms of "
      "CPU per "
      "gang start, %d failed\n",
      static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(seed - 1),
      static_cast<long long>(sums.worlds), static_cast<long long>(sums.forks),
      static_cast<long long>(sums.starts), static_cast<long long>(sums.writes), elapsed(),
      sums.starts == 0 ? 0.0 : cpu * 1e3 / static_cast<double>(sums.starts), sums.failed);
  return sums.failed == 0 && sums.worlds > 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  SetLog(LogLevel::kError, LogFormat::kText);
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--tell") {
      options.tell = true;
      continue;
    }
    ++i;
    if (word == "--seed") {
      options.seed = static_cast<uint64_t>(std::atoll(value));
    } else if (word == "--worlds") {
      options.worlds = std::atoll(value);
    } else if (word == "--starts") {
      options.starts = std::atoll(value);
    } else if (word == "--within") {
      options.within = std::atof(value);
    } else if (word == "--shrink") {
      options.shrink = std::atoi(value);
    } else if (word == "--keep") {
      options.keep = value;
    } else {
      std::printf("play_chaos: unknown option %s\n", word.c_str());
      return 2;
    }
  }
  if (!options.tell) return Play(options);
  std::fputs(TellChaos(options.seed).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace lockstep::sim

int main(int argc, char** argv) { return lockstep::sim::Main(argc, argv); }
