#include "apiserver/memory_api.h"

#include <deque>
#include <set>
#include <utility>

#include "base/hash.h"

namespace lockstep::apiserver {

using kube::Request;
using kube::Response;
using kube::Status;
using kube::WatchEventType;

// What outlives the MemoryApi: tasks that wait in the loop hold it, and `open` tells them that nobody
// listens.
struct MemoryApi::Connection {
  Connection(Loop& l, Server& s, Options o) : loop(l), server(s), options(std::move(o)) {}

  Loop& loop;
  Server& server;
  const Options options;
  bool open = true;
  bool down = false;
  std::function<Duration(const kube::Resource&)> watch_delay;
  std::set<const kube::Resource*> stalled;
  bool all_stalled = false;
  std::vector<MemoryWatch*> watches;  // in the order of their start
  uint64_t watches_started = 0;

  Response Handle(const Request& request) {
    Response response = server.Handle(request, loop.now(), options.user);
    if (server.ClaimControllerWork()) ScheduleControllers(loop, server);
    return response;
  }

  static void ScheduleControllers(Loop& loop, Server& server) {
    loop.After(server.options().controller_delay, [&loop, &server] {
      server.RunControllers(loop.now());
      if (server.ClaimControllerWork()) ScheduleControllers(loop, server);
    });
  }
};

// Events wait in a queue and are delivered by one task at a time, each not before its own time.
class MemoryApi::MemoryWatch final : public kube::Watch {
 public:
  MemoryWatch(std::shared_ptr<Connection> connection, const kube::WatchRequest& request,
              kube::WatchHandler& handler)
      : connection_(std::move(connection)),
        resource_(*request.resource),
        handler_(&handler),
        delivery_(connection_->loop),
        bookmark_(connection_->loop),
        timeout_(connection_->loop),
        silence_(connection_->loop) {
    connection_->watches.push_back(this);
    Start(request);
  }

  ~MemoryWatch() override {
    Close();
    std::erase(connection_->watches, this);
  }

  const kube::Resource& resource() const { return resource_; }
  bool running() const { return !ended_; }

  // Nothing that still waits is delivered: it was on the connection.
  void Break(Status status) {
    queue_.clear();
    broken_ = true;
    End(std::move(status));
  }

  // After a stall began or ended.
  void StallChanged() {
    Duration limit = connection_->options.silence_limit;
    if (!Stalled()) {
      silence_.Stop();
      Wake();
    } else if (!ended_ && !silence_.armed() && limit > Duration::zero()) {
      silence_.SetAfter(limit, [this] { Break(kube::NoAnswer("the watch fell silent")); });
    }
  }

 private:
  struct Item {
    MonoTime due;
    std::optional<WatchNotice> notice;  // none: the end, or a bookmark
    std::string bookmark;
    Status end;
  };

  void Start(const kube::WatchRequest& request) {
    uint64_t number = ++connection_->watches_started;
    if (connection_->down) return End(kube::NoAnswer("connection refused"));
    Result<WatchId, Status> id =
        connection_->server.StartWatch(request, [this](WatchNotice notice) { Push(std::move(notice)); });
    if (!id.ok()) return End(id.error());
    id_ = *id;
    StallChanged();
    ArmBookmark();
    const Options& options = connection_->options;
    auto half = static_cast<uint64_t>(options.watch_timeout.count() / 2);
    if (half == 0) return;
    Duration jitter(static_cast<int64_t>(StableJitter(options.user, number, half)));
    timeout_.SetAfter(options.watch_timeout / 2 + jitter, [this] { End(kube::OkStatus()); });
  }

  void Push(WatchNotice notice) { Enqueue({Due(), std::move(notice), "", {}}); }

  MonoTime Due() {
    MonoTime due = connection_->loop.now().mono;
    if (connection_->watch_delay) due += connection_->watch_delay(resource_);
    // Later events never overtake.
    return last_due_ = std::max(last_due_, due);
  }

  void Enqueue(Item item) {
    queue_.push_back(std::move(item));
    Wake();
  }

  void Wake() {
    if (!queue_.empty() && !delivery_.armed()) Arm();
  }

  bool Stalled() const {
    return !broken_ && (connection_->all_stalled || connection_->stalled.contains(&resource_));
  }

  void Arm() {
    if (Stalled()) return;
    delivery_.SetAt(std::max(queue_.front().due, connection_->loop.now().mono), [this] { Deliver(); });
  }

