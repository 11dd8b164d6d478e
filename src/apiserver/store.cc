#include "apiserver/store.h"

#include <algorithm>

#include "base/check.h"

namespace lockstep::apiserver {

using kube::Resource;

ObjectPtr Store::Find(const Resource& resource, std::string_view key) const {
  const Collection& all = All(resource);
  auto found = all.find(key);
  return found == all.end() ? nullptr : found->second;
}

ObjectPtr Store::FindByUid(std::string_view uid) const {
  auto found = by_uid_.find(std::string(uid));
  return found == by_uid_.end() ? nullptr : found->second;
}

const Store::Collection& Store::All(const Resource& resource) const {
  static const Collection kNone;
  auto found = kinds_.find(&resource);
  return found == kinds_.end() ? kNone : found->second.objects;
}

std::vector<ObjectPtr> Store::Dependents(const std::string& owner_uid) const {
  std::vector<ObjectPtr> objects;
  auto found = dependents_.find(owner_uid);
  if (found == dependents_.end()) return objects;
  for (const std::string& uid : found->second) objects.push_back(FindByUid(uid));
  return objects;
}

const Change& Store::Put(const Resource& resource, json::Doc doc, const Object* spec_from) {
  Kind& kind = kinds_[&resource];
  ObjectPtr after = MakeObject(resource, std::move(doc), ++revision_, spec_from);
  ObjectPtr& slot = kind.objects[after->key];
  ObjectPtr before = std::exchange(slot, after);
  if (before) Unindex(before);
  Index(after);
  KeepTree(after);
  return Record(kind, {revision_, std::move(before), std::move(after)});
}

const Change& Store::Remove(const Resource& resource, std::string_view key) {
  Kind& kind = kinds_[&resource];
  auto found = kind.objects.find(key);
  CHECK(found != kind.objects.end()) << "removing " << resource.plural << " " << key << ", which isn't there";
  ObjectPtr before = std::move(found->second);
  kind.objects.erase(found);
  Unindex(before);
  return Record(kind, {++revision_, std::move(before), nullptr});
}

void Store::KeepTree(const ObjectPtr& object) {
  static constexpr size_t kTrees = 1000;
  with_tree_.push_back(object);
  if (with_tree_.size() <= kTrees) return;
  with_tree_.front()->tree.reset();
  with_tree_.pop_front();
}

const Change& Store::Record(Kind& kind, Change change) {
  kind.history.push_back(std::move(change));
  while (kind.history.size() > std::max<size_t>(history_limit_, 1)) {
    kind.oldest = kind.history.front().revision;
    kind.history.pop_front();
  }
  return kind.history.back();
}

uint64_t Store::oldest(const Resource& resource) const {
  auto found = kinds_.find(&resource);
  return found == kinds_.end() ? 0 : found->second.oldest;
}

std::vector<Change> Store::Since(const Resource& resource, uint64_t revision) const {
  auto found = kinds_.find(&resource);
  if (found == kinds_.end()) return {};
  const std::deque<Change>& history = found->second.history;
  auto first = std::upper_bound(history.begin(), history.end(), revision,
                                [](uint64_t r, const Change& change) { return r < change.revision; });
  return {first, history.end()};
}

Store::Collection Store::At(const Resource& resource, uint64_t revision) const {
  Collection objects = All(resource);
  std::vector<Change> later = Since(resource, revision);
  for (auto change = later.rbegin(); change != later.rend(); ++change) {
    if (change->before) {
      objects[change->before->key] = change->before;
    } else {
      objects.erase(change->after->key);
    }
  }
  return objects;
}

void Store::Compact() {
  for (auto& [resource, kind] : kinds_) {
    kind.history.clear();
    kind.oldest = revision_;
  }
}

void Store::Index(const ObjectPtr& object) {
  by_uid_[object->uid] = object;
  for (const kube::OwnerRef& owner : object->owners) dependents_[owner.uid].insert(object->uid);
}

void Store::Unindex(const ObjectPtr& object) {
  by_uid_.erase(object->uid);
  for (const kube::OwnerRef& owner : object->owners) {
    auto found = dependents_.find(owner.uid);
    if (found == dependents_.end()) continue;
    found->second.erase(object->uid);
    if (found->second.empty()) dependents_.erase(found);
  }
}

}  // namespace lockstep::apiserver
