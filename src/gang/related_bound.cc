#include "gang/related_bound.h"

#include <algorithm>

namespace lockstep::gang {
namespace {

using cluster::Domains;
using cluster::Reason;

class Bounds {
 public:
  explicit Bounds(const Board& board) : board_(board), table_(board.table()) {}

  std::optional<RuleLimit> Find() const {
    for (size_t kind = 0; kind < board_.kinds(); ++kind) {
      if (std::optional<RuleLimit> limit = OfKind(kind)) return limit;
    }
    if (board_.kinds() == 1) return std::nullopt;
    for (size_t topology = 0; topology < table_.topologies.size(); ++topology) {
      if (std::optional<RuleLimit> limit = OnePerDomain(topology)) return limit;
      if (std::optional<RuleLimit> limit = AllInOneDomain(topology)) return limit;
    }
    return std::nullopt;
  }

 private:
  using Caps = std::vector<int64_t>;  // by spot: seats of one kind at most

  int32_t Spots() const { return static_cast<int32_t>(board_.spots()); }

  // No kind but `kind` matches.
  static bool OnlyItself(const std::vector<bool>& matches, size_t kind) {
    for (size_t other = 0; other < matches.size(); ++other) {
      if (other != kind && matches[other]) return false;
    }
    return true;
  }

  bool Apart(size_t kind, size_t other, size_t topology) const {
    return std::ranges::binary_search(table_.kinds[kind].apart, ApartRule{topology, other});
  }

  // Seats that the rules leave open where the gang's own pods change nothing about them.
  Caps OpenSeats(size_t kind) const {
    Caps caps(board_.spots());
    for (int32_t spot = 0; spot < Spots(); ++spot) {
      bool open = NearSomebody(kind, spot) && !Crowded(kind, spot);
      caps[static_cast<size_t>(spot)] = open ? board_.seats(kind, spot) : 0;
    }
    return caps;
  }

  bool NearSomebody(size_t kind, int32_t spot) const {
    return std::ranges::all_of(table_.kinds[kind].near, [&](const NearRule& near) {
      if (!OnlyItself(near.matches, kind) || IsFresh(near, kind)) return true;
      if (board_.seats(kind, spot) == 0) return false;
      return std::ranges::all_of(near.terms, [&](const NearRule::Term& term) {
        return term.pods[static_cast<size_t>(board_.DomainOf(term.topology, spot))] > 0;
      });
    });
  }

  // By a constraint that no pod of the gang counts for.
  bool Crowded(size_t kind, int32_t spot) const {
    if (board_.seats(kind, spot) == 0) return false;
    return std::ranges::any_of(table_.kinds[kind].spread, [&](const SpreadCount& spread) {
      if (std::ranges::find(spread.matches, true) != spread.matches.end()) return false;
      int64_t there = spread.pods[static_cast<size_t>(board_.DomainOf(spread.topology, spot))];
      return there - Fewest(spread) > spread.max_skew;
    });
  }

  static int64_t Fewest(const SpreadCount& spread) {
    int64_t fewest = INT64_MAX;
    for (size_t domain = 0; domain < spread.pods.size(); ++domain) {
      if (spread.counted[domain] != 0) fewest = std::min<int64_t>(fewest, spread.pods[domain]);
    }
    return spread.fewest_is_zero || fewest == INT64_MAX ? 0 : fewest;
  }

  // Its first pod opens the only domains that the others may join.
  static bool IsFresh(const NearRule& near, size_t kind) { return near.any == 0 && near.matches[kind]; }

  Caps ByDomain(const Caps& caps, size_t topology) const {
    Caps sums(static_cast<size_t>(table_.topologies[topology].domains->count()));
    for (int32_t spot = 0; spot < Spots(); ++spot) {
      int32_t domain = board_.DomainOf(topology, spot);
      if (domain != Domains::kNone) sums[static_cast<size_t>(domain)] += caps[static_cast<size_t>(spot)];
    }
    return sums;
  }

