#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cluster/rank_set.h"
#include "cluster/refusal.h"

namespace lockstep::cluster {

using NodeId = uint32_t;  // index into the flat arrays of Nodes; slots of removed nodes are reused

// Where the pods of one class fit, kept up to date node by node: seats per node, their total, and the nodes
// with exactly n seats in order of their names. `Nodes` owns and updates it; placement reads it.
//
// Nodes come in tiers, the best first: by PreferNoSchedule taints that the class does not tolerate, then by
// the weights of its preferred node affinity, then those that have devices the class has no use for come
// last: a CPU pod without wishes takes a GPU node only when nothing else is left.
class SeatIndex {
 public:
  static constexpr size_t kMaxDisliked = 3;  // more such taints count as so many
  // Nodes with more seats than this share the last bucket: totals stay exact, "most seats first" is then
  // exact only up to here. No kubelet runs a thousand pods.
  static constexpr int32_t kLastBucket = 1023;

  struct Row {
    int32_t seats = 0;
    uint32_t facts_version = 0;  // of the node when `fixed` was found; 0: never
    Refusal fixed;               // by what the node says of itself
    Refusal refusal;             // why seats is 0
    uint8_t tier = 0;
    bool present = false;  // the slot holds a node
  };
  struct Count {
    Refusal refusal;
    int32_t nodes = 0;
  };

  const Row& row(NodeId node) const { return rows_[node]; }
  int32_t seats(NodeId node) const { return node < rows_.size() ? rows_[node].seats : 0; }
  int64_t total() const { return total_; }
  // One more than the last tier that ever had a node.
  size_t tiers() const { return tiers_.size(); }
  bool has_seats(size_t tier) const { return tiers_[tier].seats > 0; }
  int32_t nodes() const { return nodes_; }
  // How many nodes have no seat, and why. In no particular order; counts may be 0.
  const std::vector<Count>& refused() const { return refused_; }

  // The buckets: ranks (positions in Nodes::ByName) of the nodes of `tier` with exactly `seats` seats.
  // Largest non-empty bucket that is at most `seats`, smallest that is at least; 0 if none.
  int32_t BucketAtMost(size_t tier, int32_t seats) const;
  int32_t BucketAtLeast(size_t tier, int32_t seats) const;
  uint32_t NextInBucket(size_t tier, int32_t bucket, uint32_t from_rank) const {
    return tiers_[tier].buckets[bucket].Next(from_rank);
  }

  // For Nodes alone.
  void Resize(size_t slots) { rows_.resize(slots); }
  void Set(NodeId node, const Row& row, uint32_t rank, bool keep_buckets);
  void RebuildBuckets(std::span<const NodeId> by_name);

 private:
  struct Tier {
    int64_t seats = 0;
    std::vector<RankSet> buckets;                         // [0] stays empty
    std::array<uint64_t, (kLastBucket + 1) / 64> used{};  // which buckets have members
  };

  void Recount(const Row& row, int32_t sign);
  void Enter(const Row& row, uint32_t rank);
  void Leave(const Row& row, uint32_t rank);

  std::vector<Row> rows_;  // by NodeId
  std::vector<Tier> tiers_;
  int64_t total_ = 0;
  int32_t nodes_ = 0;
  std::vector<Count> refused_;
};

}  // namespace lockstep::cluster
