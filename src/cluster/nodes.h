#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/domains.h"
#include "cluster/load.h"
#include "cluster/node_facts.h"
#include "cluster/pod_class.h"
#include "cluster/requests.h"
#include "cluster/residents.h"
#include "cluster/seat_index.h"
#include "cluster/volumes.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"

namespace lockstep::cluster {

// kNow counts every pod. kEmpty counts only pods that stay whatever happens (daemons, static pods): what does
// not fit there can never run on this cluster.
enum class View : uint8_t { kNow, kEmpty };

enum class Tenure : uint8_t { kPod, kDaemon };

// The nodes of the cluster and what is left on them. A plain value: flat arrays, interned classes; copies
// share what does not change.
//
// A class that is asked for gets an index of its seats (the 128 last asked, or as many as 64 MiB hold), which
// catches up with the nodes that changed since; so "does a gang of alike pods fit" costs no scan. Ids depend
// on the order of arrival; results never do: ties are broken by node name.
class Nodes {
 public:
  // A new or changed node. Pods on it stay counted. An equal node changes nothing.
  NodeId Upsert(const kube::Node& node);
  // Forgets the node and whatever occupied it: its pods must not be released afterwards, and are to be
  // occupied again should the node come back.
  void Remove(std::string_view name);
  std::optional<NodeId> Find(std::string_view name) const;
  bool Has(NodeId node) const { return node < slots_.size() && slots_[node].facts != nullptr; }
  const NodeFacts& facts(NodeId node) const { return *slots_[node].facts; }
  const std::string& name(NodeId node) const { return slots_[node].facts->name; }
  size_t size() const { return by_name_.size(); }
  // Every node, in order of name.
  const std::vector<NodeId>& ByName() const { return by_name_; }

  // Its rules about other pods are left out; see PodIdentity.
  ClassId Class(const kube::PodNeed& need);
  // The class for a pod that has its node already: only what it holds matters, so that the pods of a
  // DaemonSet are alike.
  ClassId HeldClass(const kube::PodNeed& need) { return Class(Held(need)); }
  const PodClass& pod_class(ClassId pod_class) const { return *classes_[pod_class]; }
  size_t class_count() const { return classes_.size() - free_classes_.size(); }
  // Frees all classes but those in `keep` and those that occupy a node. Freed ids are reused.
  void SweepClasses(std::span<const ClassId> keep);

  // A counted pod, whoever owns it. It may exceed what the node has (a race elsewhere). What is released must
  // be what occupied. `who`, if known: rules between pods see it; `leaving`: it is being deleted.
  void Occupy(NodeId node, ClassId pod_class, int32_t pods = 1, Tenure tenure = Tenure::kPod,
              const PodIdentityPtr& who = nullptr, bool leaving = false);
  void Release(NodeId node, ClassId pod_class, int32_t pods = 1, Tenure tenure = Tenure::kPod,
               const PodIdentityPtr& who = nullptr, bool leaving = false);

  // In thousandths; 0 where the node does not list the resource. Used may exceed allocatable.
  kube::Amount Allocatable(NodeId node, std::string_view resource) const;
  kube::Amount Used(NodeId node, std::string_view resource, View view = View::kNow) const;
  // By column of Request; may be negative.
  kube::Amount Free(NodeId node, int32_t column, View view = View::kNow) const {
    if (column == kNoColumn) return 0;
    return allocatable_row(node)[column] -
           load(view).used[node * columns_.size() + static_cast<size_t>(column)];
  }
  const std::vector<Occupant>& occupants(NodeId node, View view = View::kNow) const {
    return load(view).occupants[node];
  }

  // Grow whenever seats may have changed: by pods or nodes (kNow), by daemons or nodes (kEmpty).
  uint64_t generation(View view = View::kNow) const { return load(view).generation; }

