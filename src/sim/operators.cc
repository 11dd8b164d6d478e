#include "sim/operators.h"

namespace lockstep::sim {

class Operators::Replica final : public shell::Observer {
 public:
  Replica(Operators& all, std::string name)
      : all_(all), name_(std::move(name)), api_(all.ground_.network().Connect()) {
    shell::OperatorOptions options;
    options.ns = all.ground_.operator_ns();
    options.identity = name_;
    options.settings = all.settings_;
    if (all.elect_) {
      options.leader.emplace();
      options.leader->ns = all.ground_.ns();
      options.leader->identity = name_;
    }
    operator_ = std::make_unique<shell::Operator>(*api_, options, this);
  }

  shell::Operator& get() { return *operator_; }
  const std::string& name() const { return name_; }

  void OnStep(const cluster::World& world, Duration, size_t, size_t) override {
    all_.callbacks_.on_step(world);
  }
  void OnLeader(bool leading) override {
    all_.callbacks_.on_log(name_ + (leading ? " leads" : " no longer leads"));
  }
  void OnAnswer(const cluster::Action& action, const kube::Status& status, Duration) override {
    if (status.ok() || action.kind == cluster::ActionKind::kRecordEvent) return;
    all_.callbacks_.on_log(name_ + ": " + std::string(cluster::KindText(action.kind)) + " " + action.touches +
                           ": " + std::to_string(status.code) + " " + status.message);
  }

 private:
  Operators& all_;
  const std::string name_;
  std::unique_ptr<kube::Api> api_;
  std::unique_ptr<shell::Operator> operator_;
};

void Operators::Start() {
  replicas_.push_back(std::make_shared<Replica>(*this, "operator-" + std::to_string(next_++)));
  callbacks_.on_log(replicas_.back()->name() + " starts");
  replicas_.back()->get().Start();
}

void Operators::Replicas(int count) {
  elect_ = true;
  while (running() < static_cast<size_t>(count)) Start();
}

void Operators::CrashAll() {
  for (const auto& replica : replicas_) callbacks_.on_log(replica->name() + " crashes");
  replicas_.clear();
}

size_t Operators::Leader() const {
  for (size_t i = 0; i < replicas_.size(); ++i) {
    if (replicas_[i]->get().leading()) return i;
  }
  return replicas_.size();
}

bool Operators::someone_leads() const {
  size_t leader = Leader();
  return leader < replicas_.size() && replicas_[leader]->get().synced();
}

Outcome Operators::CrashLeader() {
  size_t leader = Leader();
  if (leader == replicas_.size()) return Error{"nobody leads"};
  callbacks_.on_log(replicas_[leader]->name() + " crashes");
  replicas_.erase(replicas_.begin() + static_cast<std::ptrdiff_t>(leader));
  return {};
}

Outcome Operators::StopLeader() {
  size_t leader = Leader();
  if (leader == replicas_.size()) return Error{"nobody leads"};
  callbacks_.on_log(replicas_[leader]->name() + " stops");
  auto stopped = std::make_shared<bool>(false);
  replicas_[leader]->get().Stop([stopped] { *stopped = true; });
  bool in_time = ground_.RunUntilTrue([&] { return *stopped; }, seconds(10));
  replicas_.erase(replicas_.begin() + static_cast<std::ptrdiff_t>(leader));
  if (!in_time) return Error{"the leader did not stop within 10s"};
  return {};
}

}  // namespace lockstep::sim
