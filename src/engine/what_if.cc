#include "engine/what_if.h"

#include <algorithm>
#include <functional>

#include "engine/place_gangs.h"
#include "engine/roles.h"
#include "gang/place.h"

namespace lockstep::engine {

using cluster::GangState;
using cluster::NodeId;
using cluster::Nodes;
using cluster::Reason;
using cluster::View;
using cluster::World;
using explain::Change;

namespace {

// Answers are for a person who waits for them: so many jobs are tried, and so many nodes.
constexpr size_t kMostJobs = 500;
constexpr int64_t kMostNodes = 4096;

// The least `n` in [1, most] for which `fits` holds, which then holds for all that are larger; or 0.
int64_t Least(int64_t most, const std::function<bool(int64_t)>& fits) {
  int64_t high = 1;
  while (high < most && !fits(high)) high *= 2;
  high = std::min(high, most);
  if (most < 1 || !fits(high)) return 0;
  int64_t low = high / 2 + 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    fits(middle) ? high = middle : low = middle + 1;
  }
  return high;
}

// The largest `n` in [1, most) for which `fits` holds, which then holds for all that are smaller; or 0.
int64_t Most(int64_t most, const std::function<bool(int64_t)>& fits) {
  int64_t low = 0, high = most;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    fits(middle) ? low = middle : high = middle;
  }
  return low;
}

kube::Node NodeOf(const cluster::NodeFacts& facts) {
  kube::Node node;
  node.meta.name = facts.name;
  node.meta.labels = facts.labels;
  node.taints = facts.taints;
  node.unschedulable = facts.unschedulable;
  node.allocatable = facts.allocatable;
  if (facts.not_ready) node.conditions.push_back({"Ready", "False", ""});
  return node;
}

// In what steps a request is made smaller: whole devices, tenths of a CPU, 64 MiB.
kube::Amount StepOf(const std::string& resource) {
  if (resource == "cpu") return 100;
  if (resource == "memory" || resource == "ephemeral-storage") return (kube::Amount{64} << 20) * 1000;
  return 1000;
}

class WhatIf {
 public:
  WhatIf(const World& world, const GangState& gang, const gang::NoFit& no_fit, Now now)
      : world_(world),
        gang_(gang),
        no_fit_(no_fit),
        nodes_(world.nodes),
        need_(NeedOf(gang)),
        barred_(BarredNow(world, gang, now)) {}

  std::vector<Change> All() {
    if (gang::IsPossible(nodes_, need_)) JobsEnd();
    MoreNodes();
    Uncordon();
    Tolerate();
    AnyNode();
    Smaller();
    Fewer();
    return std::move(changes_);
  }

 private:
  bool Fits(Nodes& nodes, const gang::Need& need) const { return gang::Fits(nodes, need, barred_); }

  void Release(const GangState& gang) { Move(gang, &Nodes::Release); }
  void Occupy(const GangState& gang) { Move(gang, &Nodes::Occupy); }
  void Move(const GangState& gang, decltype(&Nodes::Release) move) {
    for (const cluster::Hold& hold : gang.held) {
      if (std::optional<NodeId> node = nodes_.Find(hold.node))
        (nodes_.*move)(*node, hold.pod_class, 1, cluster::Tenure::kPod, hold.who, hold.leaving);
    }
  }

  // Who has seats, in the order in which they got them.
  std::vector<const GangState*> Holding() const {
    std::vector<const GangState*> holding;
    for (const std::string& key : world_.holding) {
      const GangState* gang = world_.gangs.Get(key);
      if (gang != nullptr && gang->key != gang_.key) holding.push_back(gang);
    }
    std::ranges::stable_sort(holding, {}, [](const GangState* gang) { return gang->status().phase_since; });
    if (holding.size() > kMostJobs) holding.resize(kMostJobs);
    return holding;
  }

  // One job whose end is enough, or the fewest of the oldest.
  void JobsEnd() {
    std::vector<const GangState*> holding = Holding();
    Change change{.kind = Change::Kind::kJobsEnd, .any = true};
    for (const GangState* gang : holding) {
      Release(*gang);
      if (Fits(nodes_, need_)) change.jobs.push_back(gang->job_name);
      Occupy(*gang);
    }
    if (change.jobs.empty()) {
      change.any = false;
      std::vector<const GangState*> ended;
      for (const GangState* gang : holding) {
        Release(*gang);
        ended.push_back(gang);
        if (Fits(nodes_, need_)) break;
      }
      bool enough = Fits(nodes_, need_);
      for (const GangState* gang : ended) {  // whose end changes nothing?
        Occupy(*gang);
        if (!enough || Fits(nodes_, need_)) continue;
        Release(*gang);
        change.jobs.push_back(gang->job_name);
      }
      nodes_ = world_.nodes;
    }
    if (!change.jobs.empty()) changes_.push_back(std::move(change));
  }

