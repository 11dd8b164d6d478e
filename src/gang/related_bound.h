#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gang/related_board.h"

namespace lockstep::gang {

// What rules between pods leave room for, at most, and which rule that is.
struct RuleLimit {
  cluster::Reason reason =
      cluster::Reason::kNone;  // kNone: the nodes that rules leave to it have no more seats
  std::string topology_key;    // of the rule
  int32_t max_skew = 0;        // kSpread
  int32_t wanted = 0;
  int64_t most = 0;  // < wanted

  friend bool operator==(const RuleLimit&, const RuleLimit&) = default;
};

// A proof that the gang does not fit on the empty board, if one of these finds it. For a kind, where no other
// kind could help it: its seats; one pod per domain by its own anti-affinity; the roomiest domain of its own
// affinity; the level to which its spread constraint can rise. For all kinds together: one pod per domain;
// what the roomiest domain has where all must be in one. Exact for one kind with one such rule.
std::optional<RuleLimit> LimitOf(const Board& board);

}  // namespace lockstep::gang
