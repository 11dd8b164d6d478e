#pragma once

#include <optional>

#include "engine/draft.h"
#include "explain/sheet.h"

namespace lockstep::engine {

// All that can be said of why this gang waits; nothing if it does not wait. The World is the caller's own
// copy: questions are tried out on it.
std::optional<explain::Sheet> SheetOf(cluster::World world, const std::string& gang, Now now);

}  // namespace lockstep::engine
