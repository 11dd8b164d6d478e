#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "cluster/nodes.h"
#include "gang/mixed.h"
#include "gang/related_rules.h"

namespace lockstep::gang {

// A gang's pods on the nodes it may use, put there and taken back one by one; each pod may go where
// kube-scheduler would let it go next. So whatever order of Put leads to a full board is a placement that
// kube-scheduler could have made.
//
// A spot is a node that some kind may use as things stand, numbered in order of name. Spots that nothing here
// can tell apart share a type: of those without pods of the gang, the first stands for all.
class Board {
 public:
  struct Type {
    std::vector<int32_t> spots;  // in order of name
    size_t used = 0;             // the first of them have pods of the gang
  };

  // kWanted: room for more than the whole gang tells no two spots apart, so there are fewer types; kAll: it
  // does, so that tight nodes can be preferred.
  enum class Seating : uint8_t { kAll, kWanted };

  Board(cluster::Nodes& nodes, cluster::View view, std::span<const RoleNeed> kinds,
        std::span<const cluster::NodeId> barred, Seating seating = Seating::kAll);

  size_t kinds() const { return kinds_.size(); }
  int32_t count(size_t kind) const { return kinds_[kind].count; }
  int32_t left(size_t kind) const { return left_[kind]; }
  int64_t total_left() const { return total_left_; }
  const RuleTable& table() const { return table_; }
  size_t spots() const { return spots_.size(); }
  cluster::NodeId node(int32_t spot) const { return spots_[static_cast<size_t>(spot)]; }
  int32_t DomainOf(size_t topology, int32_t spot) const { return table_.DomainOf(topology, node(spot)); }
  // Before any pod of the gang is on the board; 0 where the kind may not go.
  int32_t seats(size_t kind, int32_t spot) const { return seats_[At(spot) + kind]; }
  uint8_t tier(size_t kind, int32_t spot) const { return tiers_[At(spot) + kind]; }
  int32_t pods(size_t kind, int32_t spot) const { return pods_[At(spot) + kind]; }

  // How many pods of the kind still fit by their requests alone.
  int32_t Room(size_t kind, int32_t spot) const;
  bool Allowed(size_t kind, int32_t spot) const;
  // No more pods of the kind will fit there, however many more are put elsewhere.
  bool Closed(size_t kind, int32_t spot) const { return Room(kind, spot) == 0 || !KeepsApart(kind, spot); }
  // The rules alone, without requests.
  bool AllowedByRules(size_t kind, int32_t spot) const;
  void Put(size_t kind, int32_t spot);
  // Only the last pod that was put, or before it the one before, and so on.
  void Take(size_t kind, int32_t spot);

  // Some kind has fewer seats than it may have, so a bound or a search proves nothing; see
  // KeepWithinVolumeLimits.
  bool volumes_cut() const { return volumes_cut_; }

  const std::vector<Type>& types() const { return types_; }
  const Type& type_of(int32_t spot) const { return types_[type_[static_cast<size_t>(spot)]]; }
  size_t type_id(int32_t spot) const { return type_[static_cast<size_t>(spot)]; }
  // Spots with pods of the gang, in the order in which they got their first.
  const std::vector<int32_t>& touched() const { return touched_; }
  // How many matching pods the spread constraints that the kind counts for have in the spot's domains.
  int64_t Crowd(size_t kind, int32_t spot) const;

  std::vector<KindShare> Shares() const;

  // All kinds ask for the same. If not: what is free of each resource that some kind asks for, at most what
  // the gang wants of it, and what a pod of the kind asks for.
  bool one_class() const { return one_class_; }
  size_t resources() const { return columns_.size(); }
  kube::Amount free(int32_t spot, size_t resource) const {
    return free_[static_cast<size_t>(spot) * columns_.size() + resource];
  }
  kube::Amount request(size_t kind, size_t resource) const { return requests_[kind][resource]; }

 private:
  struct SpreadState {
    size_t kind = 0, index = 0;         // where its rule is in the table
    std::map<int32_t, int32_t> having;  // number of pods to how many counted domains have it
  };

  size_t At(int32_t spot) const { return static_cast<size_t>(spot) * kinds_.size(); }
  void AddSpots(std::span<const cluster::NodeId> barred, Seating seating);
  void AddColumns();
  void AddTypes();
  void FieldsOf(int32_t spot, std::vector<int64_t>& fields) const;
  void AddRuleState();
  bool KeepsApart(size_t kind, int32_t spot) const;
  void Count(size_t kind, int32_t spot, int32_t change);
  int64_t Fewest(const SpreadState& state, const SpreadCount& spread) const;

  cluster::Nodes& nodes_;
  cluster::View view_;
  std::vector<RoleNeed> kinds_;
  RuleTable table_;
  std::vector<cluster::NodeId> spots_;
  std::vector<int32_t> seats_, pods_;  // spot × kind
  std::vector<uint8_t> tiers_;         // spot × kind
  std::vector<int32_t> pods_on_;       // by spot
  std::vector<int32_t> left_;          // by kind
  int64_t total_left_ = 0;
  bool volumes_cut_ = false;

  // Where kinds differ in their requests: what is free, by spot × columns_.
  bool one_class_ = true;
  std::vector<int32_t> columns_;
  std::vector<std::vector<kube::Amount>> requests_;  // kind × columns_
  std::vector<kube::Amount> free_;

  std::vector<Type> types_;
  std::vector<size_t> type_;  // by spot
  std::vector<int32_t> touched_;

  std::map<ApartRule, std::vector<int32_t>> presence_;     // pods of a kind, by domain
  std::vector<std::vector<std::vector<int32_t>*>> apart_;  // by kind: parallel to KindRules::apart
  std::vector<std::vector<std::pair<size_t, std::vector<int32_t>*>>> present_in_;  // by kind: to keep up
  std::vector<SpreadState> spreads_;
  std::vector<std::vector<size_t>> spreads_of_;  // by kind: its own rules, in spreads_
  std::vector<std::vector<size_t>> counts_for_;  // by kind: the rules that count it, in spreads_
};

}  // namespace lockstep::gang
