#include "jobs/template_check.h"

#include "kube/model/pod.h"
#include "kube/model/quantity.h"
#include "kube/model/reader.h"

namespace lockstep::jobs {

namespace {

void CheckPorts(const json::Doc& container, const std::string& path, FieldErrors& errors) {
  const json::Doc* ports = errors.Array(&container, path, "ports");
  if (ports == nullptr) return;
  std::set<std::string> names;
  for (size_t i = 0; i < ports->size(); ++i) {
    const json::Doc& port = (*ports)[i];
    std::string at = kube::Join(kube::Join(path, "ports"), i);
    if (!port.is_object()) {
      errors.Add(at, "must be an object", port);
      continue;
    }
    if (json::Key(&port, "containerPort") == nullptr) {
      errors.Add(kube::Join(at, "containerPort"), "must be set");
    } else {
      errors.Int(&port, at, "containerPort", 1, 65535);
    }
    std::optional<std::string> name = errors.Text(&port, at, "name");
    if (!name || name->empty()) continue;
    if (!names.insert(*name).second)
      errors.Add(kube::Join(at, "name"), "must be unique in the container", port["name"]);
    if (!IsDns1123Label(*name) || name->size() > 15) {
      errors.Add(kube::Join(at, "name"), "must be at most 15 lower-case letters, digits or '-'",
                 port["name"]);
    }
  }
}

void CheckEnv(const json::Doc& container, const std::string& path, FieldErrors& errors) {
  const json::Doc* env = errors.Array(&container, path, "env");
  if (env == nullptr) return;
  for (size_t i = 0; i < env->size(); ++i) {
    const json::Doc& variable = (*env)[i];
    std::string at = kube::Join(kube::Join(path, "env"), i);
    if (!variable.is_object()) {
      errors.Add(at, "must be an object", variable);
    } else {
      errors.RequiredText(&variable, at, "name");
    }
  }
}

// Requests over limits and fractions of extended resources are refused by the API server for every pod; said
// here, the user sees the manifest's own path.
void CheckAmount(const json::Doc& container, const std::string& path, const std::string& resource,
                 kube::Amount request, FieldErrors& errors) {
  const json::Doc* limit_text = json::Key(json::Find(container, "resources.limits"), resource);
  if (limit_text == nullptr) return;
  Result<kube::Amount> limit = kube::ParseQuantity(*limit_text);
  if (limit.ok() && request > *limit) {
    errors.Add(path, "must be at most the limit " + kube::FormatQuantity(*limit) + ", is " +
                         kube::FormatQuantity(request));
  }
}

void CheckResources(const json::Doc& container, const std::string& path, FieldErrors& errors) {
  const json::Doc* resources = errors.Object(&container, path, "resources");
  for (const char* kind : {"limits", "requests"}) {
    const json::Doc* amounts = errors.Object(resources, kube::Join(path, "resources"), kind);
    if (amounts == nullptr) continue;
    for (const auto& [resource, value] : amounts->items()) {
      std::string at = kube::Join(kube::Join(kube::Join(path, "resources"), kind), resource);
      bool text = value.is_string() || value.is_number();
      Result<kube::Amount> amount = text ? kube::ParseQuantity(value) : Error{"not a quantity"};
      if (!amount.ok()) {
        errors.Add(at, "must be a quantity like 2, 500m or 8Gi", value);
      } else if (*amount < 0) {
        errors.Add(at, "must not be negative", value);
      } else if (resource.find('/') != std::string::npos && *amount % 1000 != 0 &&
                 *amount != kube::kMaxAmount) {
        errors.Add(at, "must be a whole number", value);
      } else if (std::string_view(kind) == "requests") {
        CheckAmount(container, at, resource, *amount, errors);
      }
    }
  }
}

void CheckContainers(const json::Doc* spec, const std::string& path, const char* key,
                     std::set<std::string>& names, FieldErrors& errors) {
  const json::Doc* list = errors.Array(spec, path, key);
  if (list == nullptr) return;
  for (size_t i = 0; i < list->size(); ++i) {
    const json::Doc& container = (*list)[i];
    std::string at = kube::Join(kube::Join(path, key), i);
    if (!container.is_object()) {
      errors.Add(at, "must be an object", container);
      continue;
    }
    std::string name = errors.RequiredText(&container, at, "name");
    if (!name.empty() && !IsDns1123Label(name)) {
      errors.Add(kube::Join(at, "name"), "must be a DNS label of at most 63 characters", container["name"]);
    } else if (!name.empty() && !names.insert(name).second) {
      errors.Add(kube::Join(at, "name"), "must be unique in the pod", container["name"]);
    }
    errors.RequiredText(&container, at, "image");
    CheckPorts(container, at, errors);
    CheckEnv(container, at, errors);
    CheckResources(container, at, errors);
  }
}

// Every quantity of the template, also where only the API server reads it: emptyDir sizes, divisors, claims.
void CheckExponents(const json::Doc& doc, const std::string& path, FieldErrors& errors) {
  static const std::set<std::string, std::less<>> kQuantities = {"sizeLimit", "divisor"};
  static const std::set<std::string, std::less<>> kQuantityMaps = {"limits", "requests", "overhead"};
  auto check = [&](const json::Doc& value, const std::string& at) {
    if (kube::HasHugeExponent(value)) errors.Add(at, "must have an exponent between -999 and 999", value);
  };
  if (doc.is_array()) {
    for (size_t i = 0; i < doc.size(); ++i) CheckExponents(doc[i], kube::Join(path, i), errors);
  }
  if (!doc.is_object()) return;
  for (const auto& [key, value] : doc.items()) {
    std::string at = kube::Join(path, key);
    if (kQuantities.contains(key)) check(value, at);
    if (kQuantityMaps.contains(key) && value.is_object()) {
      for (const auto& [name, amount] : value.items()) check(amount, kube::Join(at, name));
    } else if (value.is_structured()) {
      CheckExponents(value, at, errors);
    }
  }
}

bool HasContainer(const json::Doc* containers, std::string_view name) {
  if (containers == nullptr || !containers->is_array()) return false;
  return std::ranges::any_of(*containers,
                             [&](const json::Doc& one) { return json::GetString(one, "name") == name; });
}

}  // namespace

void CheckTemplate(const json::Doc* pod_template, const std::string& path, std::string_view container,
                   FieldErrors& errors) {
  const json::Doc* metadata = errors.Object(pod_template, path, "metadata");
  errors.TextMap(metadata, kube::Join(path, "metadata"), "labels");
  errors.TextMap(metadata, kube::Join(path, "metadata"), "annotations");
  const json::Doc* spec = errors.Object(pod_template, path, "spec");
  std::string spec_path = kube::Join(path, "spec");
  const json::Doc* containers = spec == nullptr ? nullptr : json::Key(spec, "containers");
  if (containers == nullptr || containers->is_null() || (containers->is_array() && containers->empty())) {
    errors.Add(kube::Join(spec_path, "containers"), "must have at least one container");
    return;
  }
  size_t before = errors.size();
  std::set<std::string> names;
  CheckContainers(spec, spec_path, "containers", names, errors);
  CheckContainers(spec, spec_path, "initContainers", names, errors);
  if (spec != nullptr) CheckExponents(*spec, spec_path, errors);
  if (errors.size() == before && !HasContainer(containers, container)) {
    errors.Add(kube::Join(spec_path, "containers"), "must have a container named " + std::string(container));
  }
  if (errors.size() > before) return;
  // The rest that scheduling reads: affinity, tolerations, selectors, overhead, pod-level resources.
  Result<kube::PodNeed> need = kube::ParsePodNeed(*pod_template);
  if (!need.ok()) errors.AddLine(path + "." + need.error().message);
}

}  // namespace lockstep::jobs
