#include "apiserver/meta_rules.h"

#include <algorithm>
#include <set>

#include "apiserver/names.h"
#include "apiserver/object.h"
#include "base/ascii.h"

namespace lockstep::apiserver {

using json::Doc;
using kube::Resource;

namespace {

constexpr size_t kAnnotationsLimit = 256 << 10;

void AddFaults(const Faults& faults, const std::string& field, std::string_view value, Causes& causes) {
  for (const std::string& fault : faults) causes.push_back(InvalidValue(field, Quoted(value), fault));
}

Faults CheckName(const Resource& resource, std::string_view name) {
  if (&resource == &kube::kServices) return CheckDns1035Label(name);
  if (&resource == &kube::kNamespaces) return CheckDns1123Label(name);
  return CheckDns1123Subdomain(name);
}

void CheckLabels(const Doc& metadata, Causes& causes) {
  const Doc* labels = json::Key(&metadata, "labels");
  if (labels == nullptr || !labels->is_object()) return;
  for (const auto& [key, value] : labels->items()) {
    AddFaults(CheckQualifiedName(key), "metadata.labels", key, causes);
    if (value.is_string()) {
      std::string text = value.get<std::string>();
      AddFaults(CheckLabelValue(text), "metadata.labels", text, causes);
    }
  }
}

void CheckAnnotations(const Doc& metadata, Causes& causes) {
  const Doc* annotations = json::Key(&metadata, "annotations");
  if (annotations == nullptr || !annotations->is_object()) return;
  size_t size = 0;
  for (const auto& [key, value] : annotations->items()) {
    AddFaults(CheckQualifiedName(AsciiLower(key)), "metadata.annotations", key, causes);
    size += key.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
  }
  if (size > kAnnotationsLimit) causes.push_back(TooLong("metadata.annotations", kAnnotationsLimit));
}

void CheckOwners(const Doc& metadata, Causes& causes) {
  const Doc* owners = json::Key(&metadata, "ownerReferences");
  if (owners == nullptr || !owners->is_array()) return;
  std::string controller;
  for (size_t i = 0; i < owners->size(); ++i) {
    const Doc& owner = (*owners)[i];
    std::string field = "metadata.ownerReferences[" + std::to_string(i) + "]";
    for (const char* member : {"apiVersion", "kind", "name", "uid"}) {
      if (json::GetString(owner, member).empty()) {
        causes.push_back(InvalidValue(field + "." + member, "\"\"",
                                      std::string_view(member) == "apiVersion"
                                          ? "version must not be empty"
                                          : std::string(member) + " must not be empty"));
      }
    }
    if (!json::GetBool(owner, "controller")) continue;
    std::string name = json::GetString(owner, "name");
    if (controller.empty()) {
      controller = name;
      continue;
    }
    causes.push_back(
        InvalidValue("metadata.ownerReferences", json::Dump(*owners),
                     "Only one reference can have Controller set to true. Found \"true\" in references "
                     "for " +
                         controller + " and " + name));
  }
}

void CheckFinalizers(const Resource& resource, const Doc& metadata, Causes& causes) {
  const Doc* finalizers = json::Key(&metadata, "finalizers");
  if (finalizers == nullptr || !finalizers->is_array()) return;
  static const std::set<std::string> kStandard = {"kubernetes", "orphan", "foregroundDeletion"};
  for (size_t i = 0; i < finalizers->size(); ++i) {
    if (!(*finalizers)[i].is_string()) continue;
    std::string name = (*finalizers)[i].get<std::string>();
    std::string field = "metadata.finalizers[" + std::to_string(i) + "]";
    AddFaults(CheckQualifiedName(name), "metadata.finalizers", name, causes);
    if (!IsCustom(resource) && name.find('/') == std::string::npos && !kStandard.contains(name)) {
      causes.push_back(InvalidValue(field, Quoted(name),
                                    "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
}

void Restore(Doc& metadata, const Doc& old, const char* member) {
  if (const Doc* value = json::Key(&old, member)) {
    metadata[member] = *value;
  } else {
    metadata.erase(member);
  }
}

}  // namespace

bool CountsGenerations(const Resource& resource) {
  return IsCustom(resource) || &resource == &kube::kPods || &resource == &kube::kPriorityClasses ||
         &resource == &kube::kDaemonSets || &resource == &kube::kCustomResourceDefinitions;
}

void FillSystemFields(const Resource& resource, Doc& object, std::string uid, WallTime now) {
  Doc& metadata = object["metadata"];
  metadata["uid"] = std::move(uid);
  metadata["creationTimestamp"] = FormatTime(now);
  for (const char* member :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation", "managedFields"}) {
    metadata.erase(member);
  }
  if (CountsGenerations(resource)) metadata["generation"] = 1;
}

void KeepSystemFields(Doc& object, const Doc& old) {
  Doc& metadata = object["metadata"];
  const Doc& before = old.at("metadata");
  for (const char* member : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                             "deletionGracePeriodSeconds", "generation", "generateName"}) {
    Restore(metadata, before, member);
  }
  metadata.erase("selfLink");
  metadata.erase("managedFields");
}

Causes CheckMeta(const Resource& resource, const Doc& object) {
  Causes causes;
  const Doc& metadata = object.at("metadata");
  std::string name = json::GetString(metadata, "name");
  if (name.empty()) {
    causes.push_back(Required("metadata.name", "name or generateName is required"));
  } else {
    AddFaults(CheckName(resource, name), "metadata.name", name, causes);
  }
  CheckLabels(metadata, causes);
  CheckAnnotations(metadata, causes);
  CheckOwners(metadata, causes);
  CheckFinalizers(resource, metadata, causes);
  return causes;
}

Causes CheckMetaUpdate(const Doc& object, const Doc& old) {
  Causes causes;
  const Doc* deleting = json::Find(old, "metadata.deletionTimestamp");
  const Doc* now = json::Find(object, "metadata.finalizers");
  if (deleting == nullptr || now == nullptr || !now->is_array()) return causes;
  const Doc* before = json::Find(old, "metadata.finalizers");
  std::string added;
  for (const Doc& finalizer : *now) {
    if (before != nullptr && std::find(before->begin(), before->end(), finalizer) != before->end()) continue;
    added += (added.empty() ? "" : ", ") + json::Dump(finalizer);
  }
  if (!added.empty()) {
    causes.push_back(
        NotAllowed("metadata.finalizers",
                   "no new finalizers can be added if the object is being deleted, found new finalizers "
                   "[]string{" +
                       added + "}"));
  }
  return causes;
}

bool MarkDeleting(Doc& object, WallTime now, int64_t grace) {
  Doc& metadata = object["metadata"];
  if (metadata.contains("deletionTimestamp")) return false;
  metadata["deletionTimestamp"] = FormatTime(now + seconds(grace));
  metadata["deletionGracePeriodSeconds"] = grace;
  // Controllers should not act on an object that goes away, so the deletion counts as a change of the spec.
  if (int64_t generation = json::GetInt(metadata, "generation"); generation > 0) {
    metadata["generation"] = generation + 1;
  }
  return true;
}

}  // namespace lockstep::apiserver
