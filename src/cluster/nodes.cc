#include "cluster/nodes.h"

#include <algorithm>

#include "base/check.h"

namespace lockstep::cluster {
namespace {

using kube::Amount;

// Inline twins of kube::AddAmounts and MultiplyAmount: this is the engine's innermost loop.
Amount SaturatingAdd(Amount a, Amount b) {
  Amount sum;
  return __builtin_add_overflow(a, b, &sum) ? kube::kMaxAmount : sum;
}

Amount SaturatingMultiply(Amount amount, int32_t times) {
  Amount product;
  return __builtin_mul_overflow(amount, Amount{times}, &product) ? kube::kMaxAmount : product;
}

bool NotReady(const kube::Node& node) {
  return std::ranges::any_of(node.conditions, [](const kube::NodeCondition& condition) {
    return condition.type == "Ready" && condition.status != "True";
  });
}

bool SameFacts(const NodeFacts& facts, const kube::Node& node) {
  return facts.unschedulable == node.unschedulable && facts.not_ready == NotReady(node) &&
         facts.taints == node.taints && facts.allocatable == node.allocatable &&
         facts.labels == node.meta.labels;
}

}  // namespace

NodeId Nodes::Upsert(const kube::Node& node) {
  std::optional<NodeId> known = Find(node.meta.name);
  if (known && SameFacts(*slots_[*known].facts, node)) return *known;

  AddColumns(node.allocatable);
  auto facts = std::make_shared<NodeFacts>();
  facts->name = node.meta.name;
  facts->labels = node.meta.labels;
  facts->taints = node.taints;
  for (const kube::Taint& taint : node.taints) facts->taint_ids.push_back(TaintId(taint));
  facts->unschedulable = node.unschedulable;
  facts->not_ready = NotReady(node);
  facts->allocatable = node.allocatable;
  for (const auto& [name, amount] : node.allocatable) {
    int32_t column = columns_.Find(name);
    if (amount > 0 && IsExtended(name) && column != kNoColumn) facts->devices.push_back(column);
  }

  NodeId id = known ? *known : NewSlot(node.meta.name);
  if (known) ids_.erase(node.meta.name);  // the key's text goes with the old facts
  slots_[id].facts = std::move(facts);
  slots_[id].facts_version = ++facts_version_;
  ids_.emplace(slots_[id].facts->name, id);
  Amount* row = allocatable_row(id);
  std::fill_n(row, columns_.size(), 0);
  for (const auto& [name, amount] : node.allocatable) {
    if (int32_t column = columns_.Find(name); column != kNoColumn) row[column] = std::max(amount, Amount{0});
  }
  Changed(id);
  return id;
}

void Nodes::Remove(std::string_view name) {
  std::optional<NodeId> id = Find(name);
  if (!id) return;
  auto place = std::ranges::lower_bound(
      by_name_, name, {}, [&](NodeId other) -> std::string_view { return slots_[other].facts->name; });
  by_name_.erase(place);
  ++order_version_;
  ids_.erase(slots_[*id].facts->name);
  for (Load& load : loads_) {
    load.occupants.Edit(*id).clear();
    std::fill_n(load.used.begin() + static_cast<ptrdiff_t>(*id * columns_.size()), columns_.size(), 0);
  }
  residents_.Clear(*id);
  slots_[*id].facts = nullptr;
  free_slots_.push_back(*id);
  Changed(*id);
}

std::optional<NodeId> Nodes::Find(std::string_view name) const {
  auto found = ids_.find(name);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

NodeId Nodes::NewSlot(const std::string& name) {
  NodeId id;
  if (!free_slots_.empty()) {
    id = free_slots_.back();
    free_slots_.pop_back();
  } else {
    id = static_cast<NodeId>(slots_.size());
    slots_.emplace_back();
    allocatable_.resize(slots_.size() * columns_.size());
    for (Load& load : loads_) {
      load.used.resize(slots_.size() * columns_.size());
      load.occupants.resize(slots_.size());
    }
    residents_.Resize(slots_.size());
  }
  auto place = std::ranges::lower_bound(
      by_name_, name, {}, [&](NodeId other) -> const std::string& { return slots_[other].facts->name; });
  by_name_.insert(place, id);
  ++order_version_;
  return id;
}

// A resource that some node lists for the first time: rare, so everything is laid out anew and the indexes
// go.
void Nodes::AddColumns(const kube::Resources& resources) {
  size_t before = columns_.size();
  std::vector<std::string_view> added;
  for (const auto& [name, amount] : resources) {
    if (columns_.Add(name)) added.push_back(name);
  }
  if (added.empty()) return;
  std::vector<Amount> wider(slots_.size() * columns_.size());
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    std::copy_n(allocatable_.data() + slot * before, before, wider.data() + slot * columns_.size());
  }
  allocatable_ = std::move(wider);
  for (std::shared_ptr<const PodClass>& pod_class : classes_) {
    if (!pod_class) continue;
    if (std::ranges::none_of(pod_class->requests, [](const Request& r) { return r.column == kNoColumn; }))
      continue;
    auto changed = std::make_shared<PodClass>(*pod_class);
    changed->requests = RequestsOf(changed->need.requests, columns_);
    pod_class = std::move(changed);
  }
  for (View view : {View::kNow, View::kEmpty}) {
    load(view).used.assign(slots_.size() * columns_.size(), 0);
    for (NodeId node = 0; node < slots_.size(); ++node) Recount(view, node);
    while (!load(view).indexes.empty()) load(view).Drop(load(view).indexes.size() - 1);
    ++load(view).generation;
  }
}

// Sums up what a node's pods hold, from the pods.
void Nodes::Recount(View view, NodeId node) {
  Load& at = load(view);
  Amount* used = at.used.data() + node * columns_.size();
  std::fill_n(used, columns_.size(), 0);
  for (const Occupant& occupant : at.occupants[node]) {
    for (const Request& request : classes_[occupant.pod_class]->requests) {
      if (request.column == kNoColumn) continue;
      Amount& sum = used[request.column];
      sum = SaturatingAdd(sum, SaturatingMultiply(request.amount, occupant.pods));
    }
  }
}

uint16_t Nodes::TaintId(const kube::Taint& taint) {
  auto found = std::ranges::find(taints_, taint);
  if (found != taints_.end()) return static_cast<uint16_t>(found - taints_.begin());
  // Taints whose value is a time (an autoscaler's) would fill the table; later ones share the last entry.
  if (taints_.size() == kMaxTaints) taints_.push_back({"(another)", "", taint.effect});
  if (taints_.size() > kMaxTaints) return kMaxTaints;
  taints_.push_back(taint);
  return static_cast<uint16_t>(taints_.size() - 1);
}

void Nodes::Changed(NodeId node) {
  for (Load& load : loads_) {
    load.log.Note(node, slots_.size());
    ++load.generation;
  }
}

void Nodes::NoteVolumes() {
  for (Load& load : loads_) ++load.generation;
}

ClassId Nodes::Class(const kube::PodNeed& need) {
  if (!need.rules.empty()) {
    kube::PodNeed plain = need;
    plain.rules = {};
    return Class(plain);
  }
  uint64_t hash = HashOf(need);
  auto [first, last] = classes_by_hash_.equal_range(hash);
  for (; first != last; ++first) {
    if (classes_[first->second]->need == need) return first->second;
  }
  auto added = std::make_shared<PodClass>(
      PodClass{need, RequestsOf(need.requests, columns_), WishesOf(need.preferred)});
  ClassId id;
  if (!free_classes_.empty()) {
    id = free_classes_.back();
    free_classes_.pop_back();
    classes_[id] = std::move(added);
  } else {
    id = static_cast<ClassId>(classes_.size());
    classes_.push_back(std::move(added));
    for (Load& load : loads_) load.index_of.push_back(-1);
  }
  classes_by_hash_.emplace(hash, id);
  return id;
}

void Nodes::SweepClasses(std::span<const ClassId> keep) {
  std::vector<bool> kept(classes_.size());
  for (ClassId id : keep) kept[id] = true;
  for (const Load& load : loads_) {
    for (NodeId node = 0; node < load.occupants.size(); ++node) {
      for (const Occupant& occupant : load.occupants[node]) kept[occupant.pod_class] = true;
    }
  }
  std::erase_if(classes_by_hash_, [&](const auto& entry) { return !kept[entry.second]; });
  for (ClassId id = 0; id < classes_.size(); ++id) {
    if (kept[id] || !classes_[id]) continue;
    for (Load& load : loads_) {
      if (load.index_of[id] >= 0) load.Drop(static_cast<size_t>(load.index_of[id]));
    }
    classes_[id] = nullptr;
    free_classes_.push_back(id);
  }
  for (Load& load : loads_) load.answers.clear();  // they name classes
}

void Nodes::Add(View view, NodeId node, ClassId pod_class, int32_t pods) {
  CHECK(Has(node)) << "pod on a node that does not exist: slot " << node;
  CHECK(pods > 0) << "a number of pods must be positive, is " << pods;
  Load& at = load(view);
  Amount* used = at.used.data() + node * columns_.size();
  for (const Request& request : classes_[pod_class]->requests) {
    if (request.column == kNoColumn) continue;
    Amount& sum = used[request.column];
    sum = SaturatingAdd(sum, SaturatingMultiply(request.amount, pods));
  }
  std::vector<Occupant>& occupants = at.occupants.Edit(node);
  auto found = std::ranges::find(occupants, pod_class, &Occupant::pod_class);
  if (found == occupants.end()) {
    occupants.push_back({pod_class, pods});
  } else {
    found->pods += pods;
  }
  at.log.Note(node, slots_.size());
}

void Nodes::Subtract(View view, NodeId node, ClassId pod_class, int32_t pods) {
  CHECK(Has(node)) << "pod on a node that does not exist: slot " << node;
  Load& at = load(view);
  std::vector<Occupant>& occupants = at.occupants.Edit(node);
  auto found = std::ranges::find(occupants, pod_class, &Occupant::pod_class);
  CHECK(found != occupants.end() && pods > 0 && found->pods >= pods)
      << "node " << name(node) << " does not hold " << pods << " pods of class " << pod_class;
  found->pods -= pods;
  if (found->pods == 0) {
    *found = occupants.back();
    occupants.pop_back();
  }
  Amount* used = at.used.data() + node * columns_.size();
  for (const Request& request : classes_[pod_class]->requests) {
    if (request.column == kNoColumn) continue;
    if (used[request.column] == kube::kMaxAmount) {  // a saturated sum has forgotten what it was made of
      Recount(view, node);
      break;
    }
    used[request.column] -= request.amount * pods;
  }
  at.log.Note(node, slots_.size());
}

void Nodes::Occupy(NodeId node, ClassId pod_class, int32_t pods, Tenure tenure, const PodIdentityPtr& who,
                   bool leaving) {
  Add(View::kNow, node, pod_class, pods);
  if (who) residents_.Add(static_cast<size_t>(View::kNow), node, who, leaving, pods);
  ++load(View::kNow).generation;
  if (tenure != Tenure::kDaemon) return;
  Add(View::kEmpty, node, pod_class, pods);
  if (who) residents_.Add(static_cast<size_t>(View::kEmpty), node, who, leaving, pods);
  ++load(View::kEmpty).generation;
}

void Nodes::Release(NodeId node, ClassId pod_class, int32_t pods, Tenure tenure, const PodIdentityPtr& who,
                    bool leaving) {
  Subtract(View::kNow, node, pod_class, pods);
  if (who) residents_.Subtract(static_cast<size_t>(View::kNow), node, who, leaving, pods);
  ++load(View::kNow).generation;
  if (tenure != Tenure::kDaemon) return;
  Subtract(View::kEmpty, node, pod_class, pods);
  if (who) residents_.Subtract(static_cast<size_t>(View::kEmpty), node, who, leaving, pods);
  ++load(View::kEmpty).generation;
}

Amount Nodes::Allocatable(NodeId node, std::string_view resource) const {
  int32_t column = columns_.Find(resource);
  return column == kNoColumn ? 0 : allocatable_row(node)[column];
}

Amount Nodes::Used(NodeId node, std::string_view resource, View view) const {
  int32_t column = columns_.Find(resource);
  return column == kNoColumn ? 0 : load(view).used[node * columns_.size() + static_cast<size_t>(column)];
}

std::optional<int> Nodes::Recall(View view, const std::vector<uint64_t>& question) const {
  const Load& at = load(view);
  if (at.answers_generation != at.generation) return std::nullopt;
  auto found = at.answers.find(question);
  if (found == at.answers.end()) return std::nullopt;
  return found->second;
}

void Nodes::Remember(View view, std::vector<uint64_t> question, int answer) {
  Load& at = load(view);
  if (at.answers_generation != at.generation || at.answers.size() >= Load::kMaxAnswers) at.answers.clear();
  at.answers_generation = at.generation;
  at.answers.insert_or_assign(std::move(question), answer);
}

void Trial::Occupy(NodeId node, ClassId pod_class, int32_t pods) {
  nodes_.Add(view_, node, pod_class, pods);
  entries_.push_back({node, pod_class, pods});
}

void Trial::Undo() {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    nodes_.Subtract(view_, entry->node, entry->pod_class, entry->pods);
  }
  entries_.clear();
}

}  // namespace lockstep::cluster
