#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/client/connector.h"
#include "kube/client/curl_loop.h"
#include "kube/client/watch_stream.h"

namespace lockstep::kube {

// How far the loop is behind a watch; shared by the I/O thread and the loop.
struct WatchFlow {
  std::atomic<size_t> undelivered_bytes{0};
};

// The watches, each on a connection of its own. Lives on the I/O thread like RequestLane.
class WatchLane {
 public:
  struct Sink {
    // Both on the I/O thread. After `ended` nothing follows for that id.
    std::function<void(uint64_t id, std::shared_ptr<WatchFlow>, std::vector<WatchFrame>)> frames;
    std::function<void(uint64_t id, Status)> ended;
  };

  WatchLane(CurlLoop& loop, Connector& connector, const HttpApiOptions& options, Sink sink);
  ~WatchLane();

  void Start(uint64_t id, const WatchRequest& request);
  void Cancel(uint64_t id);
  // The loop has caught up: read on if the watch was paused.
  void Resume(uint64_t id);

 private:
  struct Transfer;

  void Open(Transfer& transfer);
  void OnFinished(CURL* easy, CURLcode code);
  void End(Transfer& transfer, Status status);
  void Erase(Transfer& transfer);
  void ArmIdleTimer(Transfer& transfer);
  size_t TakeBody(Transfer& transfer, std::string_view bytes);
  Status Judge(Transfer& transfer, CURLcode code, long http_code);
  static size_t OnBody(char* data, size_t, size_t size, void* transfer);

  CurlLoop& loop_;
  Connector& connector_;
  const HttpApiOptions& options_;
  Sink sink_;
  CURLM* multi_;
  std::unordered_map<uint64_t, std::unique_ptr<Transfer>> transfers_;
};

}  // namespace lockstep::kube
