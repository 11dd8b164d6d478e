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
                             std::string_view container, std::string_view restart_default,
                             FieldErrors& errors) {
  if (!spec.is_object()) {
    errors.Add(path, "must be an object", spec);
    return std::nullopt;
  }
  Role role;
  role.type = type;
  const json::Doc* given = json::Key(&spec, "replicas");
  std::optional<int64_t> replicas = errors.Int(&spec, path, "replicas", 1, kInt32);
  role.replicas = static_cast<int32_t>(replicas.value_or(given == nullptr || given->is_null() ? 1 : 0));
  role.restart_policy =
      errors.Word(&spec, path, "restartPolicy", {"", "Always", "OnFailure", "Never", "ExitCode"})
          .value_or("");
  if (role.restart_policy.empty()) role.restart_policy = restart_default;
  const json::Doc* pod_template = errors.Object(&spec, path, "template");
  const json::Doc* written = json::Key(&spec, "template");
  if (pod_template != nullptr || written == nullptr || written->is_null()) {
    CheckTemplate(pod_template, kube::Join(path, "template"), container, errors);
  }
  role.pod_template =
      std::make_shared<json::Doc>(pod_template != nullptr ? *pod_template : json::Doc::object());
  return role;
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

std::vector<Role> ReadRoles(const json::Doc& spec, std::string_view key,
                            std::span<const std::string_view> types, std::string_view container,
                            std::string_view restart_default, FieldErrors& errors) {
  const std::string path = kube::Join("spec", key);
  std::vector<Role> roles;
  const json::Doc* specs = errors.Object(&spec, "spec", key);
  if (specs == nullptr || specs->empty()) {
    if (specs != nullptr || json::Key(&spec, key) == nullptr || json::Key(&spec, key)->is_null()) {
      errors.Add(path, "must be set");
    }
    return roles;
  }
  for (const auto& [type, value] : specs->items()) {
    if (std::ranges::find(types, type) == types.end()) {
      errors.Add(path, "replica type must be " + TypeList(types), json::Doc(type));
    }
  }
  int64_t pods = 0;
  for (std::string_view type : types) {
    const json::Doc* value = json::Key(specs, type);
    if (value == nullptr) continue;
    std::optional<Role> role =
        ReadRole(*value, kube::Join(path, type), type, container, restart_default, errors);
    if (!role) continue;
    pods += role->replicas;
    roles.push_back(*std::move(role));
  }
  if (pods > kMaxGangPods) {
    errors.Add(path, "must have at most " + std::to_string(kMaxGangPods) + " pods in all, has " +
                         std::to_string(pods));
  }
  return roles;
}

}  // namespace lockstep::jobs
