#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "cluster/identity.h"
#include "cluster/load.h"
#include "cluster/shared_map.h"
#include "cluster/shared_vector.h"

namespace lockstep::cluster {

// Who is on the nodes, as far as rules between pods ask. A plain value, kept beside the amounts of `Nodes`.
//
// A query that is asked for gets a count per node (the kMaxCounts last asked), which catches up with the
// nodes that changed since. Identities are interned and forgotten with their last pod; their ids are reused,
// so no result may depend on them.
class Residents {
 public:
  using Id = uint32_t;
  static constexpr size_t kViews = 2;  // as View
  static constexpr size_t kMaxCounts = 64;

  // Pods that match all of `queries`. Spread constraints leave out pods that are being deleted, affinity
  // doesn't. Source: kube-scheduler countPodsMatchSelector, podMatchesAllAffinityTerms.
  struct Question {
    std::vector<kube::PodQuery> queries;
    bool without_leaving = false;

    friend bool operator==(const Question&, const Question&) = default;
  };

  // An anti-affinity term of pods that are there, and the nodes they are on.
  struct Keeper {
    const kube::PodTerm* term = nullptr;  // valid until the next change
    PodIdentityPtr who;
    std::vector<NodeId> nodes;
  };

  void Resize(size_t slots);
  // The equal identity that is here already, so that pods can share it; else the one given.
  PodIdentityPtr Shared(const PodIdentityPtr& who) const;
  void Add(size_t view, NodeId node, const PodIdentityPtr& who, bool leaving, int32_t pods);
  void Subtract(size_t view, NodeId node, const PodIdentityPtr& who, bool leaving, int32_t pods);
  void Clear(NodeId node);  // the node is gone, and who was on it

  // Whether some pod there has an anti-affinity term at all.
  bool any_keepers(size_t view) const { return keeper_pods_[view] > 0; }
  // The terms that may select `who`: it can't join those pods' domains. In the order of their names and
  // topology keys.
  std::vector<Keeper> KeepersOf(size_t view, const PodIdentity& who) const;
  bool IsKeptAway(size_t view, const PodIdentity& who) const;

  // By node slot: how many pods there match. Valid until the next call of a non-const member.
  std::span<const int32_t> Count(size_t view, const Question& question);

  // A pod's identity, of the smallest name, among those on `nodes` that match `query`: an example to tell.
  PodIdentityPtr Example(size_t view, std::span<const NodeId> nodes, const kube::PodQuery& query) const;

  size_t identity_count() const { return ids_.size(); }

 private:
  struct Entry {
    PodIdentityPtr who;
    int64_t pods = 0;                                       // in all views
    uint32_t stamp = 0;                                     // of this use of the id
    std::array<std::map<NodeId, int32_t>, kViews> where{};  // only of those that keep others away
  };
  struct Resident {
    Id who = 0;
    bool leaving = false;
    int32_t pods = 0;
  };
  struct Counted {
    Question question;
    size_t view = 0;
    uint64_t last_used = 0;
    uint64_t seen = 0;  // of the change log
    bool fresh = true;
    std::vector<int32_t> pods;                       // by slot
    std::vector<std::pair<uint32_t, bool>> matches;  // by Id: as of stamp, does it match
  };

  Id Find(const PodIdentity& who) const;
  Id Intern(const PodIdentityPtr& who);
  void Release(Id id);
  void Recount(Counted& counted, NodeId node);
  template <class Visit>
  void VisitKeepers(size_t view, const PodIdentity& who, const Visit& visit) const;

  std::array<SharedVector<std::vector<Resident>>, kViews> on_;  // by slot
  std::array<ChangeLog, kViews> logs_;
  std::array<int64_t, kViews> keeper_pods_{};
  SharedVector<Entry> entries_;
  std::vector<Id> free_;
  uint32_t stamp_ = 0;
  SharedSet<std::pair<uint64_t, Id>> ids_;  // by hash of the identity
  // Identities with anti-affinity terms, by a label that one of their terms asks for (see AnchorOf), so that
  // a pod is held against the terms that may select it and no others.
  SharedSet<std::pair<uint64_t, Id>> keepers_;
  std::vector<std::shared_ptr<Counted>> counts_;  // shared with copies until one of them changes it
  uint64_t clock_ = 0;
};

}  // namespace lockstep::cluster
