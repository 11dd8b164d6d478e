#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/api/api.h"
#include "sim/scenario.h"

namespace lockstep::sim {

struct NetworkOptions {
  // One way, for requests, answers and watch events; each request draws up to `jitter` more, so answers
  // overtake each other. Events of one watch stay in order.
  Duration latency{};
  Duration jitter{};
  uint64_t seed = 1;
  Duration no_answer_after = milliseconds(100);  // a lost request or answer is known by then
};

// What lies between clients and an API server: latency and the faults of a scenario. It outlives its
// connections: what a crashed client had sent is applied all the same.
class Network {
 public:
  // Told of every write when the server has answered it, also when the client never hears.
  using OnWrite = std::function<void(const kube::Request&, const kube::Response&)>;

  Network(kube::Api& server, NetworkOptions options)
      : server_(server), options_(options), random_(options.seed) {}
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  std::unique_ptr<kube::Api> Connect();

  void Shape(const ShapeNetwork& shape);
  void Add(const Fault& fault);
  void Clear();
  bool troubled() const;  // some fault is in force
  // Ends watches: breaks are NoAnswer, expiries 410. A null resource means all.
  void EndWatches(const kube::Status& status, const kube::Resource* resource = nullptr);

  // What is under way to the server never arrives: the other end of what a crash may mean.
  void LoseRequestsUnderWay() { ++epoch_; }

  // Pods that carry this name (as of attempt 1) and attempt are created with these annotations.
  void SetRank(const Rank& rank) { ranks_.push_back(rank); }
  void Listen(OnWrite on_write) { on_write_ = std::move(on_write); }
  int64_t writes() const { return writes_; }  // dry runs apart
  MonoTime last_write() const { return last_write_; }
  size_t in_flight() const { return in_flight_; }

 private:
  class Connection;
  class WatchEnd;
  struct Rule {
    Fault fault;
    const kube::Resource* resource = nullptr;  // null: all
    std::optional<MonoTime> until;
    std::optional<int64_t> left;
  };

  Rule* Find(const kube::Request& request);
  bool WatchFault(Fault::Effect effect, const kube::Resource& resource);
  Duration Travel();
  void ApplyRanks(kube::Request& request) const;
  void Deliver(kube::Request request, Duration after, kube::Api::Done done);
  void Send(kube::Request request, std::shared_ptr<bool> client, kube::Api::Done done);
  void DropOld();

  kube::Api& server_;
  NetworkOptions options_;
  uint64_t random_;
  std::list<Rule> rules_;
  std::vector<Rank> ranks_;
  std::vector<WatchEnd*> watches_;  // in the order of their start
  OnWrite on_write_;
  int64_t writes_ = 0;
  MonoTime last_write_{};
  size_t in_flight_ = 0;
  uint64_t epoch_ = 0;  // requests of an older one are lost
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

bool IsWrite(const kube::Request& request);  // and no dry run

}  // namespace lockstep::sim
