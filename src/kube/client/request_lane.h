#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/client/connector.h"
#include "kube/client/curl_loop.h"
#include "kube/client/http_call.h"

namespace lockstep::kube {

// Requests that are not watches: a queue in front of a fixed number of connections, and the retries. Lives on
// the I/O thread; the constructor runs before it starts, the destructor after it ended.
class RequestLane {
 public:
  struct Call {
    uint64_t id = 0;
    Verb verb = Verb::kGet;
    HttpCall http;
    std::optional<MonoTime> not_after;
    int tries = 0;
    bool token_renewed = false;
  };
  using Answer = std::function<void(uint64_t id, Response)>;

  RequestLane(CurlLoop& loop, Connector& connector, const HttpApiOptions& options, Answer answer);
  ~RequestLane();

  void Submit(Call call);

 private:
  struct Transfer;

  void StartQueued();
  void Start(Call call);
  void OnFinished(CURL* easy, CURLcode code);
  Status Judge(Transfer& transfer, CURLcode code);
  void SendAgain(Call call, Duration delay);
  void AvoidSuspectConnections(CURL* easy);
  static size_t OnBody(char* data, size_t, size_t size, void* transfer);
  static int OnSending(void* transfer, char*, char*, int, int);

  CurlLoop& loop_;
  Connector& connector_;
  const HttpApiOptions& options_;
  Answer answer_;
  CURLM* multi_;
  std::deque<Call> queue_;
  std::unordered_map<CURL*, std::unique_ptr<Transfer>> active_;
  std::vector<CURL*> idle_;          // handles for later use
  std::optional<MonoTime> lost_at_;  // when an answer was last waited for in vain
};

}  // namespace lockstep::kube
