#include "gang/exact.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "cluster/filters/host_ports.h"
#include "gang/volume_room.h"

namespace lockstep::gang {
namespace {

using cluster::NodeId;
using cluster::Nodes;
using cluster::View;
using kube::Amount;

using Counts = std::vector<int32_t>;  // pods per kind

bool AtMost(const Counts& a, const Counts& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
  }
  return true;
}

// A set of pods still to be seated after some nodes, and how it came about.
struct State {
  Counts left;
  size_t parent = 0;  // index into the states of the node before
};

struct Candidate {
  NodeId node = 0;
  const std::vector<Counts>* options = nullptr;
};

class Search {
 public:
  Search(Nodes& nodes, View view, std::span<const RoleNeed> kinds, int64_t work)
      : nodes_(nodes), view_(view), kinds_(kinds), work_(work) {
    for (const RoleNeed& kind : kinds) {
      for (const cluster::Request& request : nodes.pod_class(kind.pod_class).requests) {
        if (std::ranges::find(columns_, request.column) == columns_.end()) columns_.push_back(request.column);
      }
    }
    wanted_.assign(columns_.size(), 0);
    for (const RoleNeed& kind : kinds) {
      std::vector<Amount> amounts(columns_.size());
      for (const cluster::Request& request : nodes.pod_class(kind.pod_class).requests) {
        auto at = static_cast<size_t>(std::ranges::find(columns_, request.column) - columns_.begin());
        amounts[at] = request.amount;
        wanted_[at] = kube::AddAmounts(wanted_[at], kube::MultiplyAmount(request.amount, kind.count));
      }
      requests_.push_back(std::move(amounts));
    }
  }

  MixedResult Run(std::span<const NodeId> barred) {
    MixedResult result = Walk(barred);
    result.proved &= !volumes_cut_;
    return result;
  }

 private:
  MixedResult Walk(std::span<const NodeId> barred) {
    AddCandidates(barred);
    std::vector<State> states{{Wanted(), 0}};
    for (size_t step = 0; step < candidates_.size(); ++step) {
      std::vector<State> next = Advance(states, step);
      if (work_ <= 0) return {{}, false};
      trail_.push_back(std::move(states));
      states = std::move(next);
      if (states.empty()) return {{}, true};
      for (const State& state : states) {
        if (std::ranges::all_of(state.left, [](int32_t left) { return left == 0; }))
          return {Trace(state), true};
      }
    }
    return {{}, work_ > 0};
  }

  Counts Wanted() const {
    Counts wanted;
    for (const RoleNeed& kind : kinds_) wanted.push_back(kind.count);
    return wanted;
  }

  // Seats of each kind alone, by node in order of name, none on barred nodes.
  std::vector<Counts> SeatsByNode(std::span<const NodeId> barred) {
    std::vector<Counts> seats(nodes_.size(), Counts(kinds_.size()));
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      const cluster::SeatIndex& index = nodes_.Seats(kinds_[kind].pod_class, view_);
      for (size_t i = 0; i < seats.size(); ++i) {
        NodeId node = nodes_.ByName()[i];
        if (std::ranges::find(barred, node) != barred.end()) continue;
        seats[i][kind] = std::min(index.seats(node), kinds_[kind].count);
      }
    }
    for (size_t i = 0; i < seats.size(); ++i)
      volumes_cut_ |= KeepWithinVolumeLimits(nodes_, view_, kinds_, nodes_.ByName()[i], seats[i]);
    return seats;
  }

  // What decides about the options of a node: its seats, and what is free of each resource, cut at what the
  // gang could use.
  void StateOf(NodeId node, const Counts& seats, std::vector<int64_t>& state) const {
    state.assign(seats.begin(), seats.end());
    for (size_t r = 0; r < columns_.size(); ++r) {
      state.push_back(std::clamp(nodes_.Free(node, columns_[r], view_), Amount{0}, wanted_[r]));
    }
  }

