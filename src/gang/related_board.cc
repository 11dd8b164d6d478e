#include "gang/related_board.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "gang/volume_room.h"

namespace lockstep::gang {

using cluster::Domains;
using cluster::NodeId;
using kube::Amount;

Board::Board(cluster::Nodes& nodes, cluster::View view, std::span<const RoleNeed> kinds,
             std::span<const NodeId> barred, Seating seating)
    : nodes_(nodes), view_(view), kinds_(kinds.begin(), kinds.end()) {
  table_ = RulesOf(nodes, view, kinds);
  for (const RoleNeed& kind : kinds_) {
    left_.push_back(kind.count);
    total_left_ += kind.count;
    one_class_ &= kind.pod_class == kinds_[0].pod_class;
  }
  AddSpots(barred, seating);
  pods_.assign(seats_.size(), 0);
  pods_on_.assign(spots_.size(), 0);
  if (!one_class_) AddColumns();
  AddTypes();
  AddRuleState();
}

void Board::AddSpots(std::span<const NodeId> barred, Seating seating) {
  std::vector<uint8_t> is_barred;
  for (NodeId node : barred) {
    if (node >= is_barred.size()) is_barred.resize(node + 1);
    is_barred[node] = 1;
  }
  std::vector<const cluster::SeatIndex*> indexes;
  // Asking for an index may drop one of many others that were asked for before, so all of them first.
  for (int round = 0; round < 2; ++round) {
    indexes.clear();
    for (const RoleNeed& kind : kinds_) indexes.push_back(&nodes_.Seats(kind.pod_class, view_));
  }
  std::vector<int32_t> seats(kinds_.size());
  for (NodeId node : nodes_.ByName()) {
    if (node < is_barred.size() && is_barred[node] != 0) continue;
    bool any = false;
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      seats[kind] = indexes[kind]->seats(node);
      if (seats[kind] > 0 && table_.RefuseByRules(kind, node) != cluster::Reason::kNone) seats[kind] = 0;
      any |= seats[kind] > 0;
    }
    if (!any) continue;
    volumes_cut_ |= KeepWithinVolumeLimits(nodes_, view_, kinds_, node, seats);
    spots_.push_back(node);
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      if (seating == Seating::kWanted)
        seats[kind] = static_cast<int32_t>(std::min<int64_t>(seats[kind], total_left_));
      seats_.push_back(seats[kind]);
      tiers_.push_back(indexes[kind]->row(node).tier);
    }
  }
}

void Board::AddColumns() {
  for (const RoleNeed& kind : kinds_) {
    for (const cluster::Request& request : nodes_.pod_class(kind.pod_class).requests) {
      if (request.column == cluster::kNoColumn) continue;  // then the kind has no seats anyway
      if (std::ranges::find(columns_, request.column) == columns_.end()) columns_.push_back(request.column);
    }
  }
  std::vector<Amount> wanted(columns_.size());
  for (const RoleNeed& kind : kinds_) {
    std::vector<Amount> amounts(columns_.size());
    for (const cluster::Request& request : nodes_.pod_class(kind.pod_class).requests) {
      auto at = static_cast<size_t>(std::ranges::find(columns_, request.column) - columns_.begin());
      if (at == columns_.size()) continue;
      amounts[at] = request.amount;
      wanted[at] = kube::AddAmounts(wanted[at], kube::MultiplyAmount(request.amount, kind.count));
    }
    requests_.push_back(std::move(amounts));
  }
  // More than the whole gang wants makes no difference between nodes.
  free_.reserve(spots_.size() * columns_.size());
  for (NodeId node : spots_) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      free_.push_back(std::clamp(nodes_.Free(node, columns_[i], view_), Amount{0}, wanted[i]));
    }
  }
}

