#include "cluster/requests.h"

#include <algorithm>
#include <tuple>

namespace lockstep::cluster {

bool IsExtended(std::string_view resource) {
  return resource.find('/') != std::string_view::npos &&
         resource.find("kubernetes.io/") == std::string_view::npos;
}

bool Columns::Add(std::string_view name) {
  if (names_.size() >= kMaxColumns || columns_.contains(name)) return false;
  columns_.emplace(name, static_cast<int32_t>(names_.size()));
  names_.emplace_back(name);
  return true;
}

int32_t Columns::Find(std::string_view name) const {
  auto found = columns_.find(name);
  return found == columns_.end() ? kNoColumn : found->second;
}

std::vector<Request> RequestsOf(const kube::Resources& resources, const Columns& columns) {
  std::vector<Request> requests;
  for (const auto& [name, amount] : resources) {
    if (amount <= 0 || name == "pods") continue;
    requests.push_back({name, amount, columns.Find(name), IsExtended(name)});
  }
  std::ranges::stable_sort(requests,
                           [](const Request& a, const Request& b) { return a.extended > b.extended; });
  requests.push_back({"pods", 1000, columns.Find("pods"), false});
  return requests;
}

}  // namespace lockstep::cluster