  void AddCandidates(std::span<const NodeId> barred) {
    std::vector<Counts> seats = SeatsByNode(barred);
    std::vector<int64_t> most;  // per candidate: seats of all kinds, to try the roomiest first
    std::vector<size_t> order;
    std::vector<Candidate> found;
    std::vector<int64_t> state;
    for (size_t i = 0; i < seats.size(); ++i) {
      int64_t sum = std::accumulate(seats[i].begin(), seats[i].end(), int64_t{0});
      if (sum == 0) continue;
      if (--work_ <= 0) return;
      NodeId node = nodes_.ByName()[i];
      StateOf(node, seats[i], state);
      auto [entry, added] = options_.try_emplace(state);
      if (added) ListOptions(state, entry->second);
      order.push_back(found.size());
      most.push_back(sum);
      found.push_back({node, &entry->second});
      seats_.push_back(std::move(seats[i]));
    }
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return most[a] > most[b]; });
    // What the nodes from a step on can take of each kind at best.
    std::vector<int64_t> sum(kinds_.size());
    suffix_.assign(order.size() + 1, sum);
    for (size_t step = order.size(); step-- > 0;) {
      for (size_t i = 0; i < kinds_.size(); ++i) sum[i] += seats_[order[step]][i];
      suffix_[step] = sum;
    }
    for (size_t at : order) candidates_.push_back(found[at]);
  }

  // All combinations that fit and to which no pod can be added.
  void ListOptions(const std::vector<int64_t>& state, std::vector<Counts>& options) {
    Counts chosen(kinds_.size());
    std::vector<Amount> free(state.begin() + static_cast<ptrdiff_t>(kinds_.size()), state.end());
    Choose(0, state, free, chosen, options);
    std::vector<Counts> best;
    for (const Counts& option : options) {
      work_ -= static_cast<int64_t>(options.size());
      if (work_ <= 0) break;
      bool beaten = std::ranges::any_of(
          options, [&](const Counts& other) { return other != option && AtMost(option, other); });
      if (!beaten) best.push_back(option);
    }
    options = std::move(best);
  }

  void Choose(size_t kind, const std::vector<int64_t>& state, std::vector<Amount>& free, Counts& chosen,
              std::vector<Counts>& options) {
    if (kind == kinds_.size()) {
      options.push_back(chosen);
      --work_;
      return;
    }
    int64_t most = PortsTaken(kind, chosen) ? 0 : state[kind];
    for (size_t r = 0; r < free.size(); ++r) {
      if (requests_[kind][r] > 0) most = std::min(most, free[r] / requests_[kind][r]);
    }
    bool last = kind + 1 == kinds_.size();
    for (int64_t pods = most; pods >= (last ? most : 0) && work_ > 0; --pods) {
      for (size_t r = 0; r < free.size(); ++r) free[r] -= requests_[kind][r] * pods;
      chosen[kind] = static_cast<int32_t>(pods);
      Choose(kind + 1, state, free, chosen, options);
      chosen[kind] = 0;
      for (size_t r = 0; r < free.size(); ++r) free[r] += requests_[kind][r] * pods;
    }
  }

  bool PortsTaken(size_t kind, const Counts& chosen) const {
    for (size_t other = 0; other < kind; ++other) {
      if (chosen[other] > 0 &&
          cluster::PortsConflict(nodes_.pod_class(kinds_[kind].pod_class).need.host_ports,
                                 nodes_.pod_class(kinds_[other].pod_class).need.host_ports)) {
        return true;
      }
    }
    return false;
  }

  std::vector<State> Advance(const std::vector<State>& states, size_t step) {
    std::vector<State> next;
    for (size_t parent = 0; parent < states.size(); ++parent) {
      for (const Counts& option : *candidates_[step].options) {
        if (work_ <= 0) return {};
        State state{states[parent].left, parent};
        for (size_t i = 0; i < option.size(); ++i) state.left[i] = std::max(0, state.left[i] - option[i]);
        Offer(std::move(state), step, next);
      }
    }
    return next;
  }

  // Adds the state unless the nodes to come cannot seat it or another state is at least as good.
  void Offer(State state, size_t step, std::vector<State>& states) {
    for (size_t i = 0; i < state.left.size(); ++i) {
      if (state.left[i] > suffix_[step + 1][i]) return;
    }
    work_ -= static_cast<int64_t>(states.size()) + 1;
    if (std::ranges::any_of(states, [&](const State& other) { return AtMost(other.left, state.left); }))
      return;
    std::erase_if(states, [&](const State& other) { return AtMost(state.left, other.left); });
    states.push_back(std::move(state));
  }

  std::vector<KindShare> Trace(State state) const {
    std::vector<KindShare> shares;
    for (size_t step = trail_.size(); step-- > 0;) {
      const State& before = trail_[step][state.parent];
      for (size_t i = 0; i < kinds_.size(); ++i) {
        int32_t pods = before.left[i] - state.left[i];
        if (pods > 0) shares.push_back({candidates_[step].node, static_cast<int32_t>(i), pods});
      }
      state = before;
    }
    std::ranges::reverse(shares);
    return shares;
  }

  Nodes& nodes_;
  View view_;
  std::span<const RoleNeed> kinds_;
  int64_t work_;
  bool volumes_cut_ = false;                                     // see KeepWithinVolumeLimits
  std::vector<int32_t> columns_;                                 // of the resources that any kind asks for
  std::vector<Amount> wanted_;                                   // by the whole gang, parallel to columns_
  std::vector<std::vector<Amount>> requests_;                    // kind × columns_
  std::map<std::vector<int64_t>, std::vector<Counts>> options_;  // by state; a map keeps its entries in place
  std::vector<Candidate> candidates_;
  std::vector<Counts> seats_;
  std::vector<std::vector<int64_t>> suffix_;
  std::vector<std::vector<State>> trail_;
};

}  // namespace

MixedResult PlaceExactly(Nodes& nodes, View view, std::span<const RoleNeed> kinds,
                         std::span<const NodeId> barred, int64_t work) {
  return Search(nodes, view, kinds, work).Run(barred);
}

}  // namespace lockstep::gang
