#include "apiserver/watch_hub.h"

#include <algorithm>

namespace lockstep::apiserver {

using kube::Resource;
using kube::WatchEventType;

namespace {

const std::string* NodeOf(const ObjectPtr& object) {
  static const auto names = FieldNames(kube::kPods);
  static const auto index =
      static_cast<size_t>(std::find(names.begin(), names.end(), "spec.nodeName") - names.begin());
  return object ? &object->fields[index] : nullptr;
}

}  // namespace

json::DocPtr WatchNotice::Tree() const {
  json::DocPtr tree = object->Tree();
  if (object->revision == revision) return tree;
  json::Doc copy = *tree;
  copy["metadata"]["resourceVersion"] = std::to_string(revision);
  return std::make_shared<const json::Doc>(std::move(copy));
}

std::optional<WatchNotice> Seen(const Change& change, const Selection& selection) {
  bool before = change.before && selection.Matches(*change.before);
  bool after = change.after && selection.Matches(*change.after);
  if (!before && !after) return std::nullopt;
  if (!after) return WatchNotice{WatchEventType::kDeleted, change.before, change.revision};
  return WatchNotice{before ? WatchEventType::kModified : WatchEventType::kAdded, change.after,
                     change.revision};
}

WatchId WatchHub::Add(const Resource& resource, Selection selection, WatchSink sink) {
  WatchId id = next_++;
  Place place{&resource, std::nullopt};
  if (&resource == &kube::kPods) {
    if (const std::string* node = selection.Fixed(resource, "spec.nodeName")) place.node = *node;
  }
  Kind& kind = kinds_[&resource];
  Watchers& watchers = place.node ? kind.by_node[*place.node] : kind.all;
  watchers.emplace(id, Watcher{std::move(selection), std::move(sink)});
  places_.emplace(id, std::move(place));
  return id;
}

void WatchHub::Remove(WatchId id) {
  auto found = places_.find(id);
  if (found == places_.end()) return;
  const Place& place = found->second;
  Kind& kind = kinds_[place.resource];
  if (place.node) {
    auto watchers = kind.by_node.find(*place.node);
    watchers->second.erase(id);
    if (watchers->second.empty()) kind.by_node.erase(watchers);
  } else {
    kind.all.erase(id);
  }
  places_.erase(found);
}

void WatchHub::Notify(const Watchers& watchers, const Change& change) {
  for (const auto& [id, watcher] : watchers) {
    if (std::optional<WatchNotice> notice = Seen(change, watcher.selection)) watcher.sink(*std::move(notice));
  }
}

void WatchHub::Publish(const Change& change) {
  auto found = kinds_.find(&change.resource());
  if (found == kinds_.end()) return;
  const Kind& kind = found->second;
  Notify(kind.all, change);
  if (kind.by_node.empty()) return;
  const std::string* before = NodeOf(change.before);
  const std::string* after = NodeOf(change.after);
  for (const std::string* node : {before, after}) {
    if (node == nullptr || (node == after && before != nullptr && *before == *after)) continue;
    auto watchers = kind.by_node.find(*node);
    if (watchers != kind.by_node.end()) Notify(watchers->second, change);
  }
}

}  // namespace lockstep::apiserver
