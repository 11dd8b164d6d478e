#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "json/doc.h"

namespace lockstep::kube {

using Labels = std::map<std::string, std::string, std::less<>>;

struct OwnerRef {
  std::string api_version, kind, name, uid;
  bool controller = false;
};

// The part of metav1.ObjectMeta that Lockstep reads.
struct Meta {
  std::string ns, name, uid, resource_version;
  int64_t generation = 0;
  Labels labels, annotations;
  std::vector<OwnerRef> owners;
  std::vector<std::string> finalizers;
  WallTime created;
  std::optional<WallTime> deleted_at;  // deletionTimestamp
  std::optional<int64_t> grace_seconds;

  const OwnerRef* controller() const;
  // "ns/name", or "name" for a cluster-scoped object.
  std::string key() const { return ns.empty() ? name : ns + "/" + name; }
  std::string label(std::string_view key) const;       // "" if absent
  std::string annotation(std::string_view key) const;  // "" if absent
};

// Never fails: what is missing or of another type stays empty.
Meta ParseMeta(const json::Doc& object);

// "ns/name" of an object document.
std::string KeyOf(const json::Doc& object);

}  // namespace lockstep::kube