  // The classes that find too few seats; where only the mix does not fit, all of them.
  std::vector<const gang::ClassFit*> Lacking() const {
    std::vector<const gang::ClassFit*> lacking;
    for (const gang::ClassFit& fit : no_fit_.classes) {
      if (fit.seats < fit.wanted) lacking.push_back(&fit);
    }
    if (lacking.empty()) {
      for (const gang::ClassFit& fit : no_fit_.classes) lacking.push_back(&fit);
    }
    return lacking;
  }

  // The commonest kind of node that would take a pod of the class if it were empty: the first of it by name.
  std::optional<NodeId> Typical(cluster::ClassId pod_class) {
    std::map<kube::Resources, std::pair<int64_t, NodeId>> shapes;
    const cluster::SeatIndex& empty = nodes_.Seats(pod_class, View::kEmpty);
    for (NodeId node : nodes_.ByName()) {
      if (empty.seats(node) == 0) continue;
      auto [shape, fresh] = shapes.try_emplace(nodes_.facts(node).allocatable, 0, node);
      ++shape->second.first;
    }
    if (shapes.empty()) return {};
    return std::ranges::max_element(shapes, {}, [](const auto& shape) { return shape.second.first; })
        ->second.second;
  }

  void MoreNodes() {
    std::vector<const gang::ClassFit*> lacking = Lacking();
    if (lacking.empty()) return;
    std::optional<NodeId> like = Typical(lacking[0]->pod_class);
    if (!like) return nodes_.size() > 0 ? LargerNodes(*lacking[0]) : void();
    kube::Node node = NodeOf(nodes_.facts(*like));
    int64_t pods = 0;
    for (const gang::RoleNeed& role : need_.roles) pods += role.count;
    int64_t count = Least(std::min(pods, kMostNodes), [&](int64_t more) {
      Nodes nodes = nodes_;
      kube::Node copy = node;
      for (int64_t i = 0; i < more; ++i) {
        copy.meta.name = node.meta.name + "+" + std::to_string(i);
        if (copy.meta.labels.contains("kubernetes.io/hostname"))
          copy.meta.labels["kubernetes.io/hostname"] = copy.meta.name;
        nodes.Upsert(copy);
      }
      return Fits(nodes, need_);
    });
    if (count == 0) return;
    Change change{.kind = Change::Kind::kMoreNodes, .node = node.meta.name, .count = count};
    for (const gang::ClassFit* fit : lacking) {
      for (const cluster::Request& request : nodes_.pod_class(fit->pod_class).requests) {
        auto offered = node.allocatable.find(request.name);
        if (offered != node.allocatable.end()) change.shape.insert(*offered);
      }
    }
    changes_.push_back(std::move(change));
  }

  // No node is large enough, whatever runs there.
  void LargerNodes(const gang::ClassFit& fit) {
    for (const cluster::Request& request : nodes_.pod_class(fit.pod_class).requests) {
      kube::Amount largest = 0;
      for (NodeId node : nodes_.ByName()) largest = std::max(largest, nodes_.Allocatable(node, request.name));
      if (largest >= request.amount || request.name == "pods") continue;
      changes_.push_back({.kind = Change::Kind::kLargerNodes,
                          .resource = request.name,
                          .amount = request.amount,
                          .was = largest});
    }
  }

  void Uncordon() {
    std::vector<kube::Node> cordoned;
    for (NodeId node : nodes_.ByName()) {
      if (nodes_.facts(node).unschedulable) cordoned.push_back(NodeOf(nodes_.facts(node)));
    }
    for (kube::Node& node : cordoned) {
      node.unschedulable = false;
      std::erase_if(node.taints,
                    [](const kube::Taint& t) { return t.key == "node.kubernetes.io/unschedulable"; });
    }
    int64_t count =
        Least(std::min<int64_t>(static_cast<int64_t>(cordoned.size()), kMostNodes), [&](int64_t n) {
          Nodes nodes = nodes_;
          for (int64_t i = 0; i < n; ++i) nodes.Upsert(cordoned[static_cast<size_t>(i)]);
          return Fits(nodes, need_);
        });
    if (count > 0)
      changes_.push_back({.kind = Change::Kind::kUncordon, .node = cordoned[0].meta.name, .count = count});
  }

  // The gang with the needs of its pods changed.
  bool FitsIf(const std::function<void(size_t, kube::PodNeed&)>& change) {
    Nodes nodes = nodes_;
    gang::Need need = need_;
    for (size_t role = 0; role < need.roles.size(); ++role) {
      kube::PodNeed pod = gang_.roles[role].need;
      change(role, pod);
      need.roles[role].pod_class = nodes.Class(pod);
    }
    return Fits(nodes, need);
  }

