#pragma once

#include <optional>

#include "engine/draft.h"
#include "explain/node_sheet.h"

namespace lockstep::engine {

// Who is on a node, and what keeps the jobs that wait off it; nothing if there is no such node.
std::optional<explain::NodeSheet> NodeSheetOf(const cluster::World& world, const std::string& node);

}  // namespace lockstep::engine
