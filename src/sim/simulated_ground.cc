#include "sim/simulated_ground.h"

namespace lockstep::sim {

namespace {

apiserver::MemoryApi::Options User(const char* name) {
  apiserver::MemoryApi::Options options;
  options.user = name;
  return options;
}

NetworkOptions NetworkOf(const SimulatedGroundOptions& options) {
  NetworkOptions network;
  network.latency = options.latency;
  network.jitter = options.jitter;
  network.seed = options.seed;
  return network;
}

}  // namespace

SimulatedGround::SimulatedGround(SimulatedGroundOptions options)
    : user_(loop_, server_, User("user")),
      operators_(loop_, server_, User("lockstep")),
      nodes_(loop_, server_, User("nodes")),
      network_(operators_, NetworkOf(options)) {}

SimulatedGround::~SimulatedGround() {
  for (apiserver::WatchId watch : watches_) server_.StopWatch(watch);
}

Outcome SimulatedGround::Prepare() {
  for (const kube::Resource* resource : PictureResources()) {
    kube::WatchRequest request;
    request.resource = resource;
    auto watch = server_.StartWatch(request, [this, resource](apiserver::WatchNotice notice) {
      unseen_.push_back({resource, std::move(notice)});
    });
    if (!watch.ok()) return Error{watch.error().message};
    watches_.push_back(*watch);
  }
  hollow::FleetOptions options;
  options.evict_by_taints = true;
  fleet_ = std::make_unique<hollow::Fleet>(nodes_, options);
  fleet_->Start();
  return {};
}

void SimulatedGround::Refresh() {
  while (!unseen_.empty()) {
    Notice seen = std::move(unseen_.front());
    unseen_.pop_front();
    if (seen.notice.type == kube::WatchEventType::kBookmark) continue;
    picture_.Take(*seen.resource, seen.notice.Tree(), seen.notice.type == kube::WatchEventType::kDeleted);
  }
}

void SimulatedGround::Compact() {
  server_.Compact();
  network_.EndWatches(
      kube::ErrorStatus(410, "Expired", "The resourceVersion for the provided watch is too old."));
}

Outcome SimulatedGround::Inject(const kube::Resources& sidecar) {
  json::Doc container = {{"name", "injected"}, {"image", "sidecar"}, {"restartPolicy", "Always"}};
  for (const auto& [resource, amount] : sidecar)
    container["resources"]["requests"][resource] = kube::FormatQuantity(amount);
  server_.SetMutator(kube::kPods, [container](json::Doc& pod, const kube::Request& request) {
    if (request.verb == kube::Verb::kCreate && container.contains("resources"))
      pod["spec"]["initContainers"].push_back(container);
    return std::optional<kube::Status>();
  });
  // What makes it do so: operators see that admission has changed.
  kube::Request request;
  request.verb = kube::Verb::kCreate;
  request.resource = &kube::kMutatingWebhooks;
  request.body = json::Dump({{"metadata", {{"generateName", "inject-"}}}});
  kube::Response made = Ask(std::move(request));
  if (!made.status.ok()) return Error{made.status.message};
  return {};
}

bool SimulatedGround::RunSlice(const std::function<bool()>& done, Duration limit) {
  MonoTime end = loop_.now().mono + limit;
  auto seen_and_done = [&] {
    Refresh();
    return done();
  };
  if (loop_.RunUntilTrue(seen_and_done, limit)) return true;
  loop_.RunUntil(end);
  return false;
}

bool SimulatedGround::RunUntilTrue(const std::function<bool()>& done, Duration limit) {
  if (!pace_) return RunSlice(done, limit);
  MonoTime end = loop_.now().mono + limit;
  while (true) {
    Duration left = end - loop_.now().mono;
    bool held = RunSlice(done, std::min(left, slice_));
    pace_();
    if (held) return true;
    if (left <= slice_) return false;
  }
}

}  // namespace lockstep::sim
