#include "cluster/residents.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "base/hash.h"

namespace lockstep::cluster {
namespace {

constexpr Residents::Id kNone = UINT32_MAX;
constexpr uint64_t kNoAnchor = 0;

uint64_t HashLabel(const std::string& key, const std::string& value) {
  return StableHash(value, StableHash(key)) | 1;
}

// The labels one of which a pod has if the term selects it; kNoAnchor where no label must be there.
std::vector<uint64_t> AnchorsOf(const kube::PodTerm& term) {
  const kube::Requirement* best = nullptr;
  for (const kube::Requirement& requirement : term.pods.labels.requirements) {
    if (requirement.op != kube::SelectorOp::kIn || IsPerPodLabel(requirement.key)) continue;
    if (best == nullptr || requirement.values.size() < best->values.size()) best = &requirement;
  }
  if (best == nullptr) return {kNoAnchor};
  std::vector<uint64_t> anchors;
  anchors.reserve(best->values.size());
  for (const std::string& value : best->values) anchors.push_back(HashLabel(best->key, value));
  return anchors;
}

std::vector<uint64_t> AnchorsOf(const PodIdentity& who) {
  std::vector<uint64_t> all;
  for (const kube::PodTerm& term : who.rules.anti_affinity) {
    std::vector<uint64_t> anchors = AnchorsOf(term);
    all.insert(all.end(), anchors.begin(), anchors.end());
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

void Residents::Resize(size_t slots) {
  for (auto& on : on_) on.resize(slots);
}

Residents::Id Residents::Find(const PodIdentity& who) const {
  for (auto first = ids_.lower_bound({who.hash, 0}); first != ids_.end() && first->first == who.hash;
       ++first) {
    const PodIdentityPtr& known = entries_[first->second].who;
    if (known.get() == &who || *known == who) return first->second;
  }
  return kNone;
}

PodIdentityPtr Residents::Shared(const PodIdentityPtr& who) const {
  Id id = Find(*who);
  return id == kNone ? who : entries_[id].who;
}

Residents::Id Residents::Intern(const PodIdentityPtr& who) {
  Id id = Find(*who);
  if (id != kNone) return id;
  if (free_.empty()) {
    id = static_cast<Id>(entries_.size());
    entries_.resize(entries_.size() + 1);
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_.Edit(id);
  entry.who = who;
  entry.stamp = ++stamp_;
  ids_.insert({who->hash, id});
  for (uint64_t anchor : AnchorsOf(*who)) keepers_.insert({anchor, id});
  return id;
}

void Residents::Release(Id id) {
  Entry& entry = entries_.Edit(id);
  ids_.erase({entry.who->hash, id});
  for (uint64_t anchor : AnchorsOf(*entry.who)) keepers_.erase({anchor, id});
  entry = Entry{};
  free_.push_back(id);
}

void Residents::Add(size_t view, NodeId node, const PodIdentityPtr& who, bool leaving, int32_t pods) {
  Id id = Intern(who);
  Entry& entry = entries_.Edit(id);
  entry.pods += pods;
  std::vector<Resident>& on = on_[view].Edit(node);
  auto same =
      std::ranges::find_if(on, [&](const Resident& r) { return r.who == id && r.leaving == leaving; });
  if (same == on.end()) {
    on.push_back({id, leaving, pods});
  } else {
    same->pods += pods;
  }
  if (!who->rules.anti_affinity.empty()) {
    entry.where[view][node] += pods;
    keeper_pods_[view] += pods;
  }
  logs_[view].Note(node, on_[view].size());
}

void Residents::Subtract(size_t view, NodeId node, const PodIdentityPtr& who, bool leaving, int32_t pods) {
  Id id = Find(*who);
  CHECK(id != kNone) << "a pod leaves that was never there";
  std::vector<Resident>& on = on_[view].Edit(node);
  auto same =
      std::ranges::find_if(on, [&](const Resident& r) { return r.who == id && r.leaving == leaving; });
  CHECK(same != on.end() && same->pods >= pods) << "a pod leaves a node that it was not on";
  same->pods -= pods;
  if (same->pods == 0) {
    *same = on.back();
    on.pop_back();
  }
  Entry& entry = entries_.Edit(id);
  if (!entry.who->rules.anti_affinity.empty()) {
    auto where = entry.where[view].find(node);
    where->second -= pods;
    if (where->second == 0) entry.where[view].erase(where);
    keeper_pods_[view] -= pods;
  }
  logs_[view].Note(node, on_[view].size());
  entry.pods -= pods;
  if (entry.pods == 0) Release(id);
}

void Residents::Clear(NodeId node) {
  for (size_t view = 0; view < kViews; ++view) {
    std::vector<Resident> gone = on_[view][node];
    for (const Resident& resident : gone) {
      PodIdentityPtr who = entries_[resident.who].who;
      Subtract(view, node, who, resident.leaving, resident.pods);
    }
  }
}

template <class Visit>
void Residents::VisitKeepers(size_t view, const PodIdentity& who, const Visit& visit) const {
  if (!any_keepers(view)) return;
  std::vector<Id> seen;
  auto look = [&](uint64_t anchor) {
    for (auto first = keepers_.lower_bound({anchor, 0}); first != keepers_.end() && first->first == anchor;
         ++first) {
      const Entry& entry = entries_[first->second];
      if (entry.where[view].empty() || std::ranges::find(seen, first->second) != seen.end()) continue;
      seen.push_back(first->second);
      for (const kube::PodTerm& term : entry.who->rules.anti_affinity) {
        if (MayBeKeptAway(term, who) && !visit(entry, term)) return false;
      }
    }
    return true;
  };
  if (!look(kNoAnchor)) return;
  for (const auto& [key, value] : who.labels) {
    if (!look(HashLabel(key, value))) return;
  }
}

bool Residents::IsKeptAway(size_t view, const PodIdentity& who) const {
  bool kept = false;
  VisitKeepers(view, who, [&](const Entry&, const kube::PodTerm&) {
    kept = true;
    return false;
  });
  return kept;
}

std::vector<Residents::Keeper> Residents::KeepersOf(size_t view, const PodIdentity& who) const {
  std::vector<Keeper> keepers;
  VisitKeepers(view, who, [&](const Entry& entry, const kube::PodTerm& term) {
    Keeper keeper{&term, entry.who, {}};
    for (const auto& [node, pods] : entry.where[view]) keeper.nodes.push_back(node);
    keepers.push_back(std::move(keeper));
    return true;
  });
  std::ranges::sort(keepers, [](const Keeper& a, const Keeper& b) {
    return std::tie(a.who->name, a.term->topology_key) < std::tie(b.who->name, b.term->topology_key);
  });
  return keepers;
}

void Residents::Recount(Counted& counted, NodeId node) {
  int32_t sum = 0;
  for (const Resident& resident : on_[counted.view][node]) {
    if (counted.question.without_leaving && resident.leaving) continue;
    const Entry& entry = entries_[resident.who];
    auto& [stamp, match] = counted.matches[resident.who];
    if (stamp != entry.stamp) {
      stamp = entry.stamp;
      match = std::ranges::all_of(counted.question.queries,
                                  [&](const kube::PodQuery& query) { return Selects(query, *entry.who); });
    }
    if (match) sum += resident.pods;
  }
  counted.pods[node] = sum;
}

std::span<const int32_t> Residents::Count(size_t view, const Question& question) {
  auto found = std::ranges::find_if(counts_, [&](const std::shared_ptr<Counted>& counted) {
    return counted->view == view && counted->question == question;
  });
  if (found == counts_.end()) {
    if (counts_.size() == kMaxCounts) {
      counts_.erase(std::ranges::min_element(counts_, {}, [](const auto& c) { return c->last_used; }));
    }
    counts_.push_back(std::make_shared<Counted>());
    found = counts_.end() - 1;
    (*found)->question = question;
    (*found)->view = view;
  }
  Counted& counted = MakeOwn(*found);
  counted.last_used = ++clock_;
  size_t slots = on_[view].size();
  counted.pods.resize(slots);
  counted.matches.resize(entries_.size());
  std::optional<std::span<const NodeId>> changes = logs_[view].Since(counted.seen);
  if (!counted.fresh && changes && changes->size() < slots) {
    for (NodeId node : *changes) Recount(counted, node);
  } else {
    for (NodeId node = 0; node < slots; ++node) Recount(counted, node);
  }
  counted.fresh = false;
  counted.seen = logs_[view].end();
  return counted.pods;
}

PodIdentityPtr Residents::Example(size_t view, std::span<const NodeId> nodes,
                                  const kube::PodQuery& query) const {
  PodIdentityPtr example;
  for (NodeId node : nodes) {
    for (const Resident& resident : on_[view][node]) {
      const PodIdentityPtr& who = entries_[resident.who].who;
      if ((!example || who->name < example->name) && Selects(query, *who)) example = who;
    }
  }
  return example;
}

}  // namespace lockstep::cluster
