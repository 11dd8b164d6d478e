#pragma once

#include <memory>

#include "kube/api/api.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/options.h"

namespace lockstep::kube {

// The API of a cluster over HTTPS.
//
//   the loop's thread                        the I/O thread
//   Send, StartWatch ──── CurlLoop::Post ──► RequestLane, WatchLane ──► libcurl
//   done, OnEvent    ◄──── Loop::Post ────── answers, events
//
// Handlers and `done` stay on the loop's thread; only ids cross, and no lock is held while anything is
// called. Requests and watches never share connections: a watch holds its connection for minutes, and as many
// watches as connections would stall every write.
//
// Answers: as api.h says; code 0 when the connection failed, the time limit passed, or a 2xx body is not a
// whole JSON document. A write with code 0 may have been applied. The Loop must outlive the HttpApi.
class HttpApi final : public Api {
 public:
  HttpApi(Loop& loop, ClientConfig config, HttpApiOptions options = {});
  ~HttpApi() override;

  Loop& loop() override;
  void Send(Request request, Done done) override;
  std::unique_ptr<Watch> StartWatch(WatchRequest request, WatchHandler& handler) override;

  // Requests without an answer yet, those in the queue included.
  size_t waiting() const;

 private:
  class LoopSide;
  class IoSide;
  class RunningWatch;

  Loop& loop_;
  HttpApiOptions options_;
  std::shared_ptr<LoopSide> loop_side_;
  std::shared_ptr<IoSide> io_;
};

}  // namespace lockstep::kube
