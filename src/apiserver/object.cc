#include "apiserver/object.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/check.h"
#include "json/append.h"

namespace lockstep::apiserver {

using json::Doc;
using kube::Resource;

namespace {

constexpr std::string_view kMetaFields[] = {"metadata.name", "metadata.namespace"};
constexpr std::string_view kPodFields[] = {
    "metadata.name",      "metadata.namespace",      "spec.nodeName",           "status.phase",
    "spec.restartPolicy", "spec.schedulerName",      "spec.serviceAccountName", "spec.hostNetwork",
    "status.podIP",       "status.nominatedNodeName"};
constexpr std::string_view kNodeFields[] = {"metadata.name", "metadata.namespace", "spec.unschedulable"};
constexpr std::string_view kNamespaceFields[] = {"metadata.name", "metadata.namespace", "status.phase"};
constexpr std::string_view kEventFields[] = {"metadata.name",
                                             "metadata.namespace",
                                             "involvedObject.kind",
                                             "involvedObject.namespace",
                                             "involvedObject.name",
                                             "involvedObject.uid",
                                             "involvedObject.apiVersion",
                                             "involvedObject.resourceVersion",
                                             "involvedObject.fieldPath",
                                             "reason",
                                             "reportingComponent",
                                             "source",
                                             "type"};

std::string FieldValue(const Resource& resource, const Doc& doc, std::string_view field) {
  if (field == "spec.hostNetwork" || field == "spec.unschedulable") {
    return json::GetBool(doc, field) ? "true" : "false";
  }
  if (&resource == &kube::kEvents && field == "source") {
    std::string component = json::GetString(doc, "source.component");
    return component.empty() ? json::GetString(doc, "reportingComponent") : component;
  }
  return json::GetString(doc, field);
}

struct Text {
  std::string bytes;
  uint32_t type_size = 0, revision_begin = 0, spec_begin = 0;
};

// Appends the members of `object` but for some, without the braces, each after a comma if `comma`.
void AppendMembers(std::string& out, const Doc& object, bool comma,
                   std::initializer_list<std::string_view> but_for) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(but_for, key) != but_for.end()) continue;
    if (std::exchange(comma, true)) out += ',';
    json::DumpTo(out, Doc(key));
    out += ':';
    json::DumpTo(out, value);
  }
}

Text Write(const Resource& resource, const Doc& doc, std::string_view revision, const Object* spec_from) {
  Text text;
  std::string& out = text.bytes;
  out = R"({"apiVersion":")";
  out += resource.ApiVersion();
  out += R"(","kind":")";
  out += resource.kind;
  out += R"(",)";
  text.type_size = static_cast<uint32_t>(out.size() - 1);
  out += R"("metadata":{)";
  if (!revision.empty()) {
    out += R"("resourceVersion":")";
    text.revision_begin = static_cast<uint32_t>(out.size());
    out += revision;
    out += '"';
  }
  AppendMembers(out, doc.at("metadata"), /*comma=*/!revision.empty(), {"resourceVersion"});
  out += '}';
  AppendMembers(out, doc, /*comma=*/true, {"apiVersion", "kind", "metadata", "spec"});
  if (spec_from != nullptr && spec_from->spec_begin != 0) {
    text.spec_begin = static_cast<uint32_t>(out.size());
    out.append(spec_from->bytes, spec_from->spec_begin);
    return text;
  }
  if (auto spec = doc.find("spec"); spec != doc.end()) {
    text.spec_begin = static_cast<uint32_t>(out.size());
    out += R"(,"spec":)";
    json::DumpTo(out, *spec);
  }
  out += '}';
  return text;
}

void ReadStrings(const Doc* list, std::vector<std::string>& out) {
  if (list == nullptr || !list->is_array()) return;
  for (const Doc& item : *list) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
}