  // Where pods of the class fit. Valid until the next call of a non-const member.
  const SeatIndex& Seats(ClassId pod_class, View view = View::kNow);
  // The same for one node, from scratch: what the index must agree with. `row` keeps what is still true of
  // it.
  SeatIndex::Row Judge(NodeId node, ClassId pod_class, View view, SeatIndex::Row row = {}) const;
  // Per request of the class, what is free on the nodes it may use at all; over-committed nodes count as
  // full.
  std::vector<kube::Amount> FreeFor(ClassId pod_class, View view = View::kNow);
  const kube::Taint& taint(uint16_t id) const { return taints_[id]; }

  // Claims and their volumes; what they change is noted by NoteVolumes.
  const Volumes& volumes() const { return volumes_; }
  Volumes& volumes() { return volumes_; }
  void NoteVolumes();
  // Whether pods of all these classes can be on the node together, as far as the limits of its volumes go.
  bool TakesVolumes(NodeId node, std::span<const ClassId> classes, View view = View::kNow) const;

  // Who is on the nodes; counted by Occupy and Release.
  Residents& residents() { return residents_; }
  const Residents& residents() const { return residents_; }
  // The nodes by the value of a label.
  std::shared_ptr<const Domains> DomainsOf(std::string_view label);

  // Answers about whole gangs, forgotten when the view's generation grows.
  std::optional<int> Recall(View view, const std::vector<uint64_t>& question) const;
  void Remember(View view, std::vector<uint64_t> question, int answer);

 private:
  friend class Trial;
  static constexpr size_t kMaxTaints = 4096;

  struct Slot {
    std::shared_ptr<const NodeFacts> facts;  // null: free
    uint32_t facts_version = 0;
    uint32_t rank = 0;  // position in by_name_, as of ranked_version_
  };

  Load& load(View view) { return loads_[static_cast<size_t>(view)]; }
  const Load& load(View view) const { return loads_[static_cast<size_t>(view)]; }
  kube::Amount* allocatable_row(NodeId node) { return allocatable_.data() + node * columns_.size(); }
  const kube::Amount* allocatable_row(NodeId node) const {
    return allocatable_.data() + node * columns_.size();
  }

  NodeId NewSlot(const std::string& name);
  void AddColumns(const kube::Resources& resources);
  void Recount(View view, NodeId node);
  uint16_t TaintId(const kube::Taint& taint);
  void Changed(NodeId node);
  void Add(View view, NodeId node, ClassId pod_class, int32_t pods);
  void Subtract(View view, NodeId node, ClassId pod_class, int32_t pods);
  Load::Indexed& IndexFor(ClassId pod_class, View view);
  void CatchUp(Load::Indexed& indexed, View view);
  Refusal JudgeFacts(const NodeFacts& facts, const kube::PodNeed& need) const;
  uint8_t TierOf(const NodeFacts& facts, const PodClass& pod_class) const;
  bool TakesVolumes(NodeId node, std::span<const std::string> claims, View view) const;

  std::vector<Slot> slots_;
  std::vector<NodeId> free_slots_;
  std::unordered_map<std::string_view, NodeId> ids_;  // keys live in the facts
  std::vector<NodeId> by_name_;
  uint64_t order_version_ = 1;
  uint64_t ranked_version_ = 0;
  uint32_t facts_version_ = 0;

  Columns columns_;
  std::vector<kube::Amount> allocatable_;  // slot × column
  std::array<Load, 2> loads_;
  Residents residents_;
  Volumes volumes_;
  DomainCache domains_;

  std::vector<std::shared_ptr<const PodClass>> classes_;  // null: free
  std::vector<ClassId> free_classes_;
  std::unordered_multimap<uint64_t, ClassId> classes_by_hash_;
  std::vector<kube::Taint> taints_;
};

// Pods that are on nodes only while it lives: the search tries, and leaves the nodes as they were.
class Trial {
 public:
  Trial(Nodes& nodes, View view) : nodes_(nodes), view_(view) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() { Undo(); }

  void Occupy(NodeId node, ClassId pod_class, int32_t pods);
  void Undo();

 private:
  struct Entry {
    NodeId node;
    ClassId pod_class;
    int32_t pods;
  };

  Nodes& nodes_;
  View view_;
  std::vector<Entry> entries_;
};

}  // namespace lockstep::cluster
