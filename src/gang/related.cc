#include "gang/related.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "gang/alike.h"
#include "gang/related_exact.h"

namespace lockstep::gang {
namespace {

using cluster::Domains;
using cluster::Nodes;
using cluster::View;

// Domains that are tried as the one where pods that must be near each other go, before the exact search.
constexpr size_t kDomainsTried = 64;

class Greedy {
 public:
  explicit Greedy(Board& board) : board_(board), wants_(board.kinds()), pinned_(board.kinds()) {
    for (size_t kind = 0; kind < board.kinds(); ++kind) wants_[kind] = DomainsToSpreadOver(kind);
  }

  bool Run() {
    std::vector<size_t> order = Hardest();
    for (int turn = 0; turn < 2; ++turn) {
      if (FillNear(order)) return true;
      if (board_.kinds() == 1) return false;
      std::ranges::reverse(order);
    }
    return false;
  }

 private:
  // Better is less: an emptier domain, a node without devices that it has no use for, a node that the gang
  // uses already, one that takes all that is left and is tight, else a roomy one; ties go by name.
  using Score = std::tuple<int64_t, uint8_t, uint8_t, int32_t, int32_t>;

  std::vector<size_t> Hardest() const {
    std::vector<int64_t> seats(board_.kinds());
    for (size_t kind = 0; kind < seats.size(); ++kind) {
      for (int32_t spot = 0; spot < static_cast<int32_t>(board_.spots()); ++spot)
        seats[kind] += board_.seats(kind, spot);
    }
    std::vector<size_t> order(board_.kinds());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
      return __int128{board_.count(a)} * seats[b] > __int128{board_.count(b)} * seats[a];
    });
    return order;
  }

  // How many of the kind go to one domain of its widest spread constraint, so that a node for as many is
  // looked for.
  int32_t DomainsToSpreadOver(size_t kind) const {
    int64_t domains = 1;
    for (const SpreadCount& spread : board_.table().kinds[kind].spread)
      domains = std::max<int64_t>(domains, std::ranges::count(spread.counted, 1));
    for (const ApartRule& apart : board_.table().kinds[kind].apart) {
      if (apart.kind == kind) domains = std::max<int64_t>(domains, board_.count(kind));
    }
    return static_cast<int32_t>(std::max<int64_t>(1, (board_.count(kind) + domains - 1) / domains));
  }

  // A rule of a kind that it must be near pods of the gang, for nobody else is there: of several such, the
  // one with the smallest domains.
  struct Fresh {
    size_t kind = 0;
    const NearRule* near = nullptr;
    size_t topology =
        0;  // of its terms the one with the smallest domains decides about the others, as a rule
  };
  std::optional<Fresh> FreshKind(const std::vector<size_t>& order) const {
    std::optional<Fresh> fresh;
    auto domains = [&](size_t topology) { return board_.table().topologies[topology].domains->count(); };
    for (size_t kind : order) {
      for (const NearRule& near : board_.table().kinds[kind].near) {
        if (near.any != 0) continue;
        for (const NearRule::Term& term : near.terms) {
          if (!fresh || domains(term.topology) > domains(fresh->topology))
            fresh = {kind, &near, term.topology};
        }
      }
      if (fresh) return fresh;
    }
    return fresh;
  }

  // Tries one domain after another for such a kind and those it must be near, then without.
  bool FillNear(const std::vector<size_t>& order) {
    std::optional<Fresh> fresh = FreshKind(order);
    if (!fresh) return Fill(order);
    pin_topology_ = fresh->topology;
    for (size_t kind = 0; kind < board_.kinds(); ++kind) pinned_[kind] = BelongsWith(kind, *fresh);
    for (int32_t domain : TightestDomains(fresh->kind)) {
      pin_domain_ = domain;
      if (Fill(order)) return true;
    }
    pinned_.assign(board_.kinds(), false);
    return board_.kinds() > 1 && Fill(order);
  }

  // `kind` must be near what `fresh` must be near, or is that itself.
  bool BelongsWith(size_t kind, const Fresh& fresh) const {
    if (kind == fresh.kind || fresh.near->matches[kind]) return true;
    return std::ranges::any_of(board_.table().kinds[kind].near, [&](const NearRule& other) {
      return other.any == 0 && other.matches == fresh.near->matches &&
             std::ranges::find(other.terms, pin_topology_, &NearRule::Term::topology) != other.terms.end();
    });
  }