  const std::string& RoleName(size_t role) const { return gang_.job->job()->roles[role].type; }

  bool Refuses(Reason reason) const {
    return std::ranges::any_of(no_fit_.classes, [&](const gang::ClassFit& fit) {
      return std::ranges::any_of(fit.refused, [&](const auto& refused) { return refused.reason == reason; });
    });
  }

  // The fewest taints whose toleration is enough: one, or all.
  void Tolerate() {
    if (!Refuses(Reason::kTaint)) return;
    std::map<std::string, kube::Taint> taints;
    for (NodeId node : nodes_.ByName()) {
      for (const kube::Taint& taint : nodes_.facts(node).taints) {
        // What the node controller sets says that the node is no good.
        if (taint.effect != "PreferNoSchedule" && !taint.key.starts_with("node.kubernetes.io/"))
          taints.emplace(gang::TaintText(taint), taint);
      }
    }
    auto tolerate = [](kube::PodNeed& pod, const kube::Taint& taint) {
      pod.tolerations.push_back({taint.key, "Equal", taint.value, taint.effect, {}});
    };
    Change change{.kind = Change::Kind::kTolerate};
    for (const auto& [text, taint] : taints) {
      if (!FitsIf([&](size_t, kube::PodNeed& pod) { tolerate(pod, taint); })) continue;
      change.taints = {text};
      return changes_.push_back(std::move(change));
    }
    bool all = FitsIf([&](size_t, kube::PodNeed& pod) {
      for (const auto& [text, taint] : taints) tolerate(pod, taint);
    });
    if (!all) return;
    for (const auto& [text, taint] : taints) change.taints.push_back(text);
    changes_.push_back(std::move(change));
  }

  void AnyNode() {
    if (Refuses(Reason::kSelector) && FitsIf([](size_t, kube::PodNeed& pod) { pod.nodes = {}; }))
      changes_.push_back({.kind = Change::Kind::kSelector});
  }

  // Less of one resource for each pod of the roles that find too few seats.
  void Smaller() {
    std::vector<const gang::ClassFit*> lacking = Lacking();
    kube::Resources largest;
    for (const gang::ClassFit* fit : lacking)
      kube::MaxInto(largest, nodes_.pod_class(fit->pod_class).need.requests);
    for (const auto& [resource, amount] : largest) {
      if (resource == "pods") continue;
      auto fits_with = [&](kube::Amount at_most) {
        return FitsIf([&](size_t role, kube::PodNeed& pod) {
          auto asks = pod.requests.find(resource);
          bool lacks = std::ranges::any_of(
              lacking, [&](const auto* fit) { return fit->pod_class == need_.roles[role].pod_class; });
          if (lacks && asks != pod.requests.end()) asks->second = std::min(asks->second, at_most);
        });
      };
      kube::Amount step = StepOf(resource);
      int64_t steps = Most((amount + step - 1) / step, [&](int64_t n) { return fits_with(n * step); });
      if (steps == 0) continue;
      bool one_role = lacking.size() == 1 &&
                      std::ranges::count(need_.roles, lacking[0]->pod_class, &gang::RoleNeed::pod_class) == 1;
      changes_.push_back({.kind = Change::Kind::kSmaller,
                          .role = one_role ? RoleName(static_cast<size_t>(lacking[0]->first_role)) : "",
                          .resource = resource,
                          .amount = steps * step,
                          .was = amount});
    }
  }

  // Fewer pods of the largest role.
  void Fewer() {
    auto largest = std::ranges::max_element(need_.roles, {}, &gang::RoleNeed::count);
    if (largest == need_.roles.end()) return;
    auto role = static_cast<size_t>(largest - need_.roles.begin());
    int64_t count = Most(largest->count, [&](int64_t pods) {
      gang::Need need = need_;
      need.roles[role].count = static_cast<int32_t>(pods);
      return Fits(nodes_, need);
    });
    if (count == 0) return;
    changes_.push_back(
        {.kind = Change::Kind::kFewer, .role = RoleName(role), .count = count, .of = largest->count});
  }

  const World& world_;
  const GangState& gang_;
  const gang::NoFit& no_fit_;
  Nodes nodes_;  // as they are; what is tried is undone or done to a copy
  const gang::Need need_;
  const std::vector<NodeId> barred_;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> WhatWouldStart(const World& world, const GangState& gang, const gang::NoFit& no_fit,
                                   Now now) {
  return WhatIf(world, gang, no_fit, now).All();
}

}  // namespace lockstep::engine