  static int64_t Sum(const Caps& caps) {
    int64_t sum = 0;
    for (int64_t cap : caps) sum += cap;
    return sum;
  }

  std::optional<RuleLimit> OfKind(size_t kind) const {
    Caps caps = OpenSeats(kind);
    RuleLimit limit{.wanted = board_.count(kind), .most = Sum(caps)};
    auto consider = [&](int64_t most, Reason reason, size_t topology, int32_t max_skew = 0) {
      if (most >= limit.most) return;
      limit.most = most;
      limit.reason = reason;
      limit.topology_key = table_.topologies[topology].key;
      limit.max_skew = max_skew;
    };
    for (size_t topology = 0; topology < table_.topologies.size(); ++topology) {
      if (!Apart(kind, kind, topology)) continue;
      Caps capped = caps;
      CapDomains(capped, topology);
      consider(Sum(capped), Reason::kAntiAffinity, topology);
      // For the other rules only where it is certain which spot the seat of a domain is on.
      if (table_.topologies[topology].domains->one_node_each) caps = std::move(capped);
    }
    const KindRules& rules = table_.kinds[kind];
    for (const NearRule& near : rules.near) {
      if (!IsFresh(near, kind) || !OnlyItself(near.matches, kind)) continue;
      for (const NearRule::Term& term : near.terms) {
        Caps domains = ByDomain(caps, term.topology);
        int64_t roomiest = domains.empty() ? 0 : *std::ranges::max_element(domains);
        consider(roomiest, Reason::kAffinity, term.topology);
      }
    }
    for (const SpreadCount& spread : rules.spread) {
      if (spread.self && OnlyItself(spread.matches, kind))
        consider(Level(spread, ByDomain(caps, spread.topology)), Reason::kSpread, spread.topology,
                 spread.max_skew);
    }
    if (limit.most >= limit.wanted) return std::nullopt;
    return limit;
  }

  // At most one seat in each domain: that of its first spot stands for it.
  void CapDomains(Caps& caps, size_t topology) const {
    std::vector<uint8_t> has(static_cast<size_t>(table_.topologies[topology].domains->count()));
    for (int32_t spot = 0; spot < Spots(); ++spot) {
      int32_t domain = board_.DomainOf(topology, spot);
      int64_t& cap = caps[static_cast<size_t>(spot)];
      if (domain == Domains::kNone || cap == 0) continue;
      cap = 1 - has[static_cast<size_t>(domain)];
      has[static_cast<size_t>(domain)] = 1;
    }
  }

  // How many pods of a kind can join, lowest domain first, until the fullest is max_skew above the lowest
  // that can rise no further. The fewest never falls, so no other order gets further.
  static int64_t Level(const SpreadCount& spread, const Caps& domains) {
    int64_t fewest = spread.fewest_is_zero ? 0 : INT64_MAX;
    if (!spread.fewest_is_zero) {
      for (size_t d = 0; d < domains.size(); ++d) {
        if (spread.counted[d] != 0) fewest = std::min(fewest, spread.pods[d] + domains[d]);
      }
    }
    int64_t most = 0;
    for (size_t d = 0; d < domains.size(); ++d) {
      int64_t room = fewest == INT64_MAX ? 0 : fewest + spread.max_skew - spread.pods[d];
      most += std::clamp<int64_t>(room, 0, domains[d]);
    }
    return most;
  }

  int64_t Pods() const {
    int64_t pods = 0;
    for (size_t kind = 0; kind < board_.kinds(); ++kind) pods += board_.count(kind);
    return pods;
  }

  bool AllApart(size_t topology) const {
    for (size_t kind = 0; kind < board_.kinds(); ++kind) {
      for (size_t other = 0; other < board_.kinds(); ++other) {
        if (!Apart(kind, other, topology)) return false;
      }
    }
    return true;
  }