  // Those of the pinned topology that have seats for all pinned kinds.
  std::vector<int32_t> TightestDomains(size_t fresh) const {
    std::vector<std::vector<int64_t>> seats(
        static_cast<size_t>(board_.table().topologies[pin_topology_].domains->count()),
        std::vector<int64_t>(board_.kinds()));
    for (int32_t spot = 0; spot < static_cast<int32_t>(board_.spots()); ++spot) {
      int32_t domain = board_.DomainOf(pin_topology_, spot);
      if (domain == Domains::kNone) continue;
      for (size_t kind = 0; kind < board_.kinds(); ++kind)
        seats[static_cast<size_t>(domain)][kind] += board_.seats(kind, spot);
    }
    std::vector<int32_t> domains;
    for (size_t domain = 0; domain < seats.size(); ++domain) {
      bool enough = true;
      for (size_t kind = 0; kind < board_.kinds(); ++kind)
        enough &= !pinned_[kind] || seats[domain][kind] >= board_.count(kind);
      if (enough) domains.push_back(static_cast<int32_t>(domain));
    }
    std::ranges::stable_sort(domains, {},
                             [&](int32_t domain) { return seats[static_cast<size_t>(domain)][fresh]; });
    if (domains.size() > kDomainsTried) domains.resize(kDomainsTried);
    return domains;
  }

  // Kinds that wait for others get a second chance as long as any pod finds a seat.
  bool Fill(const std::vector<size_t>& order) {
    std::vector<std::pair<size_t, int32_t>> put;
    open_.assign(board_.kinds(), {});
    for (bool more = true; more && board_.total_left() > 0;) {
      more = false;
      for (size_t kind : order) {
        while (board_.left(kind) > 0) {
          int32_t spot = Best(kind);
          if (spot < 0) break;
          size_t touched = board_.touched().size();
          board_.Put(kind, spot);
          if (board_.touched().size() > touched) {
            for (std::vector<int32_t>& open : open_) open.push_back(spot);
          }
          put.emplace_back(kind, spot);
          more = true;
        }
      }
    }
    if (board_.total_left() == 0) return true;
    for (auto last = put.rbegin(); last != put.rend(); ++last) board_.Take(last->first, last->second);
    return false;
  }

  int32_t Best(size_t kind) {
    std::optional<Score> best;
    auto offer = [&](int32_t spot, bool touched) {
      if (pinned_[kind] && board_.DomainOf(pin_topology_, spot) != pin_domain_) return;
      int32_t room = board_.Room(kind, spot);
      if (room == 0) return;
      Score score = ScoreOf(kind, spot, room, touched);
      if ((!best || score < *best) && board_.AllowedByRules(kind, spot)) best = score;
    };
    for (const Board::Type& type : board_.types()) {
      if (type.used < type.spots.size()) offer(type.spots[type.used], false);
    }
    std::erase_if(open_[kind], [&](int32_t spot) { return board_.Closed(kind, spot); });
    for (int32_t spot : open_[kind]) offer(spot, true);
    return best ? std::get<4>(*best) : -1;
  }

  Score ScoreOf(size_t kind, int32_t spot, int32_t room, bool touched) const {
    int32_t want = std::min(wants_[kind], board_.left(kind));
    uint8_t group = touched ? 0 : room >= want ? 1 : 2;
    return {board_.Crowd(kind, spot), board_.tier(kind, spot), group, group == 2 ? -room : room, spot};
  }

  Board& board_;
  std::vector<int32_t> wants_;              // by kind: pods that a node should take
  std::vector<bool> pinned_;                // by kind: only to this domain
  std::vector<std::vector<int32_t>> open_;  // by kind: spots with pods that may take more of it
  size_t pin_topology_ = 0;
  int32_t pin_domain_ = Domains::kNone;
};

}  // namespace

bool IsRelated(const Nodes& nodes, View view, const Need& need) {
  bool rules = std::ranges::any_of(need.roles, [](const RoleNeed& role) {
    return role.count > 0 && role.who && !role.who->rules.empty();
  });
  return rules || IsKeptAway(nodes, need, view);
}

bool IsKeptAway(const Nodes& nodes, const Need& need, View view) {
  auto at = static_cast<size_t>(view);
  if (!nodes.residents().any_keepers(at)) return false;
  return std::ranges::any_of(need.roles, [&](const RoleNeed& role) {
    return role.count > 0 && role.who && nodes.residents().IsKeptAway(at, *role.who);
  });
}

RelatedResult PlaceRelated(Nodes& nodes, View view, std::span<const RoleNeed> kinds,
                           std::span<const cluster::NodeId> barred) {
  for (const RoleNeed& kind : kinds) {  // the usual case in a full cluster, at the price of a number
    if (SeatsFor(nodes.Seats(kind.pod_class, view), barred) < kind.count) return {};
  }
  Board board(nodes, view, kinds, barred);
  if (std::optional<RuleLimit> limit = LimitOf(board)) {
    RelatedResult none;
    none.proved = !board.volumes_cut();
    if (limit->reason != cluster::Reason::kNone) none.limit = limit;
    return none;
  }
  if (Greedy(board).Run()) return {board.Shares(), true, {}};
  Board merged(nodes, view, kinds, barred, Board::Seating::kWanted);
  switch (FillExactly(merged)) {
    case Found::kPlacement:
      return {merged.Shares(), true, {}};
    case Found::kNone:
      return {{}, !merged.volumes_cut(), {}};
    case Found::kGaveUp:
      break;
  }
  return {{}, false, {}};
}

}  // namespace lockstep::gang
