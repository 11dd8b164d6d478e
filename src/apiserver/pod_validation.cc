#include <algorithm>
#include <set>

#include "apiserver/names.h"
#include "apiserver/pod_rules.h"
#include "kube/model/pod.h"
#include "kube/model/quantity.h"

namespace lockstep::apiserver {

using json::Doc;

namespace {

constexpr std::string_view kQuantityRule =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr std::string_view kUpdateRule =
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

const Doc kNoList = Doc::array();

const Doc& List(const Doc& spec, const char* name) {
  const Doc* list = json::Key(&spec, name);
  return list != nullptr && list->is_array() ? *list : kNoList;
}

void AddFaults(const Faults& faults, const std::string& field, std::string_view value, Causes& causes) {
  for (const std::string& fault : faults) causes.push_back(InvalidValue(field, Quoted(value), fault));
}

// Vendor resources ("nvidia.com/gpu") are counted in whole pieces and can't be overcommitted.
bool IsExtended(const std::string& name) {
  return name.find('/') != std::string::npos && name.find("kubernetes.io/") == std::string::npos;
}

void CheckAmounts(const Doc& amounts, const std::string& field, Causes& causes) {
  for (const auto& [name, value] : amounts.items()) {
    std::string at = field + "[" + name + "]";
    std::string shown = value.is_string() ? Quoted(value.get<std::string>()) : Quoted(json::Dump(value));
    auto amount = kube::ParseQuantity(value);
    if (!amount.ok()) continue;  // refused as undecodable before
    if (*amount < 0) causes.push_back(InvalidValue(at, shown, "must be greater than or equal to 0"));
    if (IsExtended(name) && *amount % 1000 != 0)
      causes.push_back(InvalidValue(at, shown, "must be an integer"));
    if (name.find('/') == std::string::npos && name != "cpu" && name != "memory" &&
        name != "ephemeral-storage" && !name.starts_with("hugepages-")) {
      causes.push_back(InvalidValue(at, Quoted(name), "must be a standard resource type or fully qualified"));
    }
  }
}

void CheckResources(const Doc& container, const std::string& path, Causes& causes) {
  const Doc* limits = json::Find(container, "resources.limits");
  const Doc* requests = json::Find(container, "resources.requests");
  std::string base = path + ".resources";
  if (limits != nullptr) CheckAmounts(*limits, base + ".limits", causes);
  if (requests == nullptr) return;
  CheckAmounts(*requests, base + ".requests", causes);
  for (const auto& [name, value] : requests->items()) {
    auto asked = kube::ParseQuantity(value);
    const Doc* limit = json::Key(limits, name);
    if (limit == nullptr) {
      if (IsExtended(name)) {
        causes.push_back(Required(base + ".limits", "Limit must be set for non overcommitable resources"));
      }
      continue;
    }
    auto capped = kube::ParseQuantity(*limit);
    if (!asked.ok() || !capped.ok()) continue;
    std::string text = limit->is_string() ? limit->get<std::string>() : json::Dump(*limit);
    std::string shown = value.is_string() ? json::Dump(value) : Quoted(json::Dump(value));
    if (IsExtended(name) && *asked != *capped) {
      causes.push_back(
          InvalidValue(base + ".requests", shown, "must be equal to " + name + " limit of " + text));
    } else if (*asked > *capped) {
      causes.push_back(InvalidValue(base + ".requests", shown,
                                    "must be less than or equal to " + name + " limit of " + text));
    }
  }
}

void CheckContainers(const Doc& spec, const char* list, std::set<std::string>& names, Causes& causes) {
  const Doc& containers = List(spec, list);
  for (size_t i = 0; i < containers.size(); ++i) {
    const Doc& container = containers[i];
    std::string path = "spec." + std::string(list) + "[" + std::to_string(i) + "]";
    std::string name = json::GetString(container, "name");
    if (name.empty()) {
      causes.push_back(Required(path + ".name"));
    } else {
      AddFaults(CheckDns1123Label(name), path + ".name", name, causes);
      if (!names.insert(name).second) causes.push_back(Duplicate(path + ".name", Quoted(name)));
    }
    if (json::GetString(container, "image").empty()) causes.push_back(Required(path + ".image"));
    CheckResources(container, path, causes);
    const Doc& env = List(container, "env");
    for (size_t k = 0; k < env.size(); ++k) {
      if (json::GetString(env[k], "name").empty()) {
        causes.push_back(Required(path + ".env[" + std::to_string(k) + "].name"));
      }
    }
    const Doc& ports = List(container, "ports");
    for (size_t k = 0; k < ports.size(); ++k) {
      int64_t port = json::GetInt(ports[k], "containerPort");
      if (port >= 1 && port <= 65535) continue;
      causes.push_back(InvalidValue(path + ".ports[" + std::to_string(k) + "].containerPort",
                                    std::to_string(port), "must be between 1 and 65535, inclusive"));
    }
  }
}

void CheckTolerations(const Doc& spec, Causes& causes) {
  const Doc& tolerations = List(spec, "tolerations");
  for (size_t i = 0; i < tolerations.size(); ++i) {
    std::string path = "spec.tolerations[" + std::to_string(i) + "]";
    std::string op = json::GetString(tolerations[i], "operator");
    std::string value = json::GetString(tolerations[i], "value");
    if (op == "Exists" && !value.empty()) {
      causes.push_back(
          InvalidValue(path + ".operator", Quoted(value), "value must be empty when `operator` is 'Exists'"));
    } else if (!op.empty() && op != "Equal" && op != "Exists") {
      causes.push_back(Unsupported(path + ".operator", Quoted(op), R"("Equal", "Exists")"));
    }
  }
}

std::optional<std::string> CheckAmountShapes(const Doc& container) {
  for (const char* kind : {"resources.requests", "resources.limits"}) {
    const Doc* amounts = json::Find(container, kind);
    if (amounts == nullptr) continue;
    if (!amounts->is_object()) return std::string(kind) + " must be an object";
    for (const auto& [name, value] : amounts->items()) {
      if (!kube::ParseQuantity(value).ok()) return std::string(kQuantityRule);
    }
  }
  return std::nullopt;
}

// Every entry of `before` is there still.
bool OnlyAdds(const Doc& before, const Doc& after) {
  return std::ranges::all_of(
      before, [&](const Doc& entry) { return std::ranges::find(after, entry) != after.end(); });
}

// While a pod is gated its required node affinity may be narrowed: a first one may come, terms may get more
// requirements. Source: validateNodeAffinityMutation.
bool NarrowsNodes(const Doc& before, const Doc& after) {
  constexpr std::string_view kTerms =
      "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  const Doc* old_terms = json::Find(before, kTerms);
  const Doc* terms = json::Find(after, kTerms);
  if (old_terms == nullptr || old_terms->empty()) return true;
  if (terms == nullptr || terms->size() != old_terms->size()) return false;
  for (size_t i = 0; i < terms->size(); ++i) {
    for (const char* list : {"matchExpressions", "matchFields"}) {
      if (!OnlyAdds(List((*old_terms)[i], list), List((*terms)[i], list))) return false;
    }
  }
  return true;
}

// Gates can only be taken off; and while there was one, the pod's nodes may be narrowed.
void CheckGates(const Doc& before, const Doc& spec, Causes& causes) {
  const Doc& gates = List(spec, "schedulingGates");
  for (size_t i = 0; i < gates.size(); ++i) {
    if (OnlyAdds(Doc::array({gates[i]}), List(before, "schedulingGates"))) continue;
    causes.push_back(NotAllowed("spec.schedulingGates[" + std::to_string(i) + "].name",
                                "only deletion is allowed, but found new scheduling gate '" +
                                    json::GetString(gates[i], "name") + "'"));
  }
  if (!List(before, "schedulingGates").empty() && !NarrowsNodes(before, spec))
    causes.push_back(
        NotAllowed("spec.affinity.nodeAffinity", "only additions are allowed (no mutations or deletions)"));
}

// What of a pod may change, taken out of it, so that the rest can be compared.
Doc Fixed(const Doc& pod, bool gated) {
  Doc spec = pod.at("spec");
  spec.erase("schedulingGates");
  if (auto affinity = spec.find("affinity"); gated && affinity != spec.end() && affinity->is_object()) {
    affinity->erase("nodeAffinity");
    if (affinity->empty()) spec.erase("affinity");
  }
  spec.erase("activeDeadlineSeconds");
  spec.erase("tolerations");
  for (const char* list : {"initContainers", "containers"}) {
    auto containers = spec.find(list);
    if (containers == spec.end() || !containers->is_array()) continue;
    for (Doc& container : *containers) container.erase("image");
  }
  return spec;
}

}  // namespace

std::optional<std::string> CheckPodShape(const Doc& pod) {
  const Doc* spec = json::Key(&pod, "spec");
  if (spec == nullptr) return std::nullopt;
  if (!spec->is_object()) return "spec must be an object";
  for (const char* list : {"initContainers", "containers", "tolerations", "volumes"}) {
    const Doc* items = json::Key(spec, list);
    if (items == nullptr) continue;
    if (!items->is_array()) return "spec." + std::string(list) + " must be a list";
    for (const Doc& item : *items) {
      if (!item.is_object()) return "spec." + std::string(list) + " must be a list of objects";
      if (auto fault = CheckAmountShapes(item)) return fault;
    }
  }
  return std::nullopt;
}

Causes CheckPod(const Doc& pod) {
  Causes causes;
  const Doc& spec = pod.at("spec");
  std::set<std::string> names;
  if (List(spec, "containers").empty()) causes.push_back(Required("spec.containers"));
  CheckContainers(spec, "containers", names, causes);
  CheckContainers(spec, "initContainers", names, causes);
  std::string policy = json::GetString(spec, "restartPolicy");
  if (policy != "Always" && policy != "OnFailure" && policy != "Never") {
    causes.push_back(Unsupported("spec.restartPolicy", Quoted(policy), R"("Always", "OnFailure", "Never")"));
  }
  for (const char* field : {"hostname", "subdomain"}) {
    std::string name = json::GetString(spec, field);
    if (!name.empty()) AddFaults(CheckDns1123Label(name), std::string("spec.") + field, name, causes);
  }
  std::string node = json::GetString(spec, "nodeName");
  if (!node.empty()) AddFaults(CheckDns1123Subdomain(node), "spec.nodeName", node, causes);
  if (!node.empty() && !List(spec, "schedulingGates").empty())
    causes.push_back(
        NotAllowed("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
  if (const Doc* deadline = json::Key(&spec, "activeDeadlineSeconds")) {
    if (!deadline->is_number_integer() || deadline->get<int64_t>() < 1) {
      causes.push_back(InvalidValue("spec.activeDeadlineSeconds", json::Dump(*deadline),
                                    "must be between 1 and 2147483647, inclusive"));
    }
  }
  CheckTolerations(spec, causes);
  return causes;
}

Causes CheckPodUpdate(const Doc& pod, const Doc& old) {
  Causes causes;
  const Doc& spec = pod.at("spec");
  const Doc& before = old.at("spec");
  for (const char* list : {"containers", "initContainers"}) {
    if (List(spec, list).size() != List(before, list).size()) {
      return {NotAllowed("spec." + std::string(list), "pod updates may not add or remove containers")};
    }
  }
  const Doc& tolerations = List(spec, "tolerations");
  for (const Doc& toleration : List(before, "tolerations")) {
    if (std::find(tolerations.begin(), tolerations.end(), toleration) == tolerations.end()) {
      causes.push_back(NotAllowed("spec.tolerations",
                                  "existing toleration can not be modified except its tolerationSeconds"));
      break;
    }
  }
  CheckGates(before, spec, causes);
  bool gated = !List(before, "schedulingGates").empty();
  if (Fixed(pod, gated) != Fixed(old, gated)) causes.push_back(NotAllowed("spec", kUpdateRule));
  return causes;
}

}  // namespace lockstep::apiserver
