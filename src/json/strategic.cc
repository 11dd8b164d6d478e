// Strategic merge patch, see patch.h.
// Source: k8s.io/apimachinery/pkg/util/strategicpatch and the patch tags of k8s.io/api/core/v1.
#include <algorithm>

#include "json/patch.h"

namespace lockstep::json {
namespace {

// How a list of `parent`'s field `list` merges. Every list that is not here is replaced whole.
struct ListRule {
  std::string_view parent;  // the field that holds the list's object; "" is the root
  std::string_view list;
  std::string_view key;  // merge key of the elements; "" for lists of plain values, which are united
};

constexpr ListRule kRules[] = {
    {"metadata", "finalizers", ""},
    {"metadata", "ownerReferences", "uid"},
    {"", "secrets", "name"},
    {"", "imagePullSecrets", "name"},
    {"", "webhooks", "name"},
    {"spec", "containers", "name"},
    {"spec", "initContainers", "name"},
    {"spec", "ephemeralContainers", "name"},
    {"spec", "imagePullSecrets", "name"},
    {"spec", "hostAliases", "ip"},
    {"spec", "volumes", "name"},
    {"spec", "topologySpreadConstraints", "topologyKey"},
    {"spec", "schedulingGates", "name"},
    {"spec", "resourceClaims", "name"},
    {"spec", "ports", "port"},
    {"spec", "podCIDRs", ""},
    {"status", "conditions", "type"},
    {"status", "addresses", "type"},
    {"status", "podIPs", "ip"},
    {"status", "hostIPs", "ip"},
    {"status", "resourceClaimStatuses", "name"},
};
constexpr ListRule kContainerRules[] = {
    {"", "env", "name"},
    {"", "ports", "containerPort"},
    {"", "volumeMounts", "mountPath"},
    {"", "volumeDevices", "devicePath"},
};

const ListRule* FindRule(std::string_view parent, std::string_view list) {
  if (parent == "containers" || parent == "initContainers" || parent == "ephemeralContainers") {
    auto rule = std::ranges::find(kContainerRules, list, &ListRule::list);
    return rule == std::end(kContainerRules) ? nullptr : &*rule;
  }
  auto rule =
      std::ranges::find_if(kRules, [&](const ListRule& r) { return r.parent == parent && r.list == list; });
  return rule == std::end(kRules) ? nullptr : &*rule;
}

constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrder = "$setElementOrder/";

std::string Child(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

// Merges one patch; the first error is kept and ends the work.
class Merger {
 public:
  const Outcome& error() const { return error_; }

  // `parent` is the name of the field that holds `target`.
  void MergeObject(Doc& target, const Doc& patch, std::string_view parent, const std::string& path) {
    if (!target.is_object()) target = Doc::object();
    if (const Doc* directive = Key(&patch, "$patch")) {
      if (*directive == "delete") return void(target = Doc::object());
      if (*directive == "replace") {
        target = patch;
        target.erase("$patch");
        return;
      }
      if (*directive != "merge") return Fail(path, "$patch: must be merge, replace or delete");
    }
    Doc before = Doc::object();  // the lists to be ordered, as they were
    for (const auto& [key, value] : patch.items()) {
      if (!key.starts_with(kOrder)) continue;
      std::string list = key.substr(kOrder.size());
      if (const Doc* found = Key(&target, list)) before[list] = *found;
    }
    for (const auto& [key, value] : patch.items()) {
      if (error_) return;
      if (!key.starts_with("$")) MergeField(target, key, value, parent, path);
    }
    for (const auto& [key, value] : patch.items()) {
      if (error_) return;
      if (key.starts_with("$")) ApplyDirective(target, before, key, value, parent, path);
    }
  }

 private:
  void Fail(const std::string& path, const std::string& what) {
    if (!error_) error_ = Error{(path.empty() ? "" : path + ": ") + what};
  }

  void MergeField(Doc& target, const std::string& key, const Doc& value, std::string_view parent,
                  const std::string& path) {
    if (value.is_null()) {
      target.erase(key);
    } else if (value.is_object()) {
      MergeObject(target[key], value, key, Child(path, key));
    } else if (const ListRule* rule = value.is_array() ? FindRule(parent, key) : nullptr) {
      MergeList(target[key], value, *rule, Child(path, key));
    } else {
      target[key] = value;
    }
  }

  void MergeList(Doc& target, const Doc& patch, const ListRule& rule, const std::string& path) {
    if (!target.is_array()) target = Doc::array();
    if (rule.key.empty()) {
      for (const Doc& value : patch) {
        if (std::ranges::find(target, value) == target.end()) target.push_back(value);
      }
      return;
    }
    bool replace =
        std::ranges::any_of(patch, [](const Doc& e) { return GetString(e, "$patch") == "replace"; });
    if (replace) target = Doc::array();
    for (const Doc& element : patch) {
      if (error_) return;
      std::string directive = GetString(element, "$patch");
      if (directive == "replace") continue;
      const Doc* key = element.is_object() ? Key(&element, rule.key) : nullptr;
      if (key == nullptr) return Fail(path, "every element must have its merge key " + std::string(rule.key));
      auto same = [&](const Doc& other) {
        const Doc* found = other.is_object() ? Key(&other, rule.key) : nullptr;
        return found != nullptr && *found == *key;
      };
      if (directive == "delete") {
        target.erase(std::remove_if(target.begin(), target.end(), same), target.end());
        continue;
      }
      auto found = std::find_if(target.begin(), target.end(), same);
      Doc& into = found != target.end() ? *found : target.emplace_back(Doc::object());
      MergeObject(into, element, rule.list, path);
    }
  }

  void ApplyDirective(Doc& target, const Doc& before, const std::string& key, const Doc& value,
                      std::string_view parent, const std::string& path) {
    if (key == "$patch") return;
    if (!value.is_array()) return Fail(path, key + ": must be an array");
    if (key == "$retainKeys") {
      for (auto field = target.begin(); field != target.end();) {
        bool keep = std::ranges::find(value, Doc(field.key())) != value.end();
        field = keep ? std::next(field) : target.erase(field);
      }
    } else if (key.starts_with(kDelete)) {
      auto list = target.find(key.substr(kDelete.size()));
      if (list == target.end() || !list->is_array()) return;
      auto listed = [&](const Doc& e) { return std::ranges::find(value, e) != value.end(); };
      list->erase(std::remove_if(list->begin(), list->end(), listed), list->end());
    } else if (key.starts_with(kOrder)) {
      std::string name = key.substr(kOrder.size());
      const ListRule* rule = FindRule(parent, name);
      auto list = target.find(name);
      if (rule == nullptr) return Fail(path, key + ": the list has no merge key");
      if (list == target.end() || !list->is_array()) return;
      const Doc* old = Key(&before, name);
      Order(*list, value, old == nullptr ? Doc() : *old, rule->key);
    } else {
      Fail(path, key + ": not a directive");
    }
  }

  // The place of `element` in `list`, by merge key or as a plain value; the list's size if it is not there.
  static size_t IndexIn(const Doc& list, const Doc& element, std::string_view key) {
    auto same = [&](const Doc& entry) {
      if (key.empty()) return entry == element;
      const Doc* mine = element.is_object() ? Key(&element, key) : nullptr;
      const Doc* theirs = entry.is_object() ? Key(&entry, key) : nullptr;
      return mine != nullptr && theirs != nullptr && *mine == *theirs;
    };
    return static_cast<size_t>(std::find_if(list.begin(), list.end(), same) - list.begin());
  }

  // The elements that `order` names get its order; each of the others stays in front of the first named one
  // that it was in front of `before`.
  static void Order(Doc& list, const Doc& order, const Doc& before, std::string_view key) {
    struct Item {
      size_t was, rank;
      Doc doc;
    };
    std::vector<Item> named, others;
    for (Doc& element : list) {
      size_t rank = IndexIn(order, element, key), was = IndexIn(before, element, key);
      bool is_named = rank < order.size();
      if (is_named && was == before.size()) was = 0;  // new elements come as early as the order allows
      (is_named ? named : others).push_back({was, rank, std::move(element)});
    }
    std::ranges::stable_sort(named, {}, &Item::rank);
    Doc ordered = Doc::array();
    size_t next = 0;
    for (Item& item : named) {
      while (next < others.size() && others[next].was < item.was)
        ordered.push_back(std::move(others[next++].doc));
      ordered.push_back(std::move(item.doc));
    }
    while (next < others.size()) ordered.push_back(std::move(others[next++].doc));
    list = std::move(ordered);
  }

  Outcome error_;
};

}  // namespace

Outcome StrategicMergePatch(Doc& target, const Doc& patch) {
  if (!patch.is_object()) return Error{std::string("must be an object, is ") + patch.type_name()};
  Doc merged = target;
  Merger merger;
  merger.MergeObject(merged, patch, "", "");
  if (merger.error()) return merger.error();
  target = std::move(merged);
  return std::nullopt;
}

}  // namespace lockstep::json
