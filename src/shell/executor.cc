#include "shell/executor.h"

#include "json/tolerant.h"

namespace lockstep::shell {

using cluster::Action;
using cluster::ActionDone;
using cluster::ActionKind;

namespace {

size_t LaneOf(ActionKind kind) {
  switch (kind) {
    case ActionKind::kWriteGang:
    case ActionKind::kReadGang:
    case ActionKind::kReadPod:
    case ActionKind::kDeletePod:
    case ActionKind::kWriteJobStatus:
    case ActionKind::kMirrorCounters:
      return 0;
    case ActionKind::kRecordEvent:
      return 2;
    default:
      return 1;
  }
}

}  // namespace

Executor::Executor(kube::Api& api, Gate gate, OnDone on_done, size_t width)
    : api_(api), gate_(std::move(gate)), on_done_(std::move(on_done)), width_(width) {}

Executor::~Executor() { *alive_ = false; }

size_t Executor::queued() const { return lanes_[0].size() + lanes_[1].size() + lanes_[2].size(); }

void Executor::DropQueued() {
  for (auto& lane : lanes_) lane.clear();
}

void Executor::Run(std::vector<Action> actions) {
  for (Action& action : actions) lanes_[LaneOf(action.kind)].push_back(std::move(action));
  Pump();
}

void Executor::Pump() {
  for (auto& lane : lanes_) {
    while (!lane.empty() && in_flight_ < width_) {
      std::optional<MonoTime> until = gate_();
      shut_ = shut_ || !until;
      if (shut_) return;
      Action action = std::move(lane.front());
      lane.pop_front();
      Send(std::move(action), *until);
    }
  }
}

void Executor::Send(Action action, MonoTime until) {
  ++in_flight_;
  MonoTime began = api_.loop().now().mono;
  kube::Request request = action.request;
  request.not_after = until;
  auto sent = std::make_shared<Action>(std::move(action));
  sent->request.body.clear();
  api_.Send(std::move(request), [this, alive = alive_, sent, began](kube::Response response) {
    if (!*alive) return;
    --in_flight_;
    ActionDone done;
    done.id = sent->id;
    done.status = std::move(response.status);
    if (done.status.ok() && response.tree != nullptr) {
      done.object = std::move(response.tree);
    } else if (done.status.ok() && !response.body.empty()) {
      Result<json::Doc> object = json::ParseTolerant(response.body);
      // Half an answer proves that the request arrived, not what became of it.
      if (object.ok()) {
        done.object = std::make_shared<const json::Doc>(*std::move(object));
      } else {
        done.status = kube::NoAnswer("the answer is " + object.error().message);
      }
    }
    Duration took = api_.loop().now().mono - began;
    on_done_(*sent, std::move(done), took);
    if (*alive) Pump();
  });
}

}  // namespace lockstep::shell
