#include "cluster/seat_index.h"

#include <algorithm>
#include <bit>

namespace lockstep::cluster {
namespace {

int32_t BucketOf(int32_t seats) { return std::min(seats, SeatIndex::kLastBucket); }

}  // namespace

int32_t SeatIndex::BucketAtMost(size_t tier, int32_t seats) const {
  if (seats <= 0) return 0;
  int32_t bucket = BucketOf(seats);
  const auto& used = tiers_[tier].used;
  int32_t word = bucket / 64;
  uint64_t bits = used[word] & (~uint64_t{0} >> (63 - bucket % 64));
  while (bits == 0) {
    if (--word < 0) return 0;
    bits = used[word];
  }
  return word * 64 + 63 - std::countl_zero(bits);
}

int32_t SeatIndex::BucketAtLeast(size_t tier, int32_t seats) const {
  int32_t bucket = BucketOf(std::max(seats, 1));
  const auto& used = tiers_[tier].used;
  size_t word = static_cast<size_t>(bucket) / 64;
  uint64_t bits = used[word] & (~uint64_t{0} << (bucket % 64));
  while (bits == 0) {
    if (++word == used.size()) return 0;
    bits = used[word];
  }
  return static_cast<int32_t>(word) * 64 + std::countr_zero(bits);
}

void SeatIndex::Recount(const Row& row, int32_t sign) {
  if (!row.present) return;
  nodes_ += sign;
  if (row.tier >= tiers_.size()) tiers_.resize(row.tier + size_t{1});
  total_ += sign * int64_t{row.seats};
  tiers_[row.tier].seats += sign * int64_t{row.seats};
  if (row.seats > 0) return;
  auto found = std::ranges::find(refused_, row.refusal, &Count::refusal);
  if (found == refused_.end()) found = refused_.insert(refused_.end(), {row.refusal, 0});
  found->nodes += sign;
}

void SeatIndex::Enter(const Row& row, uint32_t rank) {
  if (!row.present || row.seats == 0) return;
  Tier& tier = tiers_[row.tier];
  int32_t bucket = BucketOf(row.seats);
  if (static_cast<size_t>(bucket) >= tier.buckets.size()) tier.buckets.resize(bucket + 1);
  tier.buckets[bucket].Insert(rank);
  tier.used[bucket / 64] |= uint64_t{1} << (bucket % 64);
}

void SeatIndex::Leave(const Row& row, uint32_t rank) {
  if (!row.present || row.seats == 0) return;
  Tier& tier = tiers_[row.tier];
  int32_t bucket = BucketOf(row.seats);
  tier.buckets[bucket].Erase(rank);
  if (tier.buckets[bucket].empty()) tier.used[bucket / 64] &= ~(uint64_t{1} << (bucket % 64));
}

void SeatIndex::Set(NodeId node, const Row& row, uint32_t rank, bool keep_buckets) {
  Row& old = rows_[node];
  Recount(old, -1);
  Recount(row, 1);
  if (keep_buckets && (old.seats != row.seats || old.tier != row.tier || old.present != row.present)) {
    Leave(old, rank);
    Enter(row, rank);
  }
  old = row;
}

void SeatIndex::RebuildBuckets(std::span<const NodeId> by_name) {
  for (Tier& tier : tiers_) {
    for (RankSet& bucket : tier.buckets) bucket.clear();
    tier.used.fill(0);
  }
  for (uint32_t rank = 0; rank < by_name.size(); ++rank) Enter(rows_[by_name[rank]], rank);
}

}  // namespace lockstep::cluster
