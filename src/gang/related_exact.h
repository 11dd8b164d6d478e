#pragma once

#include <cstdint>

#include "gang/related_board.h"

namespace lockstep::gang {

// Steps (a pod tried on a spot) before the search gives up: ten to twenty milliseconds.
inline constexpr int64_t kRelatedWork = 30'000;
// Larger gangs are not searched: their answer, where nothing simpler finds one, is "not proved".
inline constexpr int64_t kRelatedPods = 256;

enum class Found : uint8_t { kPlacement, kNone, kGaveUp };

// Whether the pods that are left can be put on the board in any order at all: every sequence is tried, except
// that equal boards are looked at once and alike spots stand for each other. With kPlacement the board is
// full; else it is as it was.
Found FillExactly(Board& board, int64_t work = kRelatedWork);

}  // namespace lockstep::gang
