#include "kube/client/http_api.h"

#include <unordered_map>
#include <utility>

#include "kube/client/connector.h"
#include "kube/client/curl_loop.h"
#include "kube/client/request_lane.h"
#include "kube/client/watch_lane.h"

namespace lockstep::kube {

// What the loop's thread knows: who waits for which answer. Posted tasks hold it weakly, so that nothing is
// called once the HttpApi is gone.
class HttpApi::LoopSide {
 public:
  struct Waiting {
    Done done;
    Verb verb;
    const Resource* resource;
    MonoTime since;
  };

  void Answer(uint64_t id, Response response, const HttpApiOptions& options, MonoTime now) {
    auto found = waiting.find(id);
    if (found == waiting.end()) return;
    Waiting who = std::move(found->second);
    waiting.erase(found);
    if (options.on_answer) options.on_answer(who.verb, *who.resource, response.status, now - who.since);
    who.done(std::move(response));
  }

  std::unordered_map<uint64_t, Waiting> waiting;
  std::unordered_map<uint64_t, WatchHandler*> watches;
  uint64_t next_id = 1;
};

// What the I/O thread owns.
class HttpApi::IoSide {
 public:
  IoSide(Loop& loop, std::weak_ptr<LoopSide> loop_side, ClientConfig config, const HttpApiOptions& options)
      : loop_(loop),
        loop_side_(std::move(loop_side)),
        options_(options),
        connector_(std::move(config), options_),
        requests_(curl_, connector_, options_,
                  [this](uint64_t id, Response response) { Answer(id, std::move(response)); }),
        watches_(curl_, connector_, options_,
                 {.frames =
                      [this](uint64_t id, std::shared_ptr<WatchFlow> flow, std::vector<WatchFrame> frames) {
                        Frames(id, std::move(flow), std::move(frames));
                      },
                  .ended = [this](uint64_t id, Status status) { Ended(id, std::move(status)); }}) {
    curl_.Start();
  }
  ~IoSide() { curl_.Stop(); }

  // The rest is called by the loop's thread.
  void Submit(RequestLane::Call call) {
    auto kept = std::make_shared<RequestLane::Call>(std::move(call));
    curl_.Post([this, kept] { requests_.Submit(std::move(*kept)); });
  }
  void StartWatch(uint64_t id, WatchRequest request) {
    curl_.Post([this, id, request = std::move(request)] { watches_.Start(id, request); });
  }
  void CancelWatch(uint64_t id) {
    curl_.Post([this, id] { watches_.Cancel(id); });
  }

 private:
  void Answer(uint64_t id, Response response);
  void Frames(uint64_t id, std::shared_ptr<WatchFlow> flow, std::vector<WatchFrame> frames);
  void Ended(uint64_t id, Status status);
  void Deliver(LoopSide& side, uint64_t id, WatchFlow& flow, std::vector<WatchFrame>& frames);

  Loop& loop_;
  std::weak_ptr<LoopSide> loop_side_;
  const HttpApiOptions& options_;
  CurlLoop curl_;
  Connector connector_;
  RequestLane requests_;
  WatchLane watches_;
};

void HttpApi::IoSide::Answer(uint64_t id, Response response) {
  auto kept = std::make_shared<Response>(std::move(response));
  loop_.Post([this, weak = loop_side_, id, kept] {
    // `this` lives as long as the loop's side: both go with the HttpApi, on the loop's thread.
    if (auto side = weak.lock()) side->Answer(id, std::move(*kept), options_, loop_.now().mono);
  });
}

void HttpApi::IoSide::Frames(uint64_t id, std::shared_ptr<WatchFlow> flow, std::vector<WatchFrame> frames) {
  auto kept = std::make_shared<std::vector<WatchFrame>>(std::move(frames));
  loop_.Post([this, weak = loop_side_, id, flow = std::move(flow), kept] {
    if (auto side = weak.lock()) Deliver(*side, id, *flow, *kept);
  });
}

// A handler may destroy its own watch, or the whole HttpApi, in the middle of a batch.
void HttpApi::IoSide::Deliver(LoopSide& side, uint64_t id, WatchFlow& flow, std::vector<WatchFrame>& frames) {
  std::weak_ptr<LoopSide> alive = loop_side_;
  size_t limit = options_.max_undelivered_bytes;
  for (WatchFrame& frame : frames) {
    auto found = side.watches.find(id);
    if (found == side.watches.end()) return;
    size_t size = frame.object.size();
    found->second->OnEvent(frame.type, std::move(frame.object));
    size_t before = flow.undelivered_bytes.fetch_sub(size);
    if (alive.use_count() <= 1) return;  // only our caller's reference is left
    if (before > limit / 2 && before - size <= limit / 2) {
      curl_.Post([this, id] { watches_.Resume(id); });
    }
  }
}

void HttpApi::IoSide::Ended(uint64_t id, Status status) {
  loop_.Post([weak = loop_side_, id, status = std::move(status)] {
    auto side = weak.lock();
    if (!side) return;
    auto found = side->watches.find(id);
    if (found == side->watches.end()) return;
    WatchHandler* handler = found->second;
    side->watches.erase(found);
    handler->OnEnd(status);
  });
}

class HttpApi::RunningWatch final : public Watch {
 public:
  RunningWatch(uint64_t id, std::weak_ptr<LoopSide> loop_side, std::weak_ptr<IoSide> io)
      : id_(id), loop_side_(std::move(loop_side)), io_(std::move(io)) {}
  ~RunningWatch() override {
    auto side = loop_side_.lock();
    auto io = io_.lock();
    if (side && io && side->watches.erase(id_) != 0) io->CancelWatch(id_);
  }

 private:
  uint64_t id_;
  std::weak_ptr<LoopSide> loop_side_;
  std::weak_ptr<IoSide> io_;
};

HttpApi::HttpApi(Loop& loop, ClientConfig config, HttpApiOptions options)
    : loop_(loop),
      options_(std::move(options)),
      loop_side_(std::make_shared<LoopSide>()),
      io_(std::make_shared<IoSide>(loop, loop_side_, std::move(config), options_)) {}

HttpApi::~HttpApi() {
  loop_side_.reset();  // first: from here on no answer is delivered
  io_.reset();
}

Loop& HttpApi::loop() { return loop_; }

size_t HttpApi::waiting() const { return loop_side_->waiting.size(); }

void HttpApi::Send(Request request, Done done) {
  uint64_t id = loop_side_->next_id++;
  bool full = loop_side_->waiting.size() >= options_.max_waiting;
  loop_side_->waiting.emplace(
      id, LoopSide::Waiting{std::move(done), request.verb, request.resource, loop_.now().mono});
  if (full) {
    Status status =
        ErrorStatus(429, "TooManyRequests", "too many requests of this client wait for an answer");
    loop_.Post([this, weak = std::weak_ptr(loop_side_), id, status] {
      if (auto side = weak.lock()) side->Answer(id, Response{status, ""}, options_, loop_.now().mono);
    });
    return;
  }
  RequestLane::Call call;
  call.id = id;
  call.verb = request.verb;
  call.not_after = request.not_after;
  call.http = BuildCall(request, options_.field_manager, options_.request_timeout);
  io_->Submit(std::move(call));
}

std::unique_ptr<Watch> HttpApi::StartWatch(WatchRequest request, WatchHandler& handler) {
  uint64_t id = loop_side_->next_id++;
  loop_side_->watches.emplace(id, &handler);
  io_->StartWatch(id, std::move(request));
  return std::make_unique<RunningWatch>(id, loop_side_, io_);
}

}  // namespace lockstep::kube
