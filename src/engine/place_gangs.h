#pragma once

#include <optional>

#include "engine/draft.h"

namespace lockstep::engine {

// Whether a gang may have seats now, will as soon as an answer or the end of its old pods comes (so that
// nobody may overtake it), or lets others pass: suspended, refused by admission, backing off.
enum class Turn { kNow, kComes, kPasses };
Turn TurnOf(const cluster::World& world, const cluster::GangState& gang, Now now);

// Until when it backs off after failed starts. Nothing if it does not, or if what is recorded is later than
// any back-off of ours: then somebody else wrote that.
std::optional<WallTime> BacksOffUntil(const cluster::GangState& gang, Now now);

// Why this gang may not start now although it might fit: suspended, backing off, its template refused or not
// checked yet, pods of an older attempt left. Nothing if it may.
std::optional<api::GangReason> HeldBack(const cluster::World& world, const cluster::GangState& gang, Now now);

// Nodes that refused this gang and are barred for it still.
std::vector<cluster::NodeId> BarredNow(const cluster::World& world, const cluster::GangState& gang, Now now);

// It comes back from a restart and keeps its turn meanwhile.
bool IsRestarting(const cluster::GangState& gang);

// Walks the queue in order and writes down a placement for each gang that fits whole. One that does not fit
// lets those behind it pass, unless it has waited beyond the age limit or restarts: then the walk ends with
// it (World::goes_first). Gangs that are held back, or impossible on this cluster even when empty, stop
// nobody.
void PlaceGangs(Draft& draft);

}  // namespace lockstep::engine
