#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "apiserver/memory_api.h"
#include "apiserver/server.h"
#include "base/virtual_loop.h"
#include "sim/ground.h"

namespace lockstep::sim {

struct SimulatedGroundOptions {
  uint64_t seed = 1;  // of the network's jitter
  Duration latency = milliseconds(1);
  Duration jitter = milliseconds(2);
};

// The API server in memory and virtual time: two runs with one seed are equal, event by event.
class SimulatedGround final : public Ground {
 public:
  explicit SimulatedGround(SimulatedGroundOptions options = {});
  ~SimulatedGround() override;

  // Called at least once per `slice` of virtual time; to show something and to slow down.
  void SetPace(Duration slice, std::function<void()> pace) {
    slice_ = slice;
    pace_ = std::move(pace);
  }

  Outcome Prepare() override;
  void CleanUp() override {}
  Loop& loop() override { return loop_; }
  bool virtual_time() const override { return true; }
  double scale() const override { return 1; }
  const std::string& ns() const override { return ns_; }
  std::string operator_ns() const override { return ""; }
  kube::Api& user() override { return user_; }
  Network& network() override { return network_; }
  hollow::Fleet& fleet() override { return *fleet_; }
  Picture& picture() override { return picture_; }
  void Compact() override;
  Outcome Inject(const kube::Resources& sidecar) override;
  bool RunUntilTrue(const std::function<bool()>& done, Duration limit) override;
  void Refresh() override;
  apiserver::Server& server() { return server_; }

 private:
  bool RunSlice(const std::function<bool()>& done, Duration limit);

  VirtualLoop loop_;
  apiserver::Server server_;
  apiserver::MemoryApi user_, operators_, nodes_;
  Network network_;
  std::unique_ptr<hollow::Fleet> fleet_;
  const std::string ns_ = "default";
  Picture picture_;
  struct Notice {
    const kube::Resource* resource;
    apiserver::WatchNotice notice;
  };
  std::deque<Notice> unseen_;
  std::vector<apiserver::WatchId> watches_;
  Duration slice_{};
  std::function<void()> pace_;
};

}  // namespace lockstep::sim
