#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/doc.h"
#include "kube/api/resource.h"
#include "kube/model/meta.h"

namespace lockstep::apiserver {

// One version of one object: its JSON text, and beside it what selectors, deletion and garbage collection
// ask, so that a list or a watch never parses. Immutable; shared by the store, its history and undelivered
// events.
struct Object {
  const kube::Resource* resource = nullptr;
  std::string key;  // "ns/name", or "name" for a cluster-scoped object
  std::string ns, name, uid;
  uint64_t revision = 0;

  kube::Labels labels;
  std::vector<std::string> fields;  // the values of FieldNames(*resource), in that order
  std::vector<kube::OwnerRef> owners;
  std::vector<std::string> finalizers;
  bool deleting = false;  // has a deletionTimestamp

  // `{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"7",...},...}`: the type first and then
  // the revision, so that an item without type and a copy with another revision are cut from the text.
  std::string bytes;
  uint32_t type_size = 0;       // bytes of `"apiVersion":"v1","kind":"Pod",`
  uint32_t revision_begin = 0;  // offset of the digits of the resourceVersion
  uint32_t revision_size = 0;
  uint32_t spec_begin = 0;  // offset of the comma before `"spec":`; 0: no spec

  // The text with another resourceVersion: what the event of a deletion carries.
  std::string BytesAt(uint64_t other_revision) const;
  // As an item of a list: the items of a built-in kind have no apiVersion and kind on the wire, custom ones
  // do.
  void AppendItem(std::string& out) const;
  // The tree that the text was written from, while it is kept (store.h): trees are large.
  mutable json::DocPtr tree;

  // The whole document, or all of it but the spec, which is most of an object.
  json::DocPtr Tree() const;
  json::Doc ParseWithoutSpec() const;
};

using ObjectPtr = std::shared_ptr<const Object>;

// `doc` must be an object with an object as metadata; its resourceVersion, apiVersion and kind are replaced.
// The spec is that of `spec_from` if one is given, and not in `doc`.
ObjectPtr MakeObject(const kube::Resource& resource, json::Doc doc, uint64_t revision,
                     const Object* spec_from = nullptr);

// The text of `doc` as MakeObject would store it, but without a resourceVersion: the answer of a dry run.
std::string TextWithoutRevision(const kube::Resource& resource, const json::Doc& doc);

// What ?fieldSelector= may name for a kind. Source: the conversion functions of pkg/apis/core/v1.
std::span<const std::string_view> FieldNames(const kube::Resource& resource);

// Whether the kind comes from a CustomResourceDefinition.
bool IsCustom(const kube::Resource& resource);

}  // namespace lockstep::apiserver
