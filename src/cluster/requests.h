#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/model/quantity.h"

namespace lockstep::cluster {

inline constexpr int32_t kNoColumn = -1;

// One resource that a pod asks for, as a column of the dense tables of `Nodes`. A resource that no node lists
// has no column; nobody can ask for it with success, and hostile names cost no memory.
struct Request {
  std::string name;
  kube::Amount amount = 0;  // thousandths, > 0
  int32_t column = kNoColumn;
  bool extended = false;

  friend bool operator==(const Request&, const Request&) = default;
};

// Whether a node agent counts the resource in whole devices: "nvidia.com/gpu", but not "cpu" or
// "hugepages-2Mi". Source: k8s.io/component-helpers IsExtendedResourceName.
bool IsExtended(std::string_view resource);

// The names that nodes list, in order of first sight: at most kMaxColumns, later ones count as not listed.
class Columns {
 public:
  static constexpr size_t kMaxColumns = 256;

  // Whether a column was added.
  bool Add(std::string_view name);
  int32_t Find(std::string_view name) const;  // kNoColumn if no node lists it
  size_t size() const { return names_.size(); }
  const std::string& name(int32_t column) const { return names_[column]; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, int32_t, std::less<>> columns_;
};

// What one pod takes of a node: its requests above zero and one of "pods". Extended resources come first,
// then the others, each by name, "pods" last: the first that is short is the one worth telling.
std::vector<Request> RequestsOf(const kube::Resources& resources, const Columns& columns);

}  // namespace lockstep::cluster