// Everything that tells spots apart, as numbers; equally many for each spot.
void Board::FieldsOf(int32_t spot, std::vector<int64_t>& fields) const {
  fields.clear();
  for (size_t kind = 0; kind < kinds_.size(); ++kind)
    fields.push_back(int64_t{seats(kind, spot)} * 256 + tier(kind, spot));
  for (size_t i = 0; i < columns_.size(); ++i) fields.push_back(free(spot, i));
  for (const Topology& topology : table_.topologies) {
    int32_t domain = topology.domains->of[node(spot)];
    // The only node of its domain: which one it is makes no difference.
    fields.push_back(topology.domains->one_node_each && domain != Domains::kNone ? -2 : domain);
  }
  for (const KindRules& rules : table_.kinds) {
    for (const NearRule& near : rules.near) {
      for (const NearRule::Term& term : near.terms) {
        int32_t domain = DomainOf(term.topology, spot);
        fields.push_back(domain == Domains::kNone ? -1 : term.pods[static_cast<size_t>(domain)] > 0);
      }
    }
    for (const SpreadCount& spread : rules.spread) {
      int32_t domain = DomainOf(spread.topology, spot);
      fields.push_back(domain == Domains::kNone ? -1 : spread.pods[static_cast<size_t>(domain)]);
      fields.push_back(spread.node_counts[node(spot)]);
    }
  }
}

void Board::AddTypes() {
  std::unordered_multimap<uint64_t, size_t> known;
  std::vector<int64_t> fields, of_types;  // of_types: those of each type, one after another
  type_.resize(spots_.size());
  for (int32_t spot = 0; spot < static_cast<int32_t>(spots_.size()); ++spot) {
    FieldsOf(spot, fields);
    uint64_t hash = 1;
    for (int64_t field : fields) {
      hash = (hash ^ static_cast<uint64_t>(field)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    auto alike = [&](size_t type) {
      return std::equal(fields.begin(), fields.end(),
                        of_types.begin() + static_cast<ptrdiff_t>(type * fields.size()));
    };
    auto [first, last] = known.equal_range(hash);
    while (first != last && !alike(first->second)) ++first;
    size_t type = types_.size();
    if (first != last) {
      type = first->second;
    } else {
      types_.emplace_back();
      of_types.insert(of_types.end(), fields.begin(), fields.end());
      known.emplace(hash, type);
    }
    types_[type].spots.push_back(spot);
    type_[static_cast<size_t>(spot)] = type;
  }
}

void Board::AddRuleState() {
  apart_.resize(kinds_.size());
  present_in_.resize(kinds_.size());
  spreads_of_.resize(kinds_.size());
  counts_for_.resize(kinds_.size());
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    for (const ApartRule& apart : table_.kinds[kind].apart) {
      auto [presence, added] = presence_.try_emplace(apart);
      if (added) {
        presence->second.assign(static_cast<size_t>(table_.topologies[apart.topology].domains->count()), 0);
        present_in_[apart.kind].emplace_back(apart.topology, &presence->second);
      }
      apart_[kind].push_back(&presence->second);
    }
    const std::vector<SpreadCount>& rules = table_.kinds[kind].spread;
    for (size_t index = 0; index < rules.size(); ++index) {
      SpreadState state{kind, index, {}};
      for (size_t domain = 0; domain < rules[index].pods.size(); ++domain) {
        if (rules[index].counted[domain] != 0) ++state.having[rules[index].pods[domain]];
      }
      spreads_of_[kind].push_back(spreads_.size());
      for (size_t other = 0; other < kinds_.size(); ++other) {
        if (rules[index].matches[other]) counts_for_[other].push_back(spreads_.size());
      }
      spreads_.push_back(std::move(state));
    }
  }
}

int32_t Board::Room(size_t kind, int32_t spot) const {
  int32_t most = seats(kind, spot);
  if (most == 0) return 0;
  if (one_class_) return std::max(0, most - pods_on_[static_cast<size_t>(spot)]);
  Amount room = most;
  const Amount* free = free_.data() + static_cast<size_t>(spot) * columns_.size();
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (requests_[kind][i] > 0) room = std::min(room, free[i] / requests_[kind][i]);
  }
  return static_cast<int32_t>(room);
}

bool Board::Allowed(size_t kind, int32_t spot) const {
  return Room(kind, spot) > 0 && AllowedByRules(kind, spot);
}

int64_t Board::Fewest(const SpreadState& state, const SpreadCount& spread) const {
  return spread.fewest_is_zero || state.having.empty() ? 0 : state.having.begin()->first;
}

bool Board::KeepsApart(size_t kind, int32_t spot) const {
  const std::vector<ApartRule>& apart = table_.kinds[kind].apart;
  for (size_t i = 0; i < apart.size(); ++i) {
    int32_t domain = DomainOf(apart[i].topology, spot);
    if (domain != Domains::kNone && (*apart_[kind][i])[static_cast<size_t>(domain)] > 0) return false;
  }
  return true;
}

