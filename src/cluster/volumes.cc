#include "cluster/volumes.h"

#include <algorithm>
#include <set>

#include "cluster/copy_on_write.h"

namespace lockstep::cluster {

namespace {

using Handles = std::set<std::pair<std::string_view, std::string_view>>;  // (driver, handle)

template <class Value>
const Value* Find(const std::unordered_map<std::string, Value>& map, const std::string& key) {
  auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

void AddHandle(const kube::Volume* volume, Handles& handles) {
  if (volume != nullptr && !volume->driver.empty()) handles.emplace(volume->driver, volume->handle);
}

}  // namespace

Volumes::Facts& Volumes::Own() {
  ++version_;
  return MakeOwn(facts_);
}

template <class Value>
bool Volumes::Set(std::unordered_map<std::string, Value> Facts::* map, const std::string& key,
                  std::optional<Value> value) {
  const Value* known = Find((*facts_).*map, key);
  if (value ? known != nullptr && *known == *value : known == nullptr) return false;
  auto& own = Own().*map;
  if (value) {
    own.insert_or_assign(key, *std::move(value));
  } else {
    own.erase(key);
  }
  return true;
}

bool Volumes::SetClaim(const std::string& key, std::optional<kube::VolumeClaim> claim) {
  return Set(&Facts::claims, key, std::move(claim));
}

bool Volumes::SetVolume(const std::string& name, std::optional<kube::Volume> volume) {
  return Set(&Facts::volumes, name, std::move(volume));
}

bool Volumes::SetStorageClass(const std::string& name, std::optional<kube::StorageClass> storage_class) {
  return Set(&Facts::classes, name, storage_class);
}

bool Volumes::SetLimits(const std::string& node, std::optional<kube::VolumeLimits> limits) {
  return Set(&Facts::limits, node, std::move(limits));
}

bool Volumes::SetAttachment(const std::string& name, std::optional<kube::VolumeAttachment> attachment) {
  const kube::VolumeAttachment* known = Find(facts_->attachments, name);
  std::string before = known == nullptr ? "" : known->node;
  std::string after = attachment ? attachment->node : "";
  if (!Set(&Facts::attachments, name, std::move(attachment))) return false;
  auto& attached = facts_->attached;
  if (auto list = attached.find(before); list != attached.end()) {
    std::erase(list->second, name);
    if (list->second.empty()) attached.erase(list);
  }
  if (!after.empty()) attached[after].push_back(name);
  return true;
}

const kube::VolumeClaim* Volumes::claim(const std::string& key) const { return Find(facts_->claims, key); }

const kube::Volume* Volumes::VolumeOf(const std::string& claim) const {
  const kube::VolumeClaim* known = Find(facts_->claims, claim);
  return known == nullptr || !known->bound() ? nullptr : Find(facts_->volumes, known->volume);
}

ClaimState Volumes::StateOf(const std::string& claim) const {
  const kube::VolumeClaim* known = Find(facts_->claims, claim);
  if (known == nullptr) return ClaimState::kMissing;
  if (known->deleting) return ClaimState::kDeleting;
  if (known->phase == "Lost") return ClaimState::kLost;
  if (known->bound()) return Find(facts_->volumes, known->volume) ? ClaimState::kUsable : ClaimState::kLost;
  const kube::StorageClass* storage_class = Find(facts_->classes, known->storage_class);
  bool waits = known->volume.empty() && storage_class != nullptr && storage_class->waits_for_consumer;
  return waits ? ClaimState::kWaitsForConsumer : ClaimState::kUnbound;
}

std::optional<size_t> Volumes::FirstOutOfReach(std::span<const std::string> claims,
                                               const NodeFacts& node) const {
  for (size_t i = 0; i < claims.size(); ++i) {
    if (StateOf(claims[i]) == ClaimState::kWaitsForConsumer) continue;  // its volume will follow the pod
    const kube::Volume* volume = VolumeOf(claims[i]);
    if (volume == nullptr || !volume->Reaches(node.name, node.labels)) return i;
  }
  return std::nullopt;
}

bool Volumes::WithinLimits(const std::string& node, std::span<const std::string> wanted,
                           std::span<const std::string* const> there, bool attached) const {
  const kube::VolumeLimits* limits = Find(facts_->limits, node);
  if (limits == nullptr || limits->empty()) return true;
  Handles used, more;
  for (const std::string* claim : there) AddHandle(VolumeOf(*claim), used);
  if (auto names = facts_->attached.find(node); attached && names != facts_->attached.end()) {
    for (const std::string& name : names->second)
      AddHandle(Find(facts_->volumes, facts_->attachments.at(name).volume), used);
  }
  for (const std::string& claim : wanted) AddHandle(VolumeOf(claim), more);
  for (const auto& [driver, limit] : *limits) {
    auto of_driver = [&, &name = driver](const auto& handle) { return handle.first == name; };
    auto fresh = std::ranges::count_if(
        more, [&](const auto& handle) { return of_driver(handle) && !used.contains(handle); });
    if (fresh > 0 && std::ranges::count_if(used, of_driver) + fresh > limit) return false;
  }
  return true;
}

}  // namespace lockstep::cluster
