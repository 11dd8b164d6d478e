#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apiserver/server.h"
#include "base/loop.h"
#include "kube/api/api.h"

namespace lockstep::apiserver {

// What goes wrong with one request. The default: nothing, at once.
struct Fault {
  Duration apply_after{0};   // from Send until the server handles it
  Duration answer_after{0};  // from then until the answer arrives

  bool lose_request = false;           // the server never sees it
  bool lose_answer = false;            // it is applied, but nobody learns of it
  std::optional<kube::Status> refuse;  // the server answers this and applies nothing: a 500, 429, 409
  // For the two losses: from Send until the caller is told NoAnswer. With a longer apply_after, a write takes
  // effect after its sender has given it up, which a real network may do at any later moment.
  Duration give_up_after{0};
};

using FaultHook = std::function<Fault(const kube::Request&)>;

// One client's connection to a Server: a kube::Api on a Loop. Many may share a Server (operator, nodes,
// users), each with its own faults; all must be on the same Loop. The Server must outlive the loop's last
// task; the MemoryApi may go at any time, as a crashed process does: what it has sent is applied all the
// same, its watches end, and it hears nothing more.
class MemoryApi final : public kube::Api {
 public:
  struct Options {
    std::string user = "user";              // for the server's audit
    Duration bookmark_every = seconds(60);  // zero: none
    Duration watch_timeout = minutes(40);   // the server ends a watch after between half of it and all
    Duration silence_limit = seconds(150);  // after which the client takes a stalled watch for broken
  };

  MemoryApi(Loop& loop, Server& server, Options options);
  MemoryApi(Loop& loop, Server& server) : MemoryApi(loop, server, Options()) {}
  ~MemoryApi() override;

  Loop& loop() override { return loop_; }
  void Send(kube::Request request, Done done) override;
  std::unique_ptr<kube::Watch> StartWatch(kube::WatchRequest request, kube::WatchHandler& handler) override;

  // Asked once for every request, in the order of sending.
  void SetFaults(FaultHook hook) { faults_ = std::move(hook); }
  // No connection: requests and new watches are refused with NoAnswer, running watches break.
  void SetDown(bool down);
  // How late watch events arrive; they stay in order. The hook is asked for each event.
  void SetWatchDelay(std::function<Duration(const kube::Resource&)> delay);
  // Ends the running watches of `resource` (null: all) with `status`: NoAnswer for a broken connection, a 410
  // in mid-stream, ok for a server's time-out. Events not yet delivered are lost, as on a real connection.
  void BreakWatches(const kube::Status& status, const kube::Resource* resource = nullptr);
  // While stalled, watches are silent (a half-open connection); what happened comes afterwards, unless the
  // client notices the missing bookmarks before (Options::silence_limit).
  void StallWatches(bool stalled, const kube::Resource* resource = nullptr);

  int running_watches() const;

 private:
  struct Connection;
  class MemoryWatch;

  void Apply(const std::shared_ptr<Connection>& connection, kube::Request request, Fault fault, Done done);

  Loop& loop_;
  FaultHook faults_;
  std::shared_ptr<Connection> connection_;
};

}  // namespace lockstep::apiserver
