#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::cluster {

// Why a node has no seat for a pod. The first that holds, in this order, is the one that is told.
enum class Reason : uint8_t {
  kNone,           // it has a seat
  kBarred,         // the caller rules the node out for this gang
  kNotReady,       // its kubelet says so, or is silent
  kUnschedulable,  // cordoned
  kTaint,          // a NoSchedule or NoExecute taint that the pod does not tolerate
  kSelector,       // node selector or required node affinity
  kHostPort,       // a pod there holds the port
  kResource,       // too little of a resource, or none at all
  kPods,           // the node's pod count is reached
  kVolume,         // the volume of a claim can't be reached from there
  kVolumeLimit,    // its CSI driver takes no more volumes there
  // Rules between pods (gang/related.h); told of nodes that have a seat otherwise.
  kNoTopology,    // the node lacks the label that a rule goes by
  kAntiAffinity,  // a pod there keeps ours away, or ours keeps away from it
  kAffinity,      // no pod is near that ours must be near
  kSpread,        // the node's domain has too many of these pods already
  kVolumeInUse,   // a volume for one node or one pod is in use elsewhere
};

struct Refusal {
  Reason reason = Reason::kNone;
  uint16_t detail = 0;  // kTaint: which taint (Nodes::taint); kResource: which of PodClass::requests;
                        // kVolume: which of its claims

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// "unschedulable", "taint", ...: stable, for metrics and JSON.
std::string_view ReasonText(Reason reason);

}  // namespace lockstep::cluster
