#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "kube/api/api.h"

namespace lockstep::hollow {

// Writes to an API server: in order per key, many keys at a time. What may succeed later (Status::transient)
// is tried again with growing, jittered delays, for ever: a kubelet does not give up a status. Anything else
// ends that write.
class WriteQueue {
 public:
  using Done = std::function<void(const kube::Response&)>;
  struct Counts {
    int64_t sent = 0, retried = 0, refused = 0;
  };

  WriteQueue(kube::Api& api, int most_in_flight);
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  // Two patches of one key where the first has not been sent are one: the later replaces the earlier, whose
  // `done` is not called. So a patch must say everything that the one before it said.
  void Put(const std::string& key, kube::Request request, Done done = {});
  // Forgets what of this key has not been sent.
  void Drop(const std::string& key);

  bool idle(const std::string& key) const { return !lanes_.contains(key); }
  bool idle() const { return lanes_.empty(); }
  const Counts& counts() const { return counts_; }

 private:
  struct Write {
    kube::Request request;
    Done done;
  };
  // The writes of one key; the front one is in flight, waits for a free place, or for its next try.
  struct Lane {
    std::deque<Write> writes;
    bool in_flight = false;
    bool queued = false;  // in ready_
    int tries = 0;
  };

  void MakeReady(const std::string& key, Lane& lane);
  void SendReady();
  void OnAnswer(const std::string& key, const kube::Response& response);
  void TryAgain(const std::string& key, Lane& lane, const kube::Status& status);

  kube::Api& api_;
  const int most_in_flight_;
  int in_flight_ = 0;
  std::unordered_map<std::string, Lane> lanes_;
  std::deque<std::string> ready_;
  Counts counts_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockstep::hollow
