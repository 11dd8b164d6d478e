#include "cluster/load.h"

#include <algorithm>

namespace lockstep::cluster {

void ChangeLog::Note(NodeId node, size_t slots) {
  if (!nodes_.empty() && nodes_.back() == node && read_ < end()) return;
  if (nodes_.size() >= 2 * slots + 1024) {
    size_t half = nodes_.size() / 2;
    nodes_.erase(nodes_.begin(), nodes_.begin() + static_cast<ptrdiff_t>(half));
    first_ += half;
  }
  nodes_.push_back(node);
}

std::optional<std::span<const NodeId>> ChangeLog::Since(uint64_t seen) {
  read_ = end();
  if (seen < first_) return std::nullopt;
  return std::span(nodes_).subspan(seen - first_);
}

void Load::Drop(size_t index) {
  index_of[indexes[index].pod_class] = -1;
  if (index + 1 < indexes.size()) {
    indexes[index] = std::move(indexes.back());
    index_of[indexes[index].pod_class] = static_cast<int16_t>(index);
  }
  indexes.pop_back();
}

}  // namespace lockstep::cluster
