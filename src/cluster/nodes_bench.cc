// The bars of the core's node tables: 5,000 nodes and 100,000 pods are copied within 10 ms.
#include <benchmark/benchmark.h>

#include "cluster/nodes.h"
#include "cluster/testing.h"

namespace lockstep::cluster {
namespace {

using namespace testing;  // NOLINT: builders

constexpr int kNodes = 5'000;
constexpr int kPodsPerNode = 20;

kube::Node BigNode(int i, int zone) {
  return MakeNode("node-" + std::to_string(i), Gpu(8) + Cpu(128) + MemoryGi(1024),
                  {{"kubernetes.io/hostname", "node-" + std::to_string(i)}, {"zone", std::to_string(zone)}});
}

// 20 pods of 4 of 40 classes on each node.
Nodes BusyCluster() {
  Nodes nodes;
  for (int i = 0; i < kNodes; ++i) nodes.Upsert(BigNode(i, i % 3));
  for (int i = 0; i < kNodes; ++i) {
    for (int pod = 0; pod < kPodsPerNode; ++pod) {
      nodes.Occupy(static_cast<NodeId>(i), nodes.Class(MakeNeed(Cpu(1 + (i + pod % 4) % 40))));
    }
  }
  return nodes;
}

void BM_Copy5000Nodes100000Pods(benchmark::State& state) {
  Nodes nodes = BusyCluster();
  for (int gpus = 1; gpus <= 8; ++gpus) nodes.Seats(nodes.Class(MakeNeed(Gpu(gpus))));
  for (auto _ : state) {
    Nodes copy = nodes;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(BM_Copy5000Nodes100000Pods)->Unit(benchmark::kMillisecond);

void BM_FirstIndexOfAClass(benchmark::State& state) {
  Nodes nodes = BusyCluster();
  int64_t milli = 1;
  for (auto _ : state) {
    ClassId pod_class = nodes.Class(MakeNeed({{"cpu", milli++}}));
    benchmark::DoNotOptimize(nodes.Seats(pod_class).total());
  }
}
BENCHMARK(BM_FirstIndexOfAClass)->Unit(benchmark::kMicrosecond);

void BM_OneNodeChanges(benchmark::State& state) {
  Nodes nodes = BusyCluster();
  ClassId pod_class = nodes.Class(MakeNeed(Gpu(1)));
  nodes.Seats(pod_class);
  int zone = 0;
  for (auto _ : state) {
    nodes.Upsert(BigNode(17, ++zone));
    benchmark::DoNotOptimize(nodes.Seats(pod_class).total());
  }
}
BENCHMARK(BM_OneNodeChanges)->Unit(benchmark::kMicrosecond);

void BM_OneNodeComesAndGoes(benchmark::State& state) {
  Nodes nodes = BusyCluster();
  ClassId pod_class = nodes.Class(MakeNeed(Gpu(1)));
  kube::Node node = BigNode(kNodes, 0);
  for (auto _ : state) {
    nodes.Upsert(node);
    benchmark::DoNotOptimize(nodes.Seats(pod_class).total());
    nodes.Remove(node.meta.name);
    benchmark::DoNotOptimize(nodes.Seats(pod_class).total());
  }
}
BENCHMARK(BM_OneNodeComesAndGoes)->Unit(benchmark::kMicrosecond);

void BM_HeartbeatWithoutNews(benchmark::State& state) {
  Nodes nodes = BusyCluster();
  kube::Node node = BigNode(17, 17 % 3);
  for (auto _ : state) benchmark::DoNotOptimize(nodes.Upsert(node));
}
BENCHMARK(BM_HeartbeatWithoutNews)->Unit(benchmark::kNanosecond);

void BM_OccupyAndRelease(benchmark::State& state) {
  Nodes nodes = BusyCluster();
  ClassId pod_class = nodes.Class(MakeNeed(Gpu(1) + Cpu(8)));
  NodeId node = 0;
  for (auto _ : state) {
    nodes.Occupy(node, pod_class);
    nodes.Release(node, pod_class);
    node = (node + 1) % kNodes;
  }
}
BENCHMARK(BM_OccupyAndRelease)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace lockstep::cluster
