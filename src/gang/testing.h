#pragma once

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/testing.h"
#include "gang/place.h"

namespace lockstep::gang::testing {

// Names of the nodes of a placement in its order, with the pods on each: "node-0:2 node-1:1".
inline std::string Text(const cluster::Nodes& nodes, const Placement& placement) {
  std::string text;
  for (size_t i = 0; i < placement.seats.size();) {
    cluster::NodeId node = placement.seats[i].node;
    int pods = 0;
    for (; i < placement.seats.size() && placement.seats[i].node == node; ++i)
      pods += placement.seats[i].count;
    text += (text.empty() ? "" : " ") + nodes.name(node) + ":" + std::to_string(pods);
  }
  return text;
}

// As above for whatever Place returned; "none" where it did not fit.
inline std::string Text(const cluster::Nodes& nodes, const std::variant<Placement, NoFit>& result) {
  const Placement* placement = std::get_if<Placement>(&result);
  return placement ? Text(nodes, *placement) : "none";
}

// One role of alike pods.
inline Need MakeGang(cluster::Nodes& nodes, int32_t count, const kube::PodNeed& pod) {
  return {{{nodes.Class(pod), count}}};
}
inline Need MakeGang(cluster::Nodes& nodes, int32_t count, const kube::Resources& requests) {
  return MakeGang(nodes, count, cluster::testing::MakeNeed(requests));
}

// What is wrong with a placement, from first principles: "" if every pod has one seat and no node holds more
// than it has or a pod it refuses. Checks each pod by itself, on a copy.
inline std::string Fault(cluster::Nodes nodes, const Need& need, const Placement& placement) {
  std::set<std::pair<int32_t, int32_t>> seen;
  std::set<cluster::NodeId> left;
  cluster::NodeId last = UINT32_MAX;
  for (const Seats& seats : placement.seats) {
    if (seats.node != last && !left.insert(seats.node).second) return "not grouped by node";
    last = seats.node;
    for (int32_t i = seats.first; i < seats.first + seats.count; ++i) {
      if (!seen.insert({seats.role, i}).second) return "a pod has two seats";
      if (i >= need.roles[seats.role].count) return "a seat for no pod";
      cluster::ClassId pod_class = need.roles[seats.role].pod_class;
      if (nodes.Judge(seats.node, pod_class, cluster::View::kNow).seats == 0) {
        return "pod " + std::to_string(i) + " does not fit on " + nodes.name(seats.node);
      }
      nodes.Occupy(seats.node, pod_class);
    }
  }
  size_t pods = 0;
  for (const RoleNeed& role : need.roles) pods += static_cast<size_t>(role.count);
  return seen.size() == pods ? "" : "pods without a seat";
}

}  // namespace lockstep::gang::testing
