#include "gang/mixed.h"

#include <algorithm>
#include <numeric>

#include "gang/alike.h"
#include "gang/exact.h"

namespace lockstep::gang {
namespace {

using cluster::ClassId;
using cluster::NodeId;
using cluster::Nodes;
using cluster::SeatIndex;
using cluster::View;

// One placement problem, and the ways to attack it.
class Mixed {
 public:
  Mixed(Nodes& nodes, View view, std::span<const RoleNeed> kinds, std::span<const NodeId> barred)
      : nodes_(nodes), view_(view), kinds_(kinds), barred_(barred) {
    for (const RoleNeed& kind : kinds) {
      needs_.push_back(&nodes.pod_class(kind.pod_class).need);
      pods_ += kind.count;
    }
  }

  // By the seats of each kind, and of a pod that asks for the least of each resource.
  bool IsImpossible() {
    for (const RoleNeed& kind : kinds_) {
      if (SeatsFor(nodes_.Seats(kind.pod_class, view_), barred_) < kind.count) return true;
    }
    std::optional<kube::PodNeed> floor = cluster::Floor(needs_);
    return floor && SeatsFor(nodes_.Seats(Interned(*floor), view_), barred_) < pods_;
  }

  std::vector<KindShare> AsOneClass() {
    if (!DiffersLittle() || pods_ > INT32_MAX) return {};
    std::optional<kube::PodNeed> envelope = cluster::Envelope(needs_);
    if (!envelope) return {};
    const SeatIndex& index = nodes_.Seats(Interned(*envelope), view_);
    std::vector<KindShare> shares;
    size_t kind = 0;
    int32_t left = kinds_[0].count;
    for (Share share : PlaceAlike(nodes_, index, static_cast<int32_t>(pods_), barred_)) {
      while (share.pods > 0) {
        if (left == 0) left = kinds_[++kind].count;
        int32_t pods = std::min(left, share.pods);
        shares.push_back({share.node, static_cast<int32_t>(kind), pods});
        left -= pods;
        share.pods -= pods;
      }
    }
    return shares;
  }

  std::vector<KindShare> OnOneNode() {
    const RoleNeed& hardest = kinds_[Hardest().front()];
    const SeatIndex& index = nodes_.Seats(hardest.pod_class, view_);
    for (size_t tier = 0; tier < index.tiers(); ++tier) {
      if (!index.has_seats(tier)) continue;
      for (int32_t bucket = index.BucketAtLeast(tier, hardest.count); bucket > 0;
           bucket = bucket < SeatIndex::kLastBucket ? index.BucketAtLeast(tier, bucket + 1) : 0) {
        uint32_t rank = index.NextInBucket(tier, bucket, 0);
        for (; rank != cluster::RankSet::kEnd; rank = index.NextInBucket(tier, bucket, rank + 1)) {
          NodeId node = nodes_.ByName()[rank];
          if (!IsBarred(node) && AllFitOn(node)) return AllOn(node);
        }
      }
    }
    return {};
  }

  std::vector<KindShare> KindAfterKind(std::span<const size_t> order) {
    cluster::Trial trial(nodes_, view_);
    std::vector<KindShare> shares;
    std::vector<NodeId> used;
    for (size_t kind : order) {
      ClassId pod_class = kinds_[kind].pod_class;
      const SeatIndex& index = nodes_.Seats(pod_class, view_);
      if (SeatsFor(index, barred_) < kinds_[kind].count) return {};
      int32_t left = kinds_[kind].count;
      std::vector<Share> taken;
      for (NodeId node : used) {  // nodes that the gang already uses cost later gangs nothing more
        int32_t pods = std::min(left, index.seats(node));
        if (pods == 0) continue;
        taken.push_back({node, pods});
        left -= pods;
      }
      for (const Share& share : taken) trial.Occupy(share.node, pod_class, share.pods);
      if (left > 0) {
        std::vector<Share> more = PlaceAlike(nodes_, nodes_.Seats(pod_class, view_), left, barred_);
        if (more.empty()) return {};
        for (const Share& share : more) {
          trial.Occupy(share.node, pod_class, share.pods);
          used.push_back(share.node);
        }
        taken.insert(taken.end(), more.begin(), more.end());
      }
      for (const Share& share : taken) shares.push_back({share.node, static_cast<int32_t>(kind), share.pods});
    }
    return shares;
  }

  // Kinds by the part of their seats that they need, largest first.
  std::vector<size_t> Hardest() {
    std::vector<size_t> order(kinds_.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<int64_t> seats;
    for (const RoleNeed& kind : kinds_)
      seats.push_back(SeatsFor(nodes_.Seats(kind.pod_class, view_), barred_));
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
      return __int128{kinds_[a].count} * seats[b] > __int128{kinds_[b].count} * seats[a];
    });
    return order;
  }

 private:
  ClassId Interned(const kube::PodNeed& need) { return nodes_.Class(need); }
  bool IsBarred(NodeId node) const { return std::ranges::find(barred_, node) != barred_.end(); }

  // Equal in everything but the CPU, memory and such: pods that share a seat of one size waste little.
  bool DiffersLittle() const {
    auto devices_of = [](const kube::PodNeed& need) {
      kube::Resources devices;
      for (const auto& request : need.requests) {
        if (cluster::IsExtended(request.first)) devices.insert(request);
      }
      return devices;
    };
    kube::Resources devices = devices_of(*needs_[0]);
    return std::ranges::all_of(needs_,
                               [&](const kube::PodNeed* need) { return devices_of(*need) == devices; });
  }

  bool AllFitOn(NodeId node) {
    for (const RoleNeed& kind : kinds_) {
      if (nodes_.Judge(node, kind.pod_class, view_).seats < kind.count) return false;
    }
    cluster::Trial trial(nodes_, view_);
    for (const RoleNeed& kind : kinds_) {
      if (nodes_.Judge(node, kind.pod_class, view_).seats < kind.count) return false;
      trial.Occupy(node, kind.pod_class, kind.count);
    }
    return true;
  }

  std::vector<KindShare> AllOn(NodeId node) const {
    std::vector<KindShare> shares;
    shares.reserve(kinds_.size());
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      shares.push_back({node, static_cast<int32_t>(kind), kinds_[kind].count});
    }
    return shares;
  }

  Nodes& nodes_;
  View view_;
  std::span<const RoleNeed> kinds_;
  std::span<const NodeId> barred_;
  std::vector<const kube::PodNeed*> needs_;  // shared and immutable: they outlive new classes
  int64_t pods_ = 0;
};

}  // namespace

MixedResult PlaceMixed(Nodes& nodes, View view, std::span<const RoleNeed> kinds,
                       std::span<const NodeId> barred) {
  Mixed mixed(nodes, view, kinds, barred);
  if (mixed.IsImpossible()) return {};
  if (auto shares = mixed.AsOneClass(); !shares.empty()) return {std::move(shares)};
  if (auto shares = mixed.OnOneNode(); !shares.empty()) return {std::move(shares)};

  std::vector<size_t> order = mixed.Hardest();
  if (auto shares = mixed.KindAfterKind(order); !shares.empty()) return {std::move(shares)};
  std::ranges::reverse(order);
  if (auto shares = mixed.KindAfterKind(order); !shares.empty()) return {std::move(shares)};

  return PlaceExactly(nodes, view, kinds, barred);
}

}  // namespace lockstep::gang
