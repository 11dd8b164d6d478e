#pragma once

#include <optional>
#include <vector>

#include "cluster/world.h"

namespace lockstep::engine {

// The pods of a gang that no job of ours made (cluster/group_mark.h), by what they still need, in the order
// in which they were made. Whoever owns them makes, judges and replaces them; Lockstep gives them seats.
struct Group {
  std::vector<cluster::PodPtr> seated;   // on a node
  std::vector<cluster::PodPtr> steered;  // to a node, which they don't have yet
  std::vector<cluster::PodPtr> pending;  // neither
  std::vector<cluster::PodPtr> leaving;  // being deleted, and still on a node
  std::vector<cluster::PodPtr> done;     // succeeded
  std::vector<cluster::PodPtr> failed;

  std::vector<cluster::PodPtr> live() const;     // seated, steered and pending
  std::vector<cluster::PodPtr> unbound() const;  // steered and pending
};

bool IsGroup(const cluster::GangState& gang);
Group LookAt(const cluster::GangState& gang);

// The pods that want seats now: those without a node, no more than the gang has left. Or why none gets any.
std::variant<std::vector<cluster::PodPtr>, api::GangReason> PodsToSeat(const cluster::World& world,
                                                                       const cluster::GangState& gang,
                                                                       const Group& group);

// What keeps a pod without a node from being bound or steered by us alone.
std::optional<api::GangReason> LooseEnd(const cluster::PodRecord& pod);

// How its waiting pods get to their nodes: steered where another scheduler is to bind one, else bound.
api::Way WayOfGroup(const cluster::GangState& gang);

// Of one gang's pods: the UID in its record that stands for where a job's would.
std::string UidOf(const cluster::GangState& gang, const cluster::PodRecord& pod);

}  // namespace lockstep::engine
