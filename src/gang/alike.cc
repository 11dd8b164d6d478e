#include "gang/alike.h"

#include <algorithm>

namespace lockstep::gang {
namespace {

using cluster::NodeId;
using cluster::RankSet;
using cluster::SeatIndex;

bool Contains(std::span<const NodeId> nodes, NodeId node) {
  return std::ranges::find(nodes, node) != nodes.end();
}

// Walks the nodes of one tier from the most seats to the fewest, by name among equals.
class Descent {
 public:
  Descent(const cluster::Nodes& nodes, const SeatIndex& index, size_t tier, std::span<const NodeId> barred)
      : nodes_(nodes), index_(index), tier_(tier), barred_(barred) {
    bucket_ = index.BucketAtMost(tier, SeatIndex::kLastBucket);
  }

  // Takes seats for `pods` pods, or as many as there are. Returns how many are left over.
  int32_t Take(int32_t pods, std::vector<Share>& shares) {
    while (pods > 0 && bucket_ > 0) {
      uint32_t rank = NextOpen(bucket_, from_);
      if (rank == RankSet::kEnd) {
        bucket_ = index_.BucketAtMost(tier_, bucket_ - 1);
        from_ = 0;
        continue;
      }
      NodeId node = nodes_.ByName()[rank];
      int32_t seats = index_.seats(node);
      if (seats < pods) {
        shares.push_back({node, seats});
        pods -= seats;
        from_ = rank + 1;
        continue;
      }
      shares.push_back({Tightest(pods, node), pods});
      return 0;
    }
    return pods;
  }

 private:
  uint32_t NextOpen(int32_t bucket, uint32_t from) const {
    uint32_t rank = index_.NextInBucket(tier_, bucket, from);
    while (rank != RankSet::kEnd && Contains(barred_, nodes_.ByName()[rank])) {
      rank = index_.NextInBucket(tier_, bucket, rank + 1);
    }
    return rank;
  }

  // The unused node with the fewest seats that takes `pods`; `next` does and is next in this walk.
  NodeId Tightest(int32_t pods, NodeId next) const {
    for (int32_t bucket = index_.BucketAtLeast(tier_, pods); bucket > 0 && bucket < bucket_;
         bucket = index_.BucketAtLeast(tier_, bucket + 1)) {
      uint32_t rank = NextOpen(bucket, 0);
      if (rank != RankSet::kEnd) return nodes_.ByName()[rank];
    }
    return next;
  }

  const cluster::Nodes& nodes_;
  const SeatIndex& index_;
  size_t tier_;
  std::span<const NodeId> barred_;
  int32_t bucket_ = 0;
  uint32_t from_ = 0;  // ranks of bucket_ before this are used or barred
};

}  // namespace

int64_t SeatsFor(const SeatIndex& index, std::span<const NodeId> barred) {
  int64_t seats = index.total();
  for (size_t i = 0; i < barred.size(); ++i) {
    if (!Contains(barred.first(i), barred[i])) seats -= index.seats(barred[i]);
  }
  return seats;
}

std::vector<Share> PlaceAlike(const cluster::Nodes& nodes, const SeatIndex& index, int32_t pods,
                              std::span<const NodeId> barred) {
  std::vector<Share> shares;
  if (SeatsFor(index, barred) < pods) return shares;
  for (size_t tier = 0; tier < index.tiers() && pods > 0; ++tier) {
    if (index.has_seats(tier)) pods = Descent(nodes, index, tier, barred).Take(pods, shares);
  }
  return shares;
}

}  // namespace lockstep::gang
