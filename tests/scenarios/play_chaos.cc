// Plays random worlds with random faults: `play_chaos [--seed N] [--worlds N] [--starts N] [--within SECONDS]
// [--tell] [--shrink PLAYS] [--keep FOLDER]`.
// From seed N on (1), one world per seed, until so many worlds were played, so many gangs started or so much
// time has passed. A world that fails is made smaller and kept as chaos-SEED.scenario, which play_scenarios
// plays.
// --tell prints the story of one seed and plays nothing.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "base/log.h"
#include "sim/chaos.h"
#include "sim/runner.h"
#include "sim/shrink.h"
#include "sim/simulated_ground.h"

namespace lockstep::sim {
namespace {

struct Options {
  uint64_t seed = 1;
  int64_t worlds = INT64_MAX, starts = INT64_MAX;
  double within = 1e18;
  int shrink = 300;
  bool tell = false;
  std::string keep = ".";
};

struct Played {
  int64_t starts = 0, writes = 0;
  Outcome error;
};

Played PlayText(const std::string& text, const std::string& name) {
  Result<Scenario> scenario = ParseScenario(text, name + ".scenario");
  if (!scenario.ok()) return {0, 0, Error{"no scenario: " + scenario.error().message}};
  SimulatedGround ground;
  if (Outcome error = ground.Prepare()) return {0, 0, error};
  Runner runner(ground, *scenario);
  Outcome error = runner.Run();
  return {runner.gang_starts(), runner.writes(), error};
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

void TellFailure(uint64_t seed, const std::string& story, const Error& error, const Options& options) {
  std::printf("FAILED seed %llu: %s\n", static_cast<unsigned long long>(seed), error.message.c_str());
  std::fflush(stdout);
  if (options.shrink == 0) return;
  std::string name = "chaos-" + std::to_string(seed);
  auto fails = [&](const std::string& text) -> std::optional<std::string> {
    Outcome failed = PlayText(text, name).error;
    if (!failed) return {};
    return KindOf(failed->message);
  };
  std::string small = Shrink(story, fails, options.shrink);
  Outcome failed = PlayText(small, name).error;
  std::printf("made smaller:\n%s\n%s\n", small.c_str(), failed ? failed->message.c_str() : "");
  std::ofstream(options.keep + "/" + name + ".scenario") << small;
}

int Play(const Options& options) {
  auto began = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  int64_t worlds = 0, starts = 0, writes = 0;
  int failed = 0;
  uint64_t seed = options.seed;
  for (; worlds < options.worlds && starts < options.starts && elapsed() < options.within; ++seed, ++worlds) {
    std::string story = TellChaos(seed);
    Played played = PlayText(story, "chaos-" + std::to_string(seed));
    starts += played.starts;
    writes += played.writes;
    if (!played.error) continue;
    ++failed;
    TellFailure(seed, story, *played.error, options);
  }
  double took = elapsed();
  std::printf(
      "seeds %llu to %llu: %lld worlds, %lld gang starts, %lld writes in %.1f s, %.2f ms per gang start, %d "
      "failed\n",
      static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(seed - 1),
      static_cast<long long>(worlds), static_cast<long long>(starts), static_cast<long long>(writes), took,
      starts == 0 ? 0.0 : took * 1e3 / static_cast<double>(starts), failed);
  return failed == 0 && worlds > 0 ? 0 : 1;
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
