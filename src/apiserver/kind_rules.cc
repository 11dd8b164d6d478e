#include "apiserver/kind_rules.h"

#include "apiserver/meta_rules.h"
#include "apiserver/object.h"
#include "apiserver/pod_rules.h"

namespace lockstep::apiserver {

using json::Doc;
using kube::Resource;

namespace {

template <class... Kinds>
bool OneOf(const Resource& resource, const Kinds&... kinds) {
  return ((&resource == &kinds) || ...);
}

void StripNulls(Doc& value) {
  if (value.is_object()) {
    for (auto member = value.begin(); member != value.end();) {
      if (member->is_null()) {
        member = value.erase(member);
      } else {
        StripNulls(*member++);
      }
    }
  } else if (value.is_array()) {
    for (Doc& item : value) StripNulls(item);
  }
}

bool IsMapOfText(const Doc* value) {
  if (value == nullptr) return true;
  if (!value->is_object()) return false;
  return std::all_of(value->begin(), value->end(), [](const Doc& item) { return item.is_string(); });
}

std::optional<std::string> CheckMetaShape(const Doc& metadata) {
  for (const char* member : {"labels", "annotations"}) {
    if (!IsMapOfText(json::Key(&metadata, member))) {
      return "metadata." + std::string(member) + " must be an object of strings";
    }
  }
  for (const char* member : {"name", "namespace", "generateName", "resourceVersion", "uid"}) {
    const Doc* value = json::Key(&metadata, member);
    if (value != nullptr && !value->is_string())
      return "metadata." + std::string(member) + " must be a string";
  }
  for (const char* member : {"ownerReferences", "finalizers"}) {
    const Doc* value = json::Key(&metadata, member);
    if (value == nullptr) continue;
    bool objects = std::string_view(member) == "ownerReferences";
    bool fits = value->is_array() && std::all_of(value->begin(), value->end(), [&](const Doc& item) {
                  return objects ? item.is_object() : item.is_string();
                });
    if (!fits)
      return "metadata." + std::string(member) + " must be a list of " + (objects ? "objects" : "strings");
  }
  return std::nullopt;
}

void DropEmpty(Doc& metadata) {
  for (const char* member :
       {"labels", "annotations", "ownerReferences", "finalizers", "name", "resourceVersion"}) {
    auto found = metadata.find(member);
    if (found != metadata.end() && (found->is_null() || found->empty() || *found == Doc("")))
      metadata.erase(found);
  }
}

void Default(Doc& object, const char* key, Doc value) {
  if (!object.contains(key)) object[key] = std::move(value);
}

void PrepareService(Doc& service, uint64_t serial) {
  Doc& spec = service["spec"];
  if (!spec.is_object()) spec = Doc::object();
  Default(spec, "type", "ClusterIP");
  Default(spec, "sessionAffinity", "None");
  if (auto ports = spec.find("ports"); ports != spec.end() && ports->is_array()) {
    for (Doc& port : *ports) {
      if (!port.is_object()) continue;
      Default(port, "protocol", "TCP");
      if (port.contains("port")) Default(port, "targetPort", port["port"]);
    }
  }
  if (json::GetString(spec, "type") == "ExternalName") return;
  std::string host = std::to_string(serial >> 8 & 255) + "." + std::to_string(serial & 255);
  Default(spec, "clusterIP", "10.96." + host);
  Default(spec, "clusterIPs", Doc::array({spec["clusterIP"]}));
  Default(spec, "ipFamilies", Doc::array({"IPv4"}));
  Default(spec, "ipFamilyPolicy", "SingleStack");
  Default(spec, "internalTrafficPolicy", "Cluster");
}

void CheckService(const Doc& service, Causes& causes) {
  const Doc* ports = json::Find(service, "spec.ports");
  bool needs_ports = json::GetString(service, "spec.type") != "ExternalName" &&
                     json::GetString(service, "spec.clusterIP") != "None";
  if ((ports == nullptr || ports->empty()) && needs_ports) causes.push_back(Required("spec.ports"));
  if (ports == nullptr || !ports->is_array()) return;
  for (size_t i = 0; i < ports->size(); ++i) {
    const Doc& port = (*ports)[i];
    std::string path = "spec.ports[" + std::to_string(i) + "]";
    int64_t number = json::GetInt(port, "port");
    if (number < 1 || number > 65535) {
      causes.push_back(
          InvalidValue(path + ".port", std::to_string(number), "must be between 1 and 65535, inclusive"));
    }
    if (ports->size() > 1 && json::GetString(port, "name").empty())
      causes.push_back(Required(path + ".name"));
  }
}

void PrepareNamespace(Doc& object) {
  std::string name = json::GetString(object, "metadata.name");
  object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
  object["spec"]["finalizers"] = Doc::array({"kubernetes"});
  object["status"] = {{"phase", "Active"}};
}

void CheckLease(const Doc& lease, Causes& causes) {
  const Doc* duration = json::Find(lease, "spec.leaseDurationSeconds");
  if (duration != nullptr && duration->is_number() && *duration <= 0) {
    causes.push_back(
        InvalidValue("spec.leaseDurationSeconds", json::Dump(*duration), "must be greater than 0"));
  }
  const Doc* transitions = json::Find(lease, "spec.leaseTransitions");
  if (transitions != nullptr && transitions->is_number() && *transitions < 0) {
    causes.push_back(InvalidValue("spec.leaseTransitions", json::Dump(*transitions),
                                  "must be greater than or equal to 0"));
  }
}

void CheckEvent(const Doc& event, Causes& causes) {
  std::string ns = json::GetString(event, "metadata.namespace");
  std::string about = json::GetString(event, "involvedObject.namespace");
  // Events about cluster-scoped objects live in "default".
  if (about == ns || (about.empty() && ns == "default")) return;
  causes.push_back(InvalidValue("involvedObject.namespace", Quoted(about), "does not match event.namespace"));
}

void Restore(Doc& object, const Doc& old, const char* member) {
  if (const Doc* value = json::Key(&old, member)) {
    object[member] = *value;
  } else {
    object.erase(member);
  }
}

// Everything but metadata and status is "the spec" of a custom resource.
bool SpecChanged(const Resource& resource, const Doc& object, const Doc& old) {
  if (!IsCustom(resource)) return object.value("spec", Doc()) != old.value("spec", Doc());
  Doc a = object;
  Doc b = old;
  for (Doc* doc : {&a, &b}) {
    doc->erase("metadata");
    doc->erase("status");
  }
  return a != b;
}

}  // namespace

bool HasStatus(const Resource& resource) {
  return IsCustom(resource) ||
         OneOf(resource, kube::kPods, kube::kNodes, kube::kServices, kube::kNamespaces, kube::kResourceQuotas,
               kube::kPersistentVolumes, kube::kPersistentVolumeClaims, kube::kVolumeAttachments,
               kube::kDaemonSets, kube::kCustomResourceDefinitions);
}

bool AllowsCreateOnUpdate(const Resource& resource) {
  return OneOf(resource, kube::kLeases, kube::kEvents, kube::kServices, kube::kPriorityClasses);
}

bool AllowsBlindUpdate(const Resource& resource) {
  return !IsCustom(resource) &&
         !OneOf(resource, kube::kLeases, kube::kServiceAccounts, kube::kCustomResourceDefinitions);
}

bool ReturnsDeleted(const Resource& resource) {
  return OneOf(resource, kube::kPods, kube::kServices, kube::kServiceAccounts, kube::kPersistentVolumes,
               kube::kPersistentVolumeClaims, kube::kResourceQuotas);
}

std::optional<std::string> Decode(const Resource& resource, Doc& object) {
  if (!IsCustom(resource)) StripNulls(object);
  if (!object.contains("metadata") || object["metadata"].is_null()) object["metadata"] = Doc::object();
  Doc& metadata = object["metadata"];
  if (!metadata.is_object()) return "metadata must be an object";
  if (IsCustom(resource)) StripNulls(metadata);
  if (auto fault = CheckMetaShape(metadata)) return fault;
  DropEmpty(metadata);
  if (&resource != &kube::kPods) {
    const Doc* spec = json::Key(&object, "spec");
    if (!IsCustom(resource) && spec != nullptr && !spec->is_object()) return "spec must be an object";
    return std::nullopt;
  }
  if (auto fault = CheckPodShape(object)) return fault;
  SetPodDefaults(object);
  return std::nullopt;
}

void PrepareForCreate(const Resource& resource, Doc& object, uint64_t serial) {
  if (&resource == &kube::kPods) {
    ResetPodStatus(object);
  } else if (&resource == &kube::kServices) {
    PrepareService(object, serial);
    object["status"] = {{"loadBalancer", Doc::object()}};
  } else if (&resource == &kube::kNamespaces) {
    PrepareNamespace(object);
  } else if (OneOf(resource, kube::kPersistentVolumes, kube::kPersistentVolumeClaims)) {
    object["status"] = {{"phase", "Pending"}};
  } else if (&resource == &kube::kResourceQuotas) {
    object["status"] = Doc::object();
  } else if (IsCustom(resource)) {
    object.erase("status");
  }
  // A Node keeps its status: the kubelet registers with it.
}

void PrepareForUpdate(const Resource& resource, Doc& object, const Doc& old) {
  if (&resource == &kube::kServices) PrepareService(object, 0);
  if (HasStatus(resource)) Restore(object, old, "status");
  if (&resource == &kube::kServices && json::Find(old, "spec.clusterIP") != nullptr) {
    for (const char* member : {"clusterIP", "clusterIPs"}) Restore(object["spec"], old.at("spec"), member);
  }
  if (CountsGenerations(resource) && SpecChanged(resource, object, old)) {
    object["metadata"]["generation"] = json::GetInt(old, "metadata.generation") + 1;
  }
}

void PrepareForStatusUpdate(const Resource& resource, Doc& object, const Doc& old) {
  Doc metadata = old.at("metadata");
  if (OneOf(resource, kube::kPods, kube::kNodes)) {
    for (const char* member : {"labels", "annotations"}) Restore(metadata, object.at("metadata"), member);
  }
  object["metadata"] = std::move(metadata);
  // Nearly always nothing else differs, and comparing is much cheaper than copying a spec.
  for (auto member = object.begin(); member != object.end();) {
    bool kept = member.key() == "status" || old.contains(member.key());
    member = kept ? std::next(member) : object.erase(member);
  }
  for (const auto& [key, value] : old.items()) {
    if (key != "metadata" && key != "status" && object[key] != value) object[key] = value;
  }
}

Causes CheckCreate(const Resource& resource, const Doc& object) {
  Causes causes = CheckMeta(resource, object);
  if (&resource == &kube::kServices) CheckService(object, causes);
  if (&resource == &kube::kLeases) CheckLease(object, causes);
  if (&resource == &kube::kEvents) CheckEvent(object, causes);
  if (&resource == &kube::kPods) {
    Causes more = CheckPod(object);
    causes.insert(causes.end(), more.begin(), more.end());
  }
  return causes;
}

Causes CheckUpdate(const Resource& resource, const Doc& object, const Doc& old) {
  Causes causes = CheckMetaUpdate(object, old);
  Causes more = CheckMeta(resource, object);
  if (&resource == &kube::kServices) CheckService(object, more);
  if (&resource == &kube::kLeases) CheckLease(object, more);
  causes.insert(causes.end(), more.begin(), more.end());
  if (&resource != &kube::kPods) return causes;
  more = CheckPodUpdate(object, old);
  causes.insert(causes.end(), more.begin(), more.end());
  return causes;
}

}  // namespace lockstep::apiserver
