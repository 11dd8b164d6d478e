#include "hollow/write_queue.h"

#include <algorithm>

#include "base/hash.h"
#include "base/log.h"

namespace lockstep::hollow {

namespace {

constexpr Duration kFirstRetry = milliseconds(100);
constexpr Duration kLongestRetry = seconds(10);

Duration RetryDelay(const std::string& key, int tries, const kube::Status& status) {
  Duration whole = std::min<Duration>(kFirstRetry * (int64_t{1} << std::min(tries, 16)), kLongestRetry);
  int64_t half = whole.count() / 2;
  Duration delay(half + static_cast<int64_t>(
                            StableJitter(key, static_cast<uint64_t>(tries), static_cast<uint64_t>(half))));
  return std::max(delay, status.retry_after.value_or(Duration::zero()));
}

bool Replaces(const kube::Request& later, const kube::Request& earlier) {
  return later.verb == kube::Verb::kPatch && earlier.verb == kube::Verb::kPatch &&
         later.resource == earlier.resource && later.name == earlier.name &&
         later.subresource == earlier.subresource && later.patch == earlier.patch;
}

}  // namespace

WriteQueue::WriteQueue(kube::Api& api, int most_in_flight) : api_(api), most_in_flight_(most_in_flight) {}

WriteQueue::~WriteQueue() { *alive_ = false; }

void WriteQueue::Put(const std::string& key, kube::Request request, Done done) {
  Lane& lane = lanes_[key];
  size_t unsent = lane.writes.size() - (lane.in_flight ? 1 : 0);
  if (unsent > 0 && Replaces(request, lane.writes.back().request)) {
    lane.writes.back() = {std::move(request), std::move(done)};
    return;
  }
  lane.writes.push_back({std::move(request), std::move(done)});
  if (lane.writes.size() > 1) return;
  MakeReady(key, lane);
  SendReady();
}

void WriteQueue::Drop(const std::string& key) {
  auto found = lanes_.find(key);
  if (found == lanes_.end()) return;
  Lane& lane = found->second;
  if (lane.in_flight) {
    lane.writes.resize(1);
  } else {
    lanes_.erase(found);
  }
}

void WriteQueue::MakeReady(const std::string& key, Lane& lane) {
  lane.queued = true;
  ready_.push_back(key);
}

void WriteQueue::SendReady() {
  while (in_flight_ < most_in_flight_ && !ready_.empty()) {
    std::string key = std::move(ready_.front());
    ready_.pop_front();
    auto found = lanes_.find(key);
    if (found == lanes_.end() || !found->second.queued) continue;  // dropped meanwhile
    Lane& lane = found->second;
    lane.queued = false;
    lane.in_flight = true;
    ++in_flight_;
    ++counts_.sent;
    api_.Send(lane.writes.front().request, [this, alive = alive_, key](const kube::Response& response) {
      if (*alive) OnAnswer(key, response);
    });
  }
}

void WriteQueue::OnAnswer(const std::string& key, const kube::Response& response) {
  --in_flight_;
  Lane& lane = lanes_.at(key);
  lane.in_flight = false;
  if (!response.status.ok() && response.status.transient()) {
    TryAgain(key, lane, response.status);
    return SendReady();
  }
  if (!response.status.ok() && !response.status.not_found() && response.status.code != 409) {
    ++counts_.refused;
    LogLine(LogLevel::kWarning, "write refused",
            {{"key", key}, {"code", response.status.code}, {"error", response.status.message}});
  }
  Done done = std::move(lane.writes.front().done);
  lane.writes.pop_front();
  lane.tries = 0;
  if (lane.writes.empty()) {
    lanes_.erase(key);
  } else {
    MakeReady(key, lane);
  }
  SendReady();
  if (done) done(response);
}

void WriteQueue::TryAgain(const std::string& key, Lane& lane, const kube::Status& status) {
  ++counts_.retried;
  Duration delay = RetryDelay(key, lane.tries++, status);
  api_.loop().After(delay, [this, alive = alive_, key] {
    if (!*alive) return;
    auto found = lanes_.find(key);
    if (found == lanes_.end() || found->second.in_flight || found->second.queued) return;
    MakeReady(key, found->second);
    SendReady();
  });
}

}  // namespace lockstep::hollow