void ReadOwners(const Doc* list, std::vector<kube::OwnerRef>& out) {
  if (list == nullptr || !list->is_array()) return;
  for (const Doc& item : *list) {
    out.push_back({json::GetString(item, "apiVersion"), json::GetString(item, "kind"),
                   json::GetString(item, "name"), json::GetString(item, "uid"),
                   json::GetBool(item, "controller")});
  }
}

}  // namespace

std::span<const std::string_view> FieldNames(const Resource& resource) {
  if (&resource == &kube::kPods) return kPodFields;
  if (&resource == &kube::kNodes) return kNodeFields;
  if (&resource == &kube::kEvents) return kEventFields;
  if (&resource == &kube::kNamespaces) return kNamespaceFields;
  return kMetaFields;
}

bool IsCustom(const Resource& resource) {
  return resource.group == "kubeflow.org" || resource.group == "lockstep.dev";
}

ObjectPtr MakeObject(const Resource& resource, Doc doc, uint64_t revision, const Object* spec_from) {
  auto object = std::make_shared<Object>();
  const Doc& metadata = doc.at("metadata");
  CHECK(metadata.is_object()) << "metadata of a stored " << resource.kind;
  object->resource = &resource;
  object->ns = resource.namespaced ? json::GetString(metadata, "namespace") : "";
  object->name = json::GetString(metadata, "name");
  object->uid = json::GetString(metadata, "uid");
  object->key = resource.namespaced ? object->ns + "/" + object->name : object->name;
  object->revision = revision;
  if (const Doc* labels = json::Key(&metadata, "labels"); labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      if (value.is_string()) object->labels.emplace(key, value.get<std::string>());
    }
  }
  auto names = FieldNames(resource);
  for (size_t i = 0; i < names.size(); ++i) {
    bool kept = spec_from != nullptr && names[i].starts_with("spec.");
    object->fields.push_back(kept ? spec_from->fields[i] : FieldValue(resource, doc, names[i]));
  }
  ReadOwners(json::Key(&metadata, "ownerReferences"), object->owners);
  ReadStrings(json::Key(&metadata, "finalizers"), object->finalizers);
  object->deleting = metadata.contains("deletionTimestamp");

  std::string digits = std::to_string(revision);
  Text text = Write(resource, doc, digits, spec_from);
  object->bytes = std::move(text.bytes);
  object->type_size = text.type_size;
  object->revision_begin = text.revision_begin;
  object->revision_size = static_cast<uint32_t>(digits.size());
  object->spec_begin = text.spec_begin;
  if (spec_from != nullptr) return object;
  doc["apiVersion"] = resource.ApiVersion();
  doc["kind"] = resource.kind;
  doc["metadata"]["resourceVersion"] = std::move(digits);
  object->tree = std::make_shared<const Doc>(std::move(doc));
  return object;
}

std::string TextWithoutRevision(const Resource& resource, const Doc& doc) {
  return Write(resource, doc, "", nullptr).bytes;
}

json::DocPtr Object::Tree() const {
  if (tree != nullptr) return tree;
  Result<Doc> doc = json::Parse(bytes);
  CHECK(doc.ok()) << "stored " << resource->plural << " " << key << ": " << doc.error().message;
  return std::make_shared<const Doc>(*std::move(doc));
}

Doc Object::ParseWithoutSpec() const {
  if (spec_begin == 0) return *Tree();
  Result<Doc> doc = json::Parse(bytes.substr(0, spec_begin) + "}");
  CHECK(doc.ok()) << "stored " << resource->plural << " " << key << ": " << doc.error().message;
  return *std::move(doc);
}

std::string Object::BytesAt(uint64_t other_revision) const {
  std::string copy = bytes;
  copy.replace(revision_begin, revision_size, std::to_string(other_revision));
  return copy;
}

void Object::AppendItem(std::string& out) const {
  if (IsCustom(*resource)) {
    out += bytes;
    return;
  }
  out += '{';
  out.append(bytes, 1 + type_size);
}

}  // namespace lockstep::apiserver
