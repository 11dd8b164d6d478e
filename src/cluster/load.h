#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cluster/pod_class.h"
#include "cluster/seat_index.h"
#include "cluster/shared_vector.h"

namespace lockstep::cluster {

using ClassId = uint32_t;

struct Occupant {
  ClassId pod_class = 0;
  int32_t pods = 0;
};

// Which nodes changed, so that an index that was last used a while ago catches up with the changes alone.
class ChangeLog {
 public:
  void Note(NodeId node, size_t slots);
  uint64_t end() const { return first_ + nodes_.size(); }
  // The changes since `seen`; nothing if that was too long ago. What is returned counts as read.
  std::optional<std::span<const NodeId>> Since(uint64_t seen);

 private:
  std::vector<NodeId> nodes_;
  uint64_t first_ = 0;  // sequence number of nodes_[0]
  uint64_t read_ = 0;   // somebody has seen all before this
};

// What one view of the cluster holds: the pods on its nodes and the indexes over what is left.
struct Load {
  // As many always; more where the cluster is small. The least recently used goes first.
  static constexpr size_t kMaxIndexes = 128;
  static constexpr size_t kMaxAnswers = 4096;

  struct Indexed {
    ClassId pod_class = 0;
    uint64_t last_used = 0;
    uint64_t seen = 0;                 // of the change log
    uint64_t order_version = 0;        // of Nodes::ByName
    uint64_t volumes_version = 0;      // of Nodes::volumes, if its pods have claims
    std::shared_ptr<SeatIndex> index;  // shared with copies of the world until one of them changes it
  };

  std::vector<kube::Amount> used;                 // slot × column
  SharedVector<std::vector<Occupant>> occupants;  // by slot
  uint64_t generation = 1;                        // grows when seats may have changed
  ChangeLog log;
  std::vector<Indexed> indexes;
  std::vector<int16_t> index_of;  // by ClassId, -1: none
  uint64_t clock = 0;             // of last_used
  uint64_t answers_generation = 0;
  std::map<std::vector<uint64_t>, int> answers;

  void Drop(size_t index);
};

}  // namespace lockstep::cluster
