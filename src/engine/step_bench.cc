// DESIGN's bars for one step and for the World: one changed node at 5,000 nodes with 10,000 waiting gangs;
// the memory of 5,000 nodes and 100,000 pods.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include "engine/testing.h"

namespace lockstep::engine {
namespace {

using cluster::Action;
using testing::HandDriven;

// A full cluster of 5,000 nodes with `waiting` gangs of eight behind it, of so many shapes, everything
// recorded and explained.
HandDriven& Crowded(int waiting, int shapes = 1) {
  static std::map<std::pair<int, int>, std::unique_ptr<HandDriven>> made;
  std::unique_ptr<HandDriven>& engine = made[{waiting, shapes}];
  if (engine != nullptr) return *engine;
  engine = std::make_unique<HandDriven>();
  engine->Nodes(5000, 8);
  engine->Step();
  for (cluster::NodeId node = 0; node < 5000; ++node) {
    kube::PodNeed need;
    need.requests = {{"nvidia.com/gpu", 8000}};
    engine->world.Occupy(engine->world.nodes.name(node), engine->world.nodes.Class(need));
  }
  for (int i = 0; i < waiting; ++i) engine->Job("job-" + std::to_string(i), 8, i % shapes);
  for (int round = 0; round < waiting / 100 + 50; ++round) {
    std::vector<Action> actions = engine->Step();
    for (const Action& action : actions) engine->Applied(action);
    engine->now.mono += milliseconds(10);
  }
  return *engine;
}

void StepWithOneChangedNode(benchmark::State& state) {
  HandDriven& engine = Crowded(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  int gpus = 8;
  for (auto _ : state) {
    engine.Node("node-17", gpus = 15 - gpus);
    std::vector<Action> actions = engine.Step();
    state.PauseTiming();
    for (const Action& action : actions) engine.Applied(action);
    state.ResumeTiming();
  }
}
BENCHMARK(StepWithOneChangedNode)
    ->ArgNames({"waiting", "shapes"})
    ->Args({100, 1})
    ->Args({10000, 1})
    ->Args({1000, 120})
    ->Args({1000, 500})
    ->Args({1000, 900})
    ->Unit(benchmark::kMicrosecond);

size_t HeapBytes() {
  struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// 5,000 nodes, each full with 20 running pods: 12,500 gangs of eight, from their submission on.
void Fill(HandDriven& engine) {
  engine.Nodes(5000, 20);
  for (int first = 0; first < 12'500; first += 100) {
    for (int i = first; i < first + 100; ++i) engine.Job("job-" + std::to_string(i), 8);
    engine.Settle();
    for (int i = first; i < first + 100; ++i) {
      for (int pod = 0; pod < 8; ++pod)
        engine.PodIs("job-" + std::to_string(i) + "-worker-" + std::to_string(pod), "Running");
    }
    engine.Settle();
  }
  CHECK(engine.world.pods.size() == 100'000);
}

void MemoryOf100000Pods(benchmark::State& state) {
  for (auto _ : state) {
    size_t before = HeapBytes();
    HandDriven engine;
    Fill(engine);
    engine.ForgetObjects();
    state.counters["MB"] = static_cast<double>(HeapBytes() - before) / 1e6;
  }
}
BENCHMARK(MemoryOf100000Pods)->Iterations(1)->Unit(benchmark::kSecond);

// The full cluster of above with 10,000 more gangs that wait.
HandDriven& Full() {
  static std::unique_ptr<HandDriven> engine;
  if (engine != nullptr) return *engine;
  engine = std::make_unique<HandDriven>();
  Fill(*engine);
  for (int i = 0; i < 10'000; ++i) engine->Job("waits-" + std::to_string(i), 8);
  for (int round = 0; round < 250; ++round) {
    for (const Action& action : engine->Step()) engine->Applied(action);
    engine->now.mono += milliseconds(10);
  }
  CHECK(engine->world.waiting.size() == 10'000);
  return *engine;
}

void CopyTheWorld(benchmark::State& state) {
  HandDriven& engine = Full();
  for (auto _ : state) {
    cluster::World copy = engine.world;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(CopyTheWorld)->Unit(benchmark::kMillisecond);

// What a "what if" costs besides the copy: its first step makes what it changes its own.
void StepACopy(benchmark::State& state) {
  HandDriven& engine = Full();
  for (auto _ : state) {
    cluster::World copy = engine.world;
    benchmark::DoNotOptimize(Step(copy, {}, engine.now));
  }
}
BENCHMARK(StepACopy)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep::engine
