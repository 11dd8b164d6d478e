// The bars of placement (one core): a 512-pod gang on 5,000 half-full nodes within 1 ms; 8-pod gangs on 5,000
// nodes of 8 GPUs at 1,000,000 pods/s, alike, and at 100,000 pods/s with 50 shapes, 20 % affinity, 5 taint
// sets and 30 % fragmented; a changed node among 10,000 waiting gangs within 1 ms.
#include <benchmark/benchmark.h>

#include <random>

#include "base/check.h"
#include "cluster/testing.h"
#include "gang/place.h"

namespace lockstep::gang {
namespace {

using cluster::NodeId;
using cluster::Nodes;
using namespace cluster::testing;  // NOLINT: builders

constexpr int kNodes = 5'000;

// Places and occupies, or returns false.
bool Seat(Nodes& nodes, const Need& need) {
  auto result = Place(nodes, need);
  if (!std::holds_alternative<Placement>(result)) return false;
  Occupy(nodes, need, std::get<Placement>(result));
  return true;
}

Nodes HalfFull() {
  Nodes nodes = MakeNodes(kNodes, Gpu(8) + Cpu(128) + MemoryGi(1024));
  cluster::ClassId busy = nodes.Class(MakeNeed(Gpu(1) + Cpu(8)));
  std::mt19937 random(1);
  for (NodeId node = 0; node < kNodes; ++node) {
    for (int pods = static_cast<int>(random() % 9); pods > 0; --pods) nodes.Occupy(node, busy);
  }
  return nodes;
}

void BM_Decide512OnHalfFull(benchmark::State& state) {
  Nodes nodes = HalfFull();
  Need need{{{nodes.Class(MakeNeed(Gpu(1) + Cpu(4) + MemoryGi(16))), 512}}};
  for (auto _ : state) benchmark::DoNotOptimize(Place(nodes, need));
}
BENCHMARK(BM_Decide512OnHalfFull)->Unit(benchmark::kMicrosecond);

// The first time a class is seen: its index is made.
void BM_Decide512OnHalfFullFirstOfItsClass(benchmark::State& state) {
  Nodes nodes = HalfFull();
  int64_t milli = 0;
  for (auto _ : state) {
    Need need{{{nodes.Class(MakeNeed(Gpu(1) + MemoryGi(16) + kube::Resources{{"cpu", ++milli}})), 512}}};
    benchmark::DoNotOptimize(Place(nodes, need));
  }
}
BENCHMARK(BM_Decide512OnHalfFullFirstOfItsClass)->Unit(benchmark::kMicrosecond);

void BM_Decide512MasterAndWorkers(benchmark::State& state) {
  Nodes nodes = HalfFull();
  Need need{{{nodes.Class(MakeNeed(Gpu(1) + Cpu(4))), 1},
             {nodes.Class(MakeNeed(Gpu(1) + Cpu(4) + kube::Resources{{"memory", 20 << 20}})), 511}}};
  for (auto _ : state) benchmark::DoNotOptimize(Place(nodes, need));
}
BENCHMARK(BM_Decide512MasterAndWorkers)->Unit(benchmark::kMicrosecond);

void BM_Refuse512WithReasons(benchmark::State& state) {
  Nodes nodes = HalfFull();
  Need need{{{nodes.Class(MakeNeed(Gpu(8) + Cpu(4))), 5'000}}};
  for (auto _ : state) benchmark::DoNotOptimize(Place(nodes, need));
}
BENCHMARK(BM_Refuse512WithReasons)->Unit(benchmark::kMicrosecond);

// Two kinds of pods that only a search could combine, and a cluster where they do not fit.
void BM_RefuseMixedByExactSearch(benchmark::State& state) {
  Nodes nodes = MakeNodes(static_cast<int>(state.range(0)), Cpu(10) + MemoryGi(10));
  int32_t count = static_cast<int32_t>(state.range(0));
  Need need{{{nodes.Class(MakeNeed(Cpu(6) + MemoryGi(3))), count},
             {nodes.Class(MakeNeed(Cpu(5) + MemoryGi(5))), count / 2}}};
  for (auto _ : state) benchmark::DoNotOptimize(Fits(nodes, need));
}
BENCHMARK(BM_RefuseMixedByExactSearch)->Arg(16)->Arg(128)->Arg(5'000)->Unit(benchmark::kMicrosecond);

void FillWithGangs(benchmark::State& state, const Nodes& empty, const std::vector<Need>& needs) {
  Nodes nodes = empty;
  int64_t pods = 0;
  size_t next = 0, refused = 0;
  for (auto _ : state) {
    const Need& need = needs[next++ % needs.size()];
    if (Seat(nodes, need)) {
      for (const RoleNeed& role : need.roles) pods += role.count;
      continue;
    }
    if (++refused < needs.size()) continue;  // full, not for one shape alone
    state.PauseTiming();
    refused = 0;
    nodes = empty;
    state.ResumeTiming();
  }
  state.counters["pods/s"] = benchmark::Counter(static_cast<double>(pods), benchmark::Counter::kIsRate);
}

void BM_GangsOf8Alike(benchmark::State& state) {
  Nodes nodes = MakeNodes(kNodes, Gpu(8) + Cpu(128) + MemoryGi(1024));
  FillWithGangs(state, nodes, {{{{nodes.Class(MakeNeed(Gpu(1) + Cpu(8) + MemoryGi(64))), 8}}}});
}
BENCHMARK(BM_GangsOf8Alike);

void BM_GangsOf8MasterAndWorkers(benchmark::State& state) {
  Nodes nodes = MakeNodes(kNodes, Gpu(8) + Cpu(128) + MemoryGi(1024));
  FillWithGangs(state, nodes,
                {{{{nodes.Class(MakeNeed(Gpu(1) + Cpu(8) + MemoryGi(64))), 1},
                   {nodes.Class(MakeNeed(Gpu(1) + Cpu(8) + MemoryGi(65))), 7}}}});
}
BENCHMARK(BM_GangsOf8MasterAndWorkers);

// 50 shapes, a fifth of them with node affinity, 5 taint sets, and 30 % of the nodes with odd GPUs taken.
Nodes MixedCluster() {
  Nodes nodes;
  std::mt19937 random(7);
  for (int i = 0; i < kNodes; ++i) {
    std::vector<kube::Taint> taints;
    for (int taint = 0; taint < i % 5; ++taint)
      taints.push_back({"team-" + std::to_string(taint), "", "NoSchedule"});
    nodes.Upsert(MakeNode("node-" + std::to_string(i), Gpu(8) + Cpu(128) + MemoryGi(1024),
                          {{"zone", std::to_string(i % 4)}, {"rack", std::to_string(i / 32)}}, taints));
    if (random() % 10 < 3)
      Busy(nodes, "node-" + std::to_string(i), Gpu(1 + static_cast<int64_t>(random() % 7)));
  }
  return nodes;
}

std::vector<Need> FiftyShapes(Nodes& nodes) {
  std::vector<Need> needs;
  for (int shape = 0; shape < 50; ++shape) {
    kube::PodNeed pod = MakeNeed(Gpu(1 + shape % 3) + Cpu(1 + shape % 17) + MemoryGi(1 + shape));
    if (shape % 5 == 0) pod = WithSelector(pod, "zone", std::to_string(shape / 5 % 4));
    for (int taint = 0; taint < shape % 5; ++taint) pod = Tolerating(pod, "team-" + std::to_string(taint));
    needs.push_back({{{nodes.Class(pod), 8}}});
  }
  return needs;
}

void BM_GangsOf8Of50Shapes(benchmark::State& state) {
  Nodes nodes = MixedCluster();
  std::vector<Need> needs = FiftyShapes(nodes);
  FillWithGangs(state, nodes, needs);
}
BENCHMARK(BM_GangsOf8Of50Shapes);

// One node changes while 10,000 gangs of 50 shapes wait on a full cluster; each is asked whether it fits now
// and whether it ever can.
void BM_OneNodeChanges10000GangsWait(benchmark::State& state) {
  Nodes nodes = MixedCluster();
  std::vector<Need> shapes = FiftyShapes(nodes);
  for (NodeId node = 0; node < kNodes; ++node) {
    nodes.Occupy(node, nodes.Class(MakeNeed(Cpu(128))));
  }
  int64_t change = 0;
  for (auto _ : state) {
    nodes.Upsert(MakeNode("node-0", Gpu(8) + Cpu(100 + ++change % 20) + MemoryGi(1024)));
    int64_t fit = 0;
    for (int gang = 0; gang < 10'000; ++gang) {
      const Need& need = shapes[static_cast<size_t>(gang) % shapes.size()];
      fit += Fits(nodes, need) + IsPossible(nodes, need);
    }
    benchmark::DoNotOptimize(fit);
  }
}
BENCHMARK(BM_OneNodeChanges10000GangsWait)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lockstep::gang
