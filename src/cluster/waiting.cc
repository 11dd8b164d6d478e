#include "cluster/waiting.h"

namespace lockstep::cluster {

void Waiting::Put(QueueKey key, Kind kind) {
  if (const std::pair<QueueKey, Kind>* place = places_.Get(key.gang)) {
    if (place->first == key && place->second == kind) return;
    Remove(std::string(key.gang));
  }
  all_.insert(key);
  by_kind_.At(kind).first.insert(key);
  std::string gang = key.gang;
  places_.Put(gang, std::pair(std::move(key), std::move(kind)));
}

void Waiting::Remove(const std::string& gang) {
  const std::pair<QueueKey, Kind>* place = places_.Get(gang);
  if (place == nullptr) return;
  const auto& [key, kind] = *place;
  all_.erase(key);
  SharedSet<QueueKey>& alike = *by_kind_.Edit(kind);
  alike.erase(key);
  if (alike.empty()) by_kind_.erase(kind);
  places_.erase(gang);
}

}  // namespace lockstep::cluster
