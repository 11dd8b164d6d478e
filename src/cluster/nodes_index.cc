// The part of Nodes that keeps the seat indexes.
#include <algorithm>
#include <atomic>

#include "cluster/filters/host_ports.h"
#include "cluster/filters/readiness.h"
#include "cluster/filters/resources.h"
#include "cluster/filters/selector.h"
#include "cluster/filters/taints.h"
#include "cluster/filters/unschedulable.h"
#include "cluster/nodes.h"

namespace lockstep::cluster {

Refusal Nodes::JudgeFacts(const NodeFacts& facts, const kube::PodNeed& need) const {
  if (RefuseNotReady(facts)) return {Reason::kNotReady};
  if (RefuseUnschedulable(need, facts)) return {Reason::kUnschedulable};
  if (std::optional<size_t> taint = RefuseTaint(need, facts))
    return {Reason::kTaint, facts.taint_ids[*taint]};
  if (RefuseSelector(need, facts)) return {Reason::kSelector};
  if (!need.claims.empty()) {
    if (std::optional<size_t> claim = volumes_.FirstOutOfReach(need.claims, facts))
      return {Reason::kVolume, static_cast<uint16_t>(*claim)};
  }
  return {};
}

uint8_t Nodes::TierOf(const NodeFacts& facts, const PodClass& pod_class) const {
  bool wasted = std::ranges::any_of(facts.devices, [&](int32_t device) {
    return std::ranges::find(pod_class.requests, device, &Request::column) == pod_class.requests.end();
  });
  size_t disliked = std::min(CountDisliked(pod_class.need, facts), SeatIndex::kMaxDisliked);
  size_t wish = 0;
  if (!pod_class.need.preferred.empty()) {
    int32_t sum = kube::PreferenceFor(pod_class.need.preferred, facts.name, facts.labels);
    while (pod_class.wishes[wish] > sum) ++wish;
  }
  return static_cast<uint8_t>((disliked * kMaxWishes + wish) * 2 + (wasted ? 1 : 0));
}

SeatIndex::Row Nodes::Judge(NodeId node, ClassId pod_class, View view, SeatIndex::Row row) const {
  const Slot& slot = slots_[node];
  if (slot.facts == nullptr) return {};
  const PodClass& kind = *classes_[pod_class];
  if (row.facts_version != slot.facts_version) {
    row.facts_version = slot.facts_version;
    row.fixed = JudgeFacts(*slot.facts, kind.need);
    row.tier = TierOf(*slot.facts, kind);
    row.present = true;
  }
  row.seats = 0;
  row.refusal = row.fixed;
  if (row.fixed.reason != Reason::kNone) return row;

  const Load& at = load(view);
  if (!kind.need.host_ports.empty()) {
    bool taken = std::ranges::any_of(at.occupants[node], [&](const Occupant& occupant) {
      return PortsConflict(kind.need.host_ports, classes_[occupant.pod_class]->need.host_ports);
    });
    if (taken) return row.refusal = {Reason::kHostPort}, row;
  }
  if (!kind.need.claims.empty() && !TakesVolumes(node, kind.need.claims, view))
    return row.refusal = {Reason::kVolumeLimit}, row;
  Room room = RoomFor(kind.requests, allocatable_row(node), at.used.data() + node * columns_.size());
  row.seats = kind.need.host_ports.empty() ? room.pods : std::min(room.pods, 1);
  if (room.pods == 0) {
    bool pods = room.scarcest + 1 == kind.requests.size();
    row.refusal =
        pods ? Refusal{Reason::kPods} : Refusal{Reason::kResource, static_cast<uint16_t>(room.scarcest)};
  }
  return row;
}

bool Nodes::TakesVolumes(NodeId node, std::span<const std::string> claims, View view) const {
  std::vector<const std::string*> there;
  for (const Occupant& occupant : load(view).occupants[node]) {
    for (const std::string& claim : classes_[occupant.pod_class]->need.claims) there.push_back(&claim);
  }
  return volumes_.WithinLimits(slots_[node].facts->name, claims, there, view == View::kNow);
}

bool Nodes::TakesVolumes(NodeId node, std::span<const ClassId> classes, View view) const {
  std::vector<std::string> claims;
  for (ClassId pod_class : classes) {
    const std::vector<std::string>& more = classes_[pod_class]->need.claims;
    claims.insert(claims.end(), more.begin(), more.end());
  }
  return claims.empty() || TakesVolumes(node, claims, view);
}

Load::Indexed& Nodes::IndexFor(ClassId pod_class, View view) {
  Load& at = load(view);
  if (int16_t known = at.index_of[pod_class]; known >= 0) return at.indexes[static_cast<size_t>(known)];
  // 64 MiB of rows in each view: at 5,000 nodes, 670 shapes.
  size_t most =
      std::max(Load::kMaxIndexes, (size_t{64} << 20) / (slots_.size() * sizeof(SeatIndex::Row) + 1));
  most = std::min(most, size_t{1024});
  if (at.indexes.size() >= most) {
    auto oldest = std::ranges::min_element(at.indexes, {}, &Load::Indexed::last_used);
    at.Drop(static_cast<size_t>(oldest - at.indexes.begin()));
  }
  at.index_of[pod_class] = static_cast<int16_t>(at.indexes.size());
  at.indexes.push_back({.pod_class = pod_class, .index = std::make_shared<SeatIndex>()});
  return at.indexes.back();
}

const SeatIndex& Nodes::Seats(ClassId pod_class, View view) {
  Load::Indexed& indexed = IndexFor(pod_class, view);
  indexed.last_used = ++load(view).clock;
  bool stale_volumes =
      indexed.volumes_version != volumes_.version() && !classes_[pod_class]->need.claims.empty();
  if (indexed.seen != load(view).log.end() || indexed.order_version != order_version_ || stale_volumes)
    CatchUp(indexed, view);
  return *indexed.index;
}

void Nodes::CatchUp(Load::Indexed& indexed, View view) {
  if (ranked_version_ != order_version_) {
    for (uint32_t rank = 0; rank < by_name_.size(); ++rank) slots_[by_name_[rank]].rank = rank;
    ranked_version_ = order_version_;
  }
  if (indexed.index.use_count() > 1) {
    indexed.index = std::make_shared<SeatIndex>(*indexed.index);
  } else {
    // The last other owner, perhaps on another thread, has finished with it.
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  SeatIndex& index = *indexed.index;
  index.Resize(slots_.size());
  Load& at = load(view);
  bool same_order = indexed.order_version == order_version_;
  std::optional<std::span<const NodeId>> changes = at.log.Since(indexed.seen);
  bool fresh = indexed.order_version == 0;
  // What volumes changed may concern any node.
  bool anew =
      !classes_[indexed.pod_class]->need.claims.empty() && indexed.volumes_version != volumes_.version();
  indexed.volumes_version = volumes_.version();
  fresh |= anew;
  auto judge = [&](NodeId node) {
    SeatIndex::Row known = anew ? SeatIndex::Row{} : index.row(node);
    index.Set(node, Judge(node, indexed.pod_class, view, known), slots_[node].rank, same_order);
  };
  if (!fresh && changes && changes->size() < slots_.size()) {
    std::ranges::for_each(*changes, judge);
  } else {
    for (NodeId node = 0; node < slots_.size(); ++node) judge(node);
  }
  if (!same_order) index.RebuildBuckets(by_name_);
  indexed.seen = at.log.end();
  indexed.order_version = order_version_;
}

std::vector<kube::Amount> Nodes::FreeFor(ClassId pod_class, View view) {
  const SeatIndex& index = Seats(pod_class, view);
  const std::vector<Request>& requests = classes_[pod_class]->requests;
  const Load& at = load(view);
  std::vector<__int128> sums(requests.size());
  for (NodeId node : by_name_) {
    if (index.row(node).fixed.reason != Reason::kNone) continue;
    const kube::Amount* allocatable = allocatable_row(node);
    const kube::Amount* used = at.used.data() + node * columns_.size();
    for (size_t i = 0; i < requests.size(); ++i) {
      int32_t column = requests[i].column;
      if (column != kNoColumn && allocatable[column] > used[column])
        sums[i] += allocatable[column] - used[column];
    }
  }
  std::vector<kube::Amount> free;
  free.reserve(sums.size());
  for (__int128 sum : sums) {
    free.push_back(sum > kube::kMaxAmount ? kube::kMaxAmount : static_cast<kube::Amount>(sum));
  }
  return free;
}

std::shared_ptr<const Domains> Nodes::DomainsOf(std::string_view label) {
  return domains_.Get(label, facts_version_, order_version_, [&] {
    auto domains = std::make_shared<Domains>();
    domains->of.assign(slots_.size(), Domains::kNone);
    std::unordered_map<std::string_view, int32_t> known;
    for (NodeId node : by_name_) {
      const kube::Labels& labels = slots_[node].facts->labels;
      auto value = labels.find(label);
      if (value == labels.end()) continue;
      auto [found, added] = known.try_emplace(value->second, domains->count());
      if (added) {
        domains->value.push_back(value->second);
      } else {
        domains->one_node_each = false;
      }
      domains->of[node] = found->second;
    }
    return domains;
  });
}

}  // namespace lockstep::cluster