bool Board::AllowedByRules(size_t kind, int32_t spot) const {
  const KindRules& rules = table_.kinds[kind];
  if (!KeepsApart(kind, spot)) return false;
  for (const NearRule& near : rules.near) {
    bool met = std::ranges::all_of(near.terms, [&](const NearRule::Term& term) {
      return term.pods[static_cast<size_t>(DomainOf(term.topology, spot))] > 0;
    });
    bool first_of_its_group = near.any == 0 && near.matches[kind];
    if (!met && !first_of_its_group) return false;
  }
  for (size_t i = 0; i < rules.spread.size(); ++i) {
    const SpreadCount& spread = rules.spread[i];
    int64_t there = spread.pods[static_cast<size_t>(DomainOf(spread.topology, spot))];
    if (there + spread.self - Fewest(spreads_[spreads_of_[kind][i]], spread) > spread.max_skew) return false;
  }
  return true;
}

void Board::Count(size_t kind, int32_t spot, int32_t change) {
  for (auto& [topology, pods] : present_in_[kind]) {
    int32_t domain = DomainOf(topology, spot);
    if (domain != Domains::kNone) (*pods)[static_cast<size_t>(domain)] += change;
  }
  for (KindRules& rules : table_.kinds) {
    for (NearRule& near : rules.near) {
      if (!near.matches[kind]) continue;
      for (NearRule::Term& term : near.terms) {
        int32_t domain = DomainOf(term.topology, spot);
        if (domain == Domains::kNone) continue;
        term.pods[static_cast<size_t>(domain)] += change;
        near.any += change;
      }
    }
  }
  for (size_t at : counts_for_[kind]) {
    SpreadState& state = spreads_[at];
    SpreadCount& spread = table_.kinds[state.kind].spread[state.index];
    if (spread.node_counts[node(spot)] == 0) continue;
    int32_t& there = spread.pods[static_cast<size_t>(DomainOf(spread.topology, spot))];
    auto had = state.having.find(there);
    if (--had->second == 0) state.having.erase(had);
    there += change;
    ++state.having[there];
  }
}

void Board::Put(size_t kind, int32_t spot) {
  auto at = static_cast<size_t>(spot);
  if (pods_on_[at] == 0) {
    touched_.push_back(spot);
    Type& type = types_[type_[at]];
    CHECK(type.spots[type.used] == spot) << "of alike spots the first comes first";
    ++type.used;
  }
  ++pods_[At(spot) + kind];
  ++pods_on_[at];
  --left_[kind];
  --total_left_;
  for (size_t i = 0; i < columns_.size(); ++i) free_[at * columns_.size() + i] -= requests_[kind][i];
  Count(kind, spot, 1);
}

void Board::Take(size_t kind, int32_t spot) {
  auto at = static_cast<size_t>(spot);
  --pods_[At(spot) + kind];
  --pods_on_[at];
  ++left_[kind];
  ++total_left_;
  for (size_t i = 0; i < columns_.size(); ++i) free_[at * columns_.size() + i] += requests_[kind][i];
  Count(kind, spot, -1);
  if (pods_on_[at] > 0) return;
  CHECK(touched_.back() == spot) << "pods are taken in the reverse order of putting";
  touched_.pop_back();
  --types_[type_[at]].used;
}

int64_t Board::Crowd(size_t kind, int32_t spot) const {
  int64_t crowd = 0;
  for (size_t at : counts_for_[kind]) {
    const SpreadCount& spread = table_.kinds[spreads_[at].kind].spread[spreads_[at].index];
    int32_t domain = DomainOf(spread.topology, spot);
    if (domain != Domains::kNone) crowd += spread.pods[static_cast<size_t>(domain)];
  }
  return crowd;
}

std::vector<KindShare> Board::Shares() const {
  std::vector<KindShare> shares;
  for (int32_t spot : touched_) {
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      if (pods(kind, spot) > 0) shares.push_back({node(spot), static_cast<int32_t>(kind), pods(kind, spot)});
    }
  }
  return shares;
}

}  // namespace lockstep::gang
