#pragma once

#include <string>

#include "base/time.h"
#include "json/doc.h"
#include "kubelet/admission.h"

// The objects that a pretended node writes about itself.
namespace lockstep::hollow {

struct NodeFacts {
  kubelet::NodeShape shape;
  std::string host_ip;
  std::string boot_id;
};

// A Node as kubelet 1.34 registers it: labels, taints, capacity, addresses, nodeInfo, Ready.
json::Doc NodeObject(const NodeFacts& node, WallTime now);
// What a kubelet writes when its Node exists already: labels and taints are merged into what is there.
json::Doc NodeMetadataPatch(const NodeFacts& node);              // strategic merge
json::Doc NodeStatusPatch(const NodeFacts& node, WallTime now);  // strategic merge, for nodes/status

// The Lease of a node in kube-node-lease, and its renewal (merge patch).
json::Doc LeaseObject(const std::string& node, WallTime now);
json::Doc LeaseRenewal(WallTime now);

// A UUID that depends only on its inputs.
std::string StableUuid(std::string_view what, uint64_t number);

}  // namespace lockstep::hollow
