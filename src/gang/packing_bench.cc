// How well gangs are packed, against the best that an integer program finds. The figures are counters; the
// times are mostly the oracle's.
#include <benchmark/benchmark.h>

#include <random>
#include <set>

#include "gang/integer_oracle.h"

namespace lockstep::gang {
namespace {

using testing::Build;
using testing::IntegerOracle;
using testing::OracleCluster;
using testing::OracleInstance;

struct Used {
  int nodes = 0, fresh = 0;
};

Used UsedBy(const OracleInstance& instance, const cluster::Nodes& nodes, const Placement& placement) {
  std::set<std::string> names;
  for (const Seats& seats : placement.seats) names.insert(nodes.name(seats.node));
  Used used;
  for (const std::string& name : names) {
    ++used.nodes;
    used.fresh += instance.nodes[std::stoul(name.substr(5))].fresh();
  }
  return used;
}

// Random clusters of `nodes` nodes, a gang of so many kinds on each.
void PackingAgainstOracle(benchmark::State& state) {
  auto nodes = static_cast<int>(state.range(0)), kinds = static_cast<int>(state.range(1));
  constexpr int kInstances = 200;
  IntegerOracle oracle;
  int64_t placed = 0, touched = 0, fewest = 0, opened = 0, fewest_opened = 0, best = 0;
  for (auto _ : state) {
    for (int seed = 0; placed < kInstances; ++seed) {
      std::mt19937 random(static_cast<unsigned>(seed));
      OracleInstance instance = testing::RandomInstance(random, nodes, kinds, 8);
      OracleCluster made = Build(instance);
      auto result = Place(made.nodes, made.need);
      if (!std::holds_alternative<Placement>(result)) continue;
      Used used = UsedBy(instance, made.nodes, std::get<Placement>(result));
      int least = oracle.Fewest(instance, /*fresh=*/false);
      ++placed;
      touched += used.nodes;
      fewest += least;
      best += used.nodes == least;
      opened += used.fresh;
      fewest_opened += oracle.Fewest(instance, /*fresh=*/true);
    }
  }
  state.counters["gangs"] = static_cast<double>(placed);
  state.counters["nodes"] = static_cast<double>(touched);
  state.counters["nodes_best"] = static_cast<double>(fewest);
  state.counters["fresh_nodes"] = static_cast<double>(opened);
  state.counters["fresh_nodes_best"] = static_cast<double>(fewest_opened);
  state.counters["fewest_nodes_in_%"] = 100.0 * static_cast<double>(best) / static_cast<double>(placed);
}
BENCHMARK(PackingAgainstOracle)
    ->Args({6, 1})
    ->Args({6, 2})
    ->Args({6, 3})
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace lockstep::gang