  // Domains that have a seat at all, where no two pods of the gang may share one.
  std::optional<RuleLimit> OnePerDomain(size_t topology) const {
    if (!AllApart(topology)) return std::nullopt;
    std::vector<uint8_t> has(static_cast<size_t>(table_.topologies[topology].domains->count()));
    for (int32_t spot = 0; spot < Spots(); ++spot) {
      int32_t domain = board_.DomainOf(topology, spot);
      if (domain == Domains::kNone) return std::nullopt;  // such nodes take any number of pods
      has[static_cast<size_t>(domain)] = 1;
    }
    int64_t most = std::ranges::count(has, 1);
    if (most >= Pods()) return std::nullopt;
    return RuleLimit{Reason::kAntiAffinity, table_.topologies[topology].key, 0, static_cast<int32_t>(Pods()),
                     most};
  }

  // Every kind's first pod opens the same domain for all kinds, so all pods are in one of `topology`.
  bool AllTogether(size_t topology) const {
    for (size_t kind = 0; kind < board_.kinds(); ++kind) {
      bool all = std::ranges::any_of(table_.kinds[kind].near, [&](const NearRule& near) {
        return near.any == 0 && std::ranges::find(near.matches, false) == near.matches.end() &&
               std::ranges::find(near.terms, topology, &NearRule::Term::topology) != near.terms.end();
      });
      if (!all) return false;
    }
    return true;
  }

  std::optional<RuleLimit> AllInOneDomain(size_t topology) const {
    if (!AllTogether(topology)) return std::nullopt;
    std::vector<std::vector<int32_t>> spots(
        static_cast<size_t>(table_.topologies[topology].domains->count()));
    for (int32_t spot = 0; spot < Spots(); ++spot) {
      int32_t domain = board_.DomainOf(topology, spot);
      if (domain != Domains::kNone) spots[static_cast<size_t>(domain)].push_back(spot);
    }
    RuleLimit limit{Reason::kAffinity, table_.topologies[topology].key, 0, static_cast<int32_t>(Pods()), 0};
    for (const std::vector<int32_t>& domain : spots) limit.most = std::max(limit.most, MostOn(domain));
    if (limit.most >= limit.wanted) return std::nullopt;
    return limit;
  }

  // Pods of the gang that these spots can take together, at most.
  int64_t MostOn(const std::vector<int32_t>& spots) const {
    int64_t pods = 0;
    for (size_t kind = 0; kind < board_.kinds(); ++kind) {
      int64_t seats = 0;
      for (int32_t spot : spots) seats += board_.seats(kind, spot);
      pods += std::min<int64_t>(seats, board_.count(kind));
    }
    for (size_t topology = 0; topology < table_.topologies.size(); ++topology) {
      if (table_.topologies[topology].domains->one_node_each && AllApart(topology) &&
          Labelled(spots, topology))
        pods = std::min(pods, static_cast<int64_t>(spots.size()));
    }
    if (board_.one_class()) {
      int64_t seats = 0;
      for (int32_t spot : spots) {
        int32_t most = 0;
        for (size_t kind = 0; kind < board_.kinds(); ++kind) most = std::max(most, board_.seats(kind, spot));
        seats += most;
      }
      return std::min(pods, seats);
    }
    return EnoughFree(spots) ? pods : std::min(pods, Pods() - 1);
  }

  bool Labelled(const std::vector<int32_t>& spots, size_t topology) const {
    return std::ranges::all_of(
        spots, [&](int32_t spot) { return board_.DomainOf(topology, spot) != Domains::kNone; });
  }

  bool EnoughFree(const std::vector<int32_t>& spots) const {
    for (size_t resource = 0; resource < board_.resources(); ++resource) {
      __int128 wanted = 0, free = 0;
      for (size_t kind = 0; kind < board_.kinds(); ++kind)
        wanted += __int128{board_.request(kind, resource)} * board_.count(kind);
      for (int32_t spot : spots) free += board_.free(spot, resource);
      if (free < wanted) return false;
    }
    return true;
  }

  const Board& board_;
  const RuleTable& table_;
};

}  // namespace

std::optional<RuleLimit> LimitOf(const Board& board) { return Bounds(board).Find(); }

}  // namespace lockstep::gang
