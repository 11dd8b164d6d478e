#include "cluster/waiting.h"

namespace lockstep::cluster {

void Waiting::Put(QueueKey key, Kind kind) {
  auto place = places_.find(key.gang);
  if (place != places_.end()) {
    if (place->second.first == key && place->second.second == kind) return;
    Remove(std::string(key.gang));
  }
  all_.insert(key);
  by_kind_[kind].insert(key);
  std::string gang = key.gang;
  places_.emplace(std::move(gang), std::pair(std::move(key), std::move(kind)));
}

void Waiting::Remove(const std::string& gang) {
  auto place = places_.find(gang);
  if (place == places_.end()) return;
  const auto& [key, kind] = place->second;
  all_.erase(key);
  auto alike = by_kind_.find(kind);
  alike->second.erase(key);
  if (alike->second.empty()) by_kind_.erase(alike);
  places_.erase(place);
}

}  // namespace lockstep::cluster
