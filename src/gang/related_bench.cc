// Gangs with rules between pods on 5,000 nodes in 4 zones, 30 % of them with odd GPUs taken. Bar: gangs of 8
// of 50 shapes, a fifth of them with spread constraints, at 100,000 pods/s (one core).
#include <benchmark/benchmark.h>

#include <random>

#include "cluster/testing.h"
#include "gang/place.h"

namespace lockstep::gang {
namespace {

using cluster::Nodes;
using namespace cluster::testing;  // NOLINT: builders

constexpr int kNodes = 5'000;

Nodes Zoned() {
  Nodes nodes;
  std::mt19937 random(7);
  for (int i = 0; i < kNodes; ++i) {
    std::string name = "node-" + std::to_string(i);
    nodes.Upsert(MakeNode(name, Gpu(8) + Cpu(128) + MemoryGi(1024),
                          {{"zone", std::to_string(i % 4)}, {"host", name}}));
    if (random() % 10 < 3) Busy(nodes, name, Gpu(1 + static_cast<int64_t>(random() % 7)));
  }
  return nodes;
}

RoleNeed Role(Nodes& nodes, int32_t count, const kube::PodNeed& pod, const std::string& app) {
  return {nodes.Class(pod), count, Who(app, {{"app", app}}, pod)};
}

void Fill(benchmark::State& state, const Nodes& empty, const std::vector<Need>& needs) {
  Nodes nodes = empty;
  int64_t pods = 0;
  size_t next = 0, refused = 0;
  for (auto _ : state) {
    const Need& need = needs[next++ % needs.size()];
    auto result = Place(nodes, need);
    if (const auto* placement = std::get_if<Placement>(&result)) {
      Occupy(nodes, need, *placement);
      for (const RoleNeed& role : need.roles) pods += role.count;
      continue;
    }
    if (++refused < needs.size()) continue;
    state.PauseTiming();
    refused = 0;
    nodes = empty;
    state.ResumeTiming();
  }
  state.counters["pods/s"] = benchmark::Counter(static_cast<double>(pods), benchmark::Counter::kIsRate);
}

// One rule each: 0 anti-affinity by host, 1 affinity by zone, 2 spread over zones; every gang by its own
// label.
void BM_GangsOf8WithOneRule(benchmark::State& state) {
  Nodes nodes = Zoned();
  std::vector<Need> needs;
  for (int gang = 0; gang < 50; ++gang) {
    std::string app = "app-" + std::to_string(gang);
    kube::PodNeed pod = MakeNeed(Gpu(1) + Cpu(4));
    if (state.range(0) == 0) pod = Apart(pod, Labelled("app", app), "host");
    if (state.range(0) == 1) pod = Near(pod, Labelled("app", app), "zone");
    if (state.range(0) == 2) pod = Spread(pod, Labelled("app", app), "zone");
    needs.push_back({{Role(nodes, 8, pod, app)}});
  }
  Fill(state, nodes, needs);
}
BENCHMARK(BM_GangsOf8WithOneRule)->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMicrosecond);

void BM_GangsOf8Of50ShapesAFifthSpread(benchmark::State& state) {
  Nodes nodes = Zoned();
  for (int i = 0; i < kNodes; ++i) {
    std::vector<kube::Taint> taints;
    taints.reserve(5);
    for (int taint = 0; taint < i % 5; ++taint)
      taints.push_back({"team-" + std::to_string(taint), "", "NoSchedule"});
    std::string name = "node-" + std::to_string(i);
    nodes.Upsert(MakeNode(name, Gpu(8) + Cpu(128) + MemoryGi(1024), nodes.facts(*nodes.Find(name)).labels,
                          std::move(taints)));
  }
  std::vector<Need> needs;
  for (int shape = 0; shape < 50; ++shape) {
    std::string app = "app-" + std::to_string(shape);
    kube::PodNeed pod = MakeNeed(Gpu(1 + shape % 3) + Cpu(1 + shape % 17) + MemoryGi(1 + shape));
    if (shape % 5 == 0) pod = WithSelector(pod, "zone", std::to_string(shape / 5 % 4));
    if (shape % 5 == 4) pod = Spread(pod, Labelled("app", app), "zone");
    for (int taint = 0; taint < shape % 5; ++taint) pod = Tolerating(pod, "team-" + std::to_string(taint));
    needs.push_back({{Role(nodes, 8, pod, app)}});
  }
  Fill(state, nodes, needs);
}
BENCHMARK(BM_GangsOf8Of50ShapesAFifthSpread)->Unit(benchmark::kMicrosecond);

void BM_Decide512WithOneRule(benchmark::State& state) {
  Nodes nodes = Zoned();
  kube::PodNeed pod = MakeNeed(Gpu(1) + Cpu(4));
  if (state.range(0) == 0) pod = Apart(pod, Labelled("app", "x"), "host");
  if (state.range(0) == 1) pod = Near(pod, Labelled("app", "x"), "zone");
  if (state.range(0) == 2) pod = Spread(pod, Labelled("app", "x"), "zone");
  Need need{{Role(nodes, 512, pod, "x")}};
  for (auto _ : state) benchmark::DoNotOptimize(Place(nodes, need));
}
BENCHMARK(BM_Decide512WithOneRule)->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMicrosecond);

// Gangs without rules where a thousand others each keep their own label apart: a look at the labels.
void BM_FitsBesideAThousandKeepers(benchmark::State& state) {
  Nodes nodes = Zoned();
  for (int i = 0; i < 1'000; ++i) {
    std::string app = "app-" + std::to_string(i);
    kube::PodNeed pod = Apart(MakeNeed(Gpu(1)), Labelled("app", app), "host");
    nodes.Occupy(static_cast<cluster::NodeId>(i), nodes.HeldClass(pod), 1, cluster::Tenure::kPod,
                 Who(app, {{"app", app}}, pod));
  }
  Need need{{Role(nodes, 8, MakeNeed(Gpu(1)), "free")}};
  for (auto _ : state) benchmark::DoNotOptimize(Fits(nodes, need));
}
BENCHMARK(BM_FitsBesideAThousandKeepers);

// The bound of work reached: what an answer "not proved" costs.
void BM_RefuseAtTheBoundOfWork(benchmark::State& state) {
  Nodes nodes;
  for (int i = 0; i < 20; ++i)
    nodes.Upsert(MakeNode("node-" + std::to_string(i), Cpu(9), {{"zone", std::to_string(i % 4)}}));
  kube::PodQuery own = Labelled("app", "x");
  Need need{{Role(nodes, 30, Spread(MakeNeed(Cpu(4)), own, "zone"), "x"),
             Role(nodes, 30, Spread(MakeNeed(Cpu(3)), own, "zone"), "x")}};
  for (auto _ : state) benchmark::DoNotOptimize(Place(nodes, need));
}
BENCHMARK(BM_RefuseAtTheBoundOfWork)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep::gang
