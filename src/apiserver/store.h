#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apiserver/object.h"

namespace lockstep::apiserver {

// One write. Creation: no `before`; removal: no `after`.
struct Change {
  uint64_t revision = 0;
  ObjectPtr before, after;

  const kube::Resource& resource() const { return *(after ? after : before)->resource; }
};

// What etcd is to a kube-apiserver: every object by kind and key, one revision counter for all writes, and
// the recent changes of each kind. It knows no rules; those are in server.h.
class Store {
 public:
  using Collection = std::map<std::string, ObjectPtr, std::less<>>;

  // Keeps the last `history_limit` changes of each kind.
  explicit Store(size_t history_limit) : history_limit_(history_limit) {}

  uint64_t revision() const { return revision_; }

  ObjectPtr Find(const kube::Resource& resource, std::string_view key) const;
  ObjectPtr FindByUid(std::string_view uid) const;
  const Collection& All(const kube::Resource& resource) const;
  // The objects whose ownerReferences name this uid.
  std::vector<ObjectPtr> Dependents(const std::string& owner_uid) const;

  // Creates or replaces the object that `doc` describes, at the next revision.
  // With `spec_from`, its spec is taken over unread (object.h).
  const Change& Put(const kube::Resource& resource, json::Doc doc, const Object* spec_from = nullptr);
  // The object must exist.
  const Change& Remove(const kube::Resource& resource, std::string_view key);

  // Changes after this revision are all remembered; older ones may not be.
  uint64_t oldest(const kube::Resource& resource) const;
  // The changes of `resource` after `revision`, which must be at least oldest(resource).
  std::vector<Change> Since(const kube::Resource& resource, uint64_t revision) const;
  // The collection as it was at `revision`, which must be at least oldest(resource).
  Collection At(const kube::Resource& resource, uint64_t revision) const;
  // Forgets the whole history, as a compaction of etcd does.
  void Compact();

 private:
  struct Kind {
    Collection objects;
    std::deque<Change> history;
    uint64_t oldest = 0;
  };

  const Change& Record(Kind& kind, Change change);
  void KeepTree(const ObjectPtr& object);
  void Index(const ObjectPtr& object);
  void Unindex(const ObjectPtr& object);

  const size_t history_limit_;
  uint64_t revision_ = 1;
  std::unordered_map<const kube::Resource*, Kind> kinds_;
  std::deque<ObjectPtr> with_tree_;  // the latest writes: they are read again soon, by watchers and patches
  std::unordered_map<std::string, ObjectPtr> by_uid_;
  // Ordered, so that garbage collection works in the same order in every run.
  std::unordered_map<std::string, std::set<std::string>> dependents_;  // owner uid to uids
};

}  // namespace lockstep::apiserver
