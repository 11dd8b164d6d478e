#pragma once

#include <compare>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "cluster/load.h"
#include "cluster/shared_map.h"

namespace lockstep::cluster {

// The order of the queue: who has waited beyond the age limit, by time alone; then by priority; equals first
// in first out.
struct QueueKey {
  bool young = true;
  int32_t priority = 0;  // as admission set it on the pods; the higher goes first, among the young
  WallTime queued_at;
  std::string gang;

  friend bool operator==(const QueueKey&, const QueueKey&) = default;
  friend std::strong_ordering operator<=>(const QueueKey& a, const QueueKey& b) {
    if (auto order = a.young <=> b.young; order != 0) return order;
    if (a.young && a.priority != b.priority) return b.priority <=> a.priority;
    if (auto order = a.queued_at <=> b.queued_at; order != 0) return order;
    return a.gang <=> b.gang;
  }
};

// The gangs that want seats, in order, and the same by what they need: where the first of a kind finds no
// seats none of its kind does, so that a step looks at kinds and not at ten thousand gangs.
class Waiting {
 public:
  struct Role {
    ClassId pod_class = 0;
    int32_t pods = 0;
    uint64_t identity = 0;  // PodIdentity::hash of a role with rules about other pods; else 0
    friend auto operator<=>(const Role&, const Role&) = default;
  };
  using Kind = std::vector<Role>;

  // Puts the gang in, or moves it.
  void Put(QueueKey key, Kind kind);
  void Remove(const std::string& gang);

  bool Contains(const std::string& gang) const { return places_.contains(gang); }
  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  const SharedSet<QueueKey>& all() const { return all_; }
  const SharedMap<Kind, SharedSet<QueueKey>>& by_kind() const { return by_kind_; }

 private:
  SharedSet<QueueKey> all_;
  SharedMap<Kind, SharedSet<QueueKey>> by_kind_;
  SharedMap<std::string, std::pair<QueueKey, Kind>> places_;  // by gang
};

}  // namespace lockstep::cluster