  void Deliver() {
    if (queue_.empty() || Stalled()) return;
    Item item = std::move(queue_.front());
    queue_.pop_front();
    if (!queue_.empty()) Arm();
    // The handler may destroy this watch; nothing may follow the call.
    if (item.notice) return handler_->OnTree(item.notice->type, item.notice->Tree());
    if (!item.bookmark.empty()) return handler_->OnEvent(WatchEventType::kBookmark, std::move(item.bookmark));
    handler_->OnEnd(std::move(item.end));
  }

  void ArmBookmark() {
    Duration every = connection_->options.bookmark_every;
    if (every <= Duration::zero()) return;
    bookmark_.SetAfter(every, [this] {
      ArmBookmark();
      Enqueue({Due(), std::nullopt, connection_->server.Bookmark(resource_), {}});
    });
  }

  void Close() {
    if (id_ != 0) connection_->server.StopWatch(std::exchange(id_, 0));
    bookmark_.Stop();
    timeout_.Stop();
    silence_.Stop();
  }

  void End(Status status) {
    if (std::exchange(ended_, true)) return;
    Close();
    Enqueue({Due(), std::nullopt, "", std::move(status)});
  }

  std::shared_ptr<Connection> connection_;
  const kube::Resource& resource_;
  kube::WatchHandler* handler_;
  WatchId id_ = 0;
  bool ended_ = false;
  bool broken_ = false;
  MonoTime last_due_{};
  std::deque<Item> queue_;
  Timer delivery_, bookmark_, timeout_, silence_;
};

MemoryApi::MemoryApi(Loop& loop, Server& server, Options options)
    : loop_(loop), connection_(std::make_shared<Connection>(loop, server, std::move(options))) {}

MemoryApi::~MemoryApi() {
  connection_->open = false;
  BreakWatches(kube::NoAnswer("the client is gone"));
}

void MemoryApi::Send(Request request, Done done) {
  Fault fault = faults_ ? faults_(request) : Fault{};
  if (connection_->down) fault.lose_request = true;
  if (fault.lose_request || fault.lose_answer) {
    loop_.After(fault.give_up_after, [connection = connection_, done = std::move(done)] {
      if (connection->open)
        done({kube::NoAnswer(connection->down ? "connection refused" : "connection lost"), ""});
    });
    if (fault.lose_request) return;
    done = nullptr;
  }
  Apply(connection_, std::move(request), std::move(fault), std::move(done));
}

void MemoryApi::Apply(const std::shared_ptr<Connection>& connection, Request request, Fault fault,
                      Done done) {
  Duration wait = fault.apply_after;
  auto task = [connection, request = std::move(request), fault = std::move(fault), done = std::move(done)] {
    Response response = fault.refuse ? Refuse(*fault.refuse) : connection->Handle(request);
    if (!done || !connection->open) return;
    if (fault.answer_after <= Duration::zero()) return done(std::move(response));
    connection->loop.After(fault.answer_after, [connection, done, response = std::move(response)] {
      if (connection->open) done(response);
    });
  };
  loop_.After(wait, std::move(task));
}

std::unique_ptr<kube::Watch> MemoryApi::StartWatch(kube::WatchRequest request, kube::WatchHandler& handler) {
  return std::make_unique<MemoryWatch>(connection_, std::move(request), handler);
}

void MemoryApi::SetDown(bool down) {
  connection_->down = down;
  if (down) BreakWatches(kube::NoAnswer("connection reset"));
}

void MemoryApi::SetWatchDelay(std::function<Duration(const kube::Resource&)> delay) {
  connection_->watch_delay = std::move(delay);
}

void MemoryApi::BreakWatches(const Status& status, const kube::Resource* resource) {
  // Breaking only queues the end, so no handler changes the list meanwhile.
  for (MemoryWatch* watch : connection_->watches) {
    if (watch->running() && (resource == nullptr || &watch->resource() == resource)) watch->Break(status);
  }
}

void MemoryApi::StallWatches(bool stalled, const kube::Resource* resource) {
  if (resource == nullptr) {
    connection_->all_stalled = stalled;
    if (!stalled) connection_->stalled.clear();
  } else if (stalled) {
    connection_->stalled.insert(resource);
  } else {
    connection_->stalled.erase(resource);
  }
  for (MemoryWatch* watch : connection_->watches) watch->StallChanged();
}

int MemoryApi::running_watches() const {
  return static_cast<int>(std::count_if(connection_->watches.begin(), connection_->watches.end(),
                                        [](const MemoryWatch* watch) { return watch->running(); }));
}

}  // namespace lockstep::apiserver
