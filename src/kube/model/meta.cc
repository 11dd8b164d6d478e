#include "kube/model/meta.h"

#include <algorithm>

namespace lockstep::kube {
namespace {

using json::Doc;

Labels ParseTexts(const Doc* object) {
  Labels texts;
  if (object == nullptr || !object->is_object()) return texts;
  for (const auto& [key, value] : object->items()) {
    if (value.is_string()) texts.emplace_hint(texts.end(), key, value.get<std::string>());
  }
  return texts;
}

std::optional<WallTime> FindTime(const Doc& meta, std::string_view key) {
  const Doc* field = json::Key(&meta, key);
  if (field == nullptr || !field->is_string()) return std::nullopt;
  Result<WallTime> time = ParseTime(field->get_ref<const std::string&>());
  return time ? std::optional(*time) : std::nullopt;
}

std::optional<int64_t> FindInt(const Doc& meta, std::string_view key) {
  const Doc* field = json::Key(&meta, key);
  if (field == nullptr || !field->is_number_integer()) return std::nullopt;
  return field->get<int64_t>();
}

std::string Lookup(const Labels& labels, std::string_view key) {
  auto found = labels.find(key);
  return found == labels.end() ? std::string() : found->second;
}

}  // namespace

const OwnerRef* Meta::controller() const {
  auto found = std::ranges::find_if(owners, &OwnerRef::controller);
  return found == owners.end() ? nullptr : &*found;
}

std::string Meta::label(std::string_view key) const { return Lookup(labels, key); }
std::string Meta::annotation(std::string_view key) const { return Lookup(annotations, key); }

Meta ParseMeta(const Doc& object) {
  Meta meta;
  const Doc* doc = json::Key(&object, "metadata");
  if (doc == nullptr || !doc->is_object()) return meta;
  meta.ns = json::GetString(*doc, "namespace");
  meta.name = json::GetString(*doc, "name");
  meta.uid = json::GetString(*doc, "uid");
  meta.resource_version = json::GetString(*doc, "resourceVersion");
  meta.generation = json::GetInt(*doc, "generation");
  meta.labels = ParseTexts(json::Key(doc, "labels"));
  meta.annotations = ParseTexts(json::Key(doc, "annotations"));
  meta.created = FindTime(*doc, "creationTimestamp").value_or(WallTime{});
  meta.deleted_at = FindTime(*doc, "deletionTimestamp");
  meta.grace_seconds = FindInt(*doc, "deletionGracePeriodSeconds");
  if (const Doc* owners = json::Key(doc, "ownerReferences"); owners != nullptr && owners->is_array()) {
    for (const Doc& owner : *owners) {
      if (!owner.is_object()) continue;
      meta.owners.push_back({.api_version = json::GetString(owner, "apiVersion"),
                             .kind = json::GetString(owner, "kind"),
                             .name = json::GetString(owner, "name"),
                             .uid = json::GetString(owner, "uid"),
                             .controller = json::GetBool(owner, "controller")});
    }
  }
  if (const Doc* finalizers = json::Key(doc, "finalizers"); finalizers != nullptr && finalizers->is_array()) {
    for (const Doc& finalizer : *finalizers) {
      if (finalizer.is_string()) meta.finalizers.push_back(finalizer.get<std::string>());
    }
  }
  return meta;
}

std::string KeyOf(const Doc& object) {
  std::string ns = json::GetString(object, "metadata.namespace");
  std::string name = json::GetString(object, "metadata.name");
  return ns.empty() ? name : ns + "/" + name;
}

}  // namespace lockstep::kube
