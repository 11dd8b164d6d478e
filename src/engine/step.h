#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cluster/world.h"

namespace lockstep::engine {

struct StepResult {
  std::vector<cluster::Action> actions;
  std::optional<MonoTime> next_wake;  // when to step again if no event comes first
};

// One thought of the engine: takes in what happened and says what to do. Pure: the same events in the same
// order give the same actions, byte for byte. Level-based: whatever was missed, the next step repairs from
// what is. Only one leader calls this; its actions must all be sent, and their answers come back as events.
StepResult Step(cluster::World& world, std::span<const cluster::Event> events, Now now);

// Brings every job up to date with what is, and decides nothing about seats: for one who only looks. Nothing
// of what it returns has to be sent; the dry runs among it tell more.
std::vector<cluster::Action> Consider(cluster::World& world, std::span<const cluster::Event> events, Now now);

// What a standby does instead: it follows the World and decides nothing.
void Follow(cluster::World& world, std::span<const cluster::Event> events);

}  // namespace lockstep::engine
