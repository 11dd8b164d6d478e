#include "cluster/refusal.h"

#include "base/check.h"

namespace lockstep::cluster {

std::string_view ReasonText(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "fits";
    case Reason::kBarred:
      return "barred";
    case Reason::kNotReady:
      return "notReady";
    case Reason::kUnschedulable:
      return "unschedulable";
    case Reason::kTaint:
      return "taint";
    case Reason::kSelector:
      return "selector";
    case Reason::kHostPort:
      return "hostPort";
    case Reason::kResource:
      return "resource";
    case Reason::kPods:
      return "pods";
    case Reason::kVolume:
      return "volume";
    case Reason::kVolumeLimit:
      return "volumeLimit";
    case Reason::kNoTopology:
      return "noTopology";
    case Reason::kAntiAffinity:
      return "antiAffinity";
    case Reason::kAffinity:
      return "affinity";
    case Reason::kSpread:
      return "spread";
    case Reason::kVolumeInUse:
      return "volumeInUse";
  }
  CHECK(false) << "unknown reason " << static_cast<int>(reason);
  return "";
}

}  // namespace lockstep::cluster
