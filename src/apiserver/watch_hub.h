#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "apiserver/selection.h"
#include "apiserver/store.h"
#include "kube/api/api.h"

namespace lockstep::apiserver {

// One event for one watcher. It shares the object's text, so a notice that waits costs no copy.
struct WatchNotice {
  kube::WatchEventType type = kube::WatchEventType::kAdded;
  ObjectPtr object;       // null for a bookmark
  uint64_t revision = 0;  // of the change; differs from the object's own for a removal

  json::DocPtr Tree() const;
};

// Called from inside the write that makes the change, so it must only take note.
using WatchSink = std::function<void(WatchNotice)>;
using WatchId = uint64_t;

// What a change looks like to someone who sees only what `selection` selects: an object that starts to match
// is ADDED, one that stops is DELETED and shown as it was. Source: cacher's convertToWatchEvent.
std::optional<WatchNotice> Seen(const Change& change, const Selection& selection);

// The running watches of a server. Watchers of one node's pods are found by the node's name: thousands of
// kubelets watch, and each write concerns one of them.
class WatchHub {
 public:
  WatchId Add(const kube::Resource& resource, Selection selection, WatchSink sink);
  void Remove(WatchId id);
  void Publish(const Change& change);
  size_t size() const { return places_.size(); }

 private:
  struct Watcher {
    Selection selection;
    WatchSink sink;
  };
  using Watchers = std::map<WatchId, Watcher>;  // in the order of their start
  struct Place {
    const kube::Resource* resource = nullptr;
    std::optional<std::string> node;
  };
  struct Kind {
    Watchers all;
    std::unordered_map<std::string, Watchers> by_node;
  };

  static void Notify(const Watchers& watchers, const Change& change);

  WatchId next_ = 1;
  std::unordered_map<const kube::Resource*, Kind> kinds_;
  std::unordered_map<WatchId, Place> places_;
};

}  // namespace lockstep::apiserver
