#include "apiserver/priority.h"

#include "apiserver/errors.h"

namespace lockstep::apiserver {

using json::Doc;

namespace {

struct PriorityClass {
  std::string name;
  int64_t value = 0;
  std::string preemption = "PreemptLowerPriority";
};

PriorityClass Read(const Object& object) {
  Doc doc = *object.Tree();
  return {object.name, json::GetInt(doc, "value"),
          json::GetString(doc, "preemptionPolicy", "PreemptLowerPriority")};
}

std::optional<PriorityClass> Find(const Store& store, const std::string& name) {
  if (name == "system-cluster-critical") return PriorityClass{name, 2000000000};
  if (name == "system-node-critical") return PriorityClass{name, 2000001000};
  ObjectPtr object = store.Find(kube::kPriorityClasses, name);
  return object ? std::optional(Read(*object)) : std::nullopt;
}

PriorityClass Default(const Store& store) {
  PriorityClass best;
  bool found = false;
  for (const auto& [name, object] : store.All(kube::kPriorityClasses)) {
    Doc doc = *object->Tree();
    if (!json::GetBool(doc, "globalDefault")) continue;
    // Where there are several, the lowest counts.
    if (!found || json::GetInt(doc, "value") < best.value) best = Read(*object);
    found = true;
  }
  return best;
}

}  // namespace

std::optional<kube::Status> AdmitPriority(const Store& store, Doc& pod) {
  Doc& spec = pod["spec"];
  std::string pod_name = json::GetString(pod, "metadata.name");
  std::string name = json::GetString(spec, "priorityClassName");
  std::optional<PriorityClass> found = name.empty() ? Default(store) : Find(store, name);
  if (!found) return Forbidden(kube::kPods, pod_name, "no PriorityClass with name " + name + " was found");
  if (const Doc* own = json::Key(&spec, "priority");
      own != nullptr && json::GetInt(spec, "priority") != found->value) {
    return Forbidden(kube::kPods, pod_name,
                     "the integer value of priority (" + json::Dump(*own) +
                         ") must not be provided in pod spec; priority admission controller computed " +
                         std::to_string(found->value) + " from the given PriorityClass name");
  }
  spec["priority"] = found->value;
  if (!found->name.empty()) spec["priorityClassName"] = found->name;
  if (!spec.contains("preemptionPolicy")) spec["preemptionPolicy"] = found->preemption;
  return std::nullopt;
}

}  // namespace lockstep::apiserver
