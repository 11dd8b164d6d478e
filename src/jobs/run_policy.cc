#include "jobs/run_policy.h"

#include "jobs/template_check.h"
#include "kube/model/quantity.h"
#include "kube/model/reader.h"

namespace lockstep::jobs {

namespace {

constexpr int64_t kInt32 = INT32_MAX;

void CheckSchedulingPolicy(const json::Doc* run_policy, FieldErrors& errors) {
  const std::string path = "spec.runPolicy.schedulingPolicy";
  const json::Doc* policy = errors.Object(run_policy, "spec.runPolicy", "schedulingPolicy");
  errors.Int(policy, path, "minAvailable", 0, kInt32);
  errors.Int(policy, path, "scheduleTimeoutSeconds", 0, kInt32);
  errors.Text(policy, path, "queue");
  errors.Text(policy, path, "priorityClass");
  const json::Doc* resources = errors.Object(policy, path, "minResources");
  if (resources == nullptr) return;
  for (const auto& [name, value] : resources->items()) {
    bool text = value.is_string() || value.is_number();
    Result<kube::Amount> amount = text ? kube::ParseQuantity(value) : Error{"not a quantity"};
    if (!amount.ok())
      errors.Add(kube::Join(kube::Join(path, "minResources"), name), "must be a quantity", value);
  }
}

std::string TypeList(std::span<const std::string_view> types) {
  std::string list;
  for (std::string_view type : types) list.append(list.empty() ? "" : " or ").append(type);
  return list;
}

std::optional<Role> ReadRole(const json::Doc& spec, const std::string& path, std::string_view type,
                             const Kind& kind, FieldErrors& errors) {
  if (!spec.is_object()) {
    errors.Add(path, "must be an object", spec);
    return std::nullopt;
  }
  Role role;
  role.type = type;
  const json::Doc* given = json::Key(&spec, "replicas");
  std::optional<int64_t> replicas = errors.Int(&spec, path, "replicas", kind.fewest_replicas, kInt32);
  role.replicas = static_cast<int32_t>(replicas.value_or(given == nullptr || given->is_null() ? 1 : 0));
  role.restart_policy =
      errors.Word(&spec, path, "restartPolicy", {"", "Always", "OnFailure", "Never", "ExitCode"})
          .value_or("");
  if (role.restart_policy.empty()) role.restart_policy = kind.restart_policy;
  const json::Doc* pod_template = errors.Object(&spec, path, "template");
  const json::Doc* written = json::Key(&spec, "template");
  if (pod_template != nullptr || written == nullptr || written->is_null()) {
    CheckTemplate(pod_template, kube::Join(path, "template"), kind.container, errors);
  }
  role.pod_template =
      std::make_shared<json::Doc>(pod_template != nullptr ? *pod_template : json::Doc::object());
  return role;
}

// The key of each type in the role specs, as the manifest spells it.
std::map<std::string_view, std::string> KeysByType(const json::Doc& specs, const std::string& path,
                                                   const Kind& kind, FieldErrors& errors) {
  std::map<std::string_view, std::string> keys;
  for (const auto& [key, value] : specs.items()) {
    std::string_view type = TypeOf(kind, key);
    if (type.empty()) {
      errors.Add(path, "replica type must be " + TypeList(kind.types), json::Doc(key));
    } else if (auto [known, fresh] = keys.try_emplace(type, key); !fresh) {
      errors.Add(kube::Join(path, key), "is the same replica type as " + known->second);
    }
  }
  return keys;
}

}  // namespace

RunPolicy ReadRunPolicy(const json::Doc& spec, FieldErrors& errors) {
  const std::string path = "spec.runPolicy";
  const json::Doc* policy = errors.Object(&spec, "spec", "runPolicy");
  RunPolicy read;
  std::string clean =
      errors.Word(policy, path, "cleanPodPolicy", {"", "None", "Running", "All"}).value_or("");
  if (clean == "Running") read.clean_pods = CleanPodPolicy::kRunning;
  if (clean == "All") read.clean_pods = CleanPodPolicy::kAll;
  if (auto limit = errors.Int(policy, path, "backoffLimit", 0, kInt32)) {
    read.backoff_limit = static_cast<int32_t>(*limit);
  }
  errors.Int(policy, path, "activeDeadlineSeconds", 1, INT64_MAX);
  errors.Int(policy, path, "ttlSecondsAfterFinished", 0, kInt32);
  read.suspend = errors.Bool(policy, path, "suspend").value_or(false);
  read.managed_by = errors.Text(policy, path, "managedBy").value_or("");
  CheckSchedulingPolicy(policy, errors);
  return read;
}

std::vector<Role> ReadRoles(const json::Doc& spec, const Kind& kind, FieldErrors& errors) {
  const std::string path = kube::Join("spec", kind.role_specs);
  std::vector<Role> roles;
  const json::Doc* specs = errors.Object(&spec, "spec", kind.role_specs);
  if (specs == nullptr || specs->empty()) {
    const json::Doc* written = json::Key(&spec, kind.role_specs);
    if (specs != nullptr || written == nullptr || written->is_null()) errors.Add(path, "must be set");
    return roles;
  }
  std::map<std::string_view, std::string> keys = KeysByType(*specs, path, kind, errors);
  int64_t pods = 0;
  size_t broken = errors.size();
  for (std::string_view type : kind.types) {
    auto key = keys.find(type);
    if (key == keys.end()) continue;
    std::optional<Role> role =
        ReadRole(specs->at(key->second), kube::Join(path, key->second), type, kind, errors);
    if (!role) continue;
    pods += role->replicas;
    if (role->replicas > 0) roles.push_back(*std::move(role));
  }
  if (pods == 0 && errors.size() == broken && !keys.empty())
    errors.Add(path, "must have at least one pod in all");
  if (pods > kMaxGangPods) {
    errors.Add(path, "must have at most " + std::to_string(kMaxGangPods) + " pods in all, has " +
                         std::to_string(pods));
  }
  return roles;
}

}  // namespace lockstep::jobs
