#include <benchmark/benchmark.h>

#include "apiserver/test_server.h"

// How fast one core serves writes at the size that simulations need: 5,000 nodes, 20,000 pods.
namespace lockstep::apiserver {
namespace {

json::Doc BenchPod(int i) {
  json::Doc pod = PodDoc("pod-" + std::to_string(i), "node-" + std::to_string(i % 5000));
  pod["metadata"]["labels"] = {{"training.kubeflow.org/job-name", "job-" + std::to_string(i / 8)},
                               {"training.kubeflow.org/replica-type", "worker"},
                               {"training.kubeflow.org/replica-index", std::to_string(i % 8)}};
  json::Doc& container = pod["spec"]["containers"][0];
  container["resources"]["limits"] = {{"nvidia.com/gpu", "1"}, {"cpu", "4"}, {"memory", "16Gi"}};
  for (int k = 0; k < 8; ++k)
    container["env"].push_back({{"name", "VAR_" + std::to_string(k)}, {"value", "value"}});
  return pod;
}

void Fill(TestServer& api, int pods) {
  for (int i = 0; i < pods; ++i) {
    if (!api.Create(kube::kPods, BenchPod(i)).status.ok()) std::abort();
  }
}

void CreatePod(benchmark::State& state) {
  TestServer api;
  Fill(api, 20'000);
  int i = 20'000;
  std::vector<kube::Request> requests;
  for (auto _ : state) {
    state.PauseTiming();
    kube::Request request = api.Make(kube::Verb::kCreate, kube::kPods, "");
    request.body = json::Dump(BenchPod(i++));
    state.ResumeTiming();
    benchmark::DoNotOptimize(api.Send(request));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(CreatePod);

void PatchPodStatus(benchmark::State& state) {
  TestServer api;
  Fill(api, 20'000);
  int64_t i = 0;
  for (auto _ : state) {
    json::Doc patch = {
        {"status", {{"phase", i % 2 == 0 ? "Running" : "Pending"}, {"podIP", std::to_string(i)}}}};
    api.Patch(kube::kPods, "pod-" + std::to_string(i++ % 20'000), patch, "status");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(PatchPodStatus);

void UpdateLease(benchmark::State& state) {
  TestServer api;
  json::Doc lease = {{"apiVersion", "coordination.k8s.io/v1"},
                     {"kind", "Lease"},
                     {"metadata", {{"name", "node-1"}}},
                     {"spec", {{"leaseDurationSeconds", 40}, {"holderIdentity", "node-1"}}}};
  lease = *json::Parse(api.Create(kube::kLeases, lease).body);
  int64_t i = 0;
  for (auto _ : state) {
    lease["spec"]["renewTime"] = std::to_string(i++);
    lease["metadata"]["resourceVersion"] = std::to_string(api.server.revision());
    api.Update(kube::kLeases, lease);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(UpdateLease);

// One watcher a node, as kubelets do, and three that see everything.
void PatchWatched(benchmark::State& state) {
  TestServer api;
  Fill(api, 20'000);
  int64_t seen = 0;
  kube::WatchRequest watch;
  watch.resource = &kube::kPods;
  watch.resource_version = std::to_string(api.server.revision());
  for (int n = 0; n < 5003; ++n) {
    watch.field_selector = n < 5000 ? "spec.nodeName=node-" + std::to_string(n) : "";
    (void)api.server.StartWatch(watch, [&](WatchNotice) { ++seen; });
  }
  int64_t i = 0;
  for (auto _ : state) {
    json::Doc patch = {{"status", {{"podIP", std::to_string(i)}}}};
    api.Patch(kube::kPods, "pod-" + std::to_string(i++ % 20'000), patch, "status");
  }
  if (seen != 4 * i) state.SkipWithError("each write must reach four watchers");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(PatchWatched);

void ListPodsOfOneJob(benchmark::State& state) {
  TestServer api;
  Fill(api, 20'000);
  for (auto _ : state) {
    benchmark::DoNotOptimize(api.List(kube::kPods, "training.kubeflow.org/job-name=job-77"));
  }
}
BENCHMARK(ListPodsOfOneJob)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep::apiserver
