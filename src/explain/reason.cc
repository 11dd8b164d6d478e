#include "explain/reason.h"

#include <map>
#include <optional>

#include "gang/exact.h"

namespace lockstep::explain {

namespace {

// Quotas name what they limit "requests.memory".
std::string_view Limited(std::string_view resource) {
  for (std::string_view prefix : {"requests.", "limits."}) {
    if (resource.starts_with(prefix)) return resource.substr(prefix.size());
  }
  return resource;
}

bool IsBytes(std::string_view resource) {
  resource = Limited(resource);
  return resource == "memory" || resource == "ephemeral-storage" || resource.rfind("hugepages-", 0) == 0;
}

std::string Nodes(int32_t count) { return std::to_string(count) + (count == 1 ? " node" : " nodes"); }

}  // namespace

std::string QuantityText(std::string_view resource, kube::Amount amount) {
  return kube::FormatQuantity(std::max<kube::Amount>(amount, 0), IsBytes(resource));
}

namespace {

std::string Refused(cluster::Reason reason, const std::string& detail, const std::string& nodes, bool one) {
  switch (reason) {
    case cluster::Reason::kBarred:
      return nodes + (one ? " is" : " are") + " barred for this job after refusing its pods";
    case cluster::Reason::kNotReady:
      return nodes + (one ? " is" : " are") + " not ready";
    case cluster::Reason::kUnschedulable:
      return nodes + (one ? " is" : " are") + " cordoned";
    case cluster::Reason::kTaint:
      return nodes + (one ? " has" : " have") + " the taint " + detail;
    case cluster::Reason::kSelector:
      if (!detail.empty()) return nodes + (one ? " is" : " are") + " not " + detail;
      return nodes + (one ? " lacks" : " lack") + " the wanted labels";
    case cluster::Reason::kHostPort:
      return nodes + (one ? " has" : " have") + " the host port in use";
    case cluster::Reason::kResource:
      return nodes + (one ? " has" : " have") + " too little " + detail;
    case cluster::Reason::kPods:
      return nodes + (one ? " is" : " are") + " full of pods";
    case cluster::Reason::kVolume:
      return nodes + " can't reach the volume of the claim " + detail;
    case cluster::Reason::kVolumeLimit:
      return nodes + (one ? " takes" : " take") + " no more volumes";
    case cluster::Reason::kNoTopology:
      return nodes + (one ? " lacks" : " lack") + " the label " + detail + " that its rules go by";
    case cluster::Reason::kAntiAffinity:
      return nodes + (one ? " is" : " are") + " excluded by anti-affinity with " + detail;
    case cluster::Reason::kAffinity:
      return nodes + (one ? " is" : " are") + " near no pod that its pods must be near";
    case cluster::Reason::kSpread:
      return nodes + " would break the spread over " + detail;
    case cluster::Reason::kVolumeInUse:
      return "a volume of theirs is in use elsewhere, which keeps them from " + nodes;
    case cluster::Reason::kNone:
      break;
  }
  return nodes + " fit";
}

}  // namespace

std::string RefusedText(const gang::RefusedNodes& refused) {
  return Refused(refused.reason, refused.detail, Nodes(refused.nodes), refused.nodes == 1);
}

std::string RefusedText(cluster::Reason reason, const std::string& detail) {
  return Refused(reason, detail, "it", /*one=*/true);
}

namespace {

// The code of a rule between pods; null for every other reason.
const char* RuleCode(cluster::Reason reason) {
  switch (reason) {
    case cluster::Reason::kAntiAffinity:
      return "AntiAffinity";
    case cluster::Reason::kAffinity:
      return "Affinity";
    case cluster::Reason::kSpread:
      return "TopologySpread";
    case cluster::Reason::kNoTopology:
      return "NoMatchingNode";
    case cluster::Reason::kVolumeInUse:
      return "VolumeInUse";
    default:
      return nullptr;
  }
}

std::string Clauses(const gang::NoFit& no_fit) {
  std::string text;
  for (const gang::ClassFit& fit : no_fit.classes) {
    if (fit.seats >= fit.wanted && no_fit.classes.size() > 1) continue;
    for (const gang::RefusedNodes& refused : fit.refused)
      text += (text.empty() ? "" : ", ") + RefusedText(refused);
    if (!text.empty()) return text;
  }
  return text;
}

std::string HeldBy(std::string_view resource, const std::vector<Holder>& holders) {
  std::string text;
  for (size_t i = 0; i < holders.size() && i < 3; ++i) {
    text += (i == 0 ? "; " : ", ") + holders[i].gang + " holds " + QuantityText(resource, holders[i].amount);
  }
  if (holders.size() > 3)
    text += ", " + std::to_string(holders.size() - 3) +
            (holders.size() == 4 ? " more holds the rest" : " more hold the rest");
  return text;
}

// Some class finds no node that would take it, whatever is free.
bool NoNodeMatches(const gang::NoFit& no_fit) {
  for (const gang::ClassFit& fit : no_fit.classes) {
    if (fit.seats > 0 || fit.wanted == 0) continue;
    bool only_rules = true;
    for (const gang::RefusedNodes& refused : fit.refused) {
      only_rules &= refused.reason != cluster::Reason::kResource &&
                    refused.reason != cluster::Reason::kPods && refused.reason != cluster::Reason::kHostPort;
    }
    if (only_rules) return true;
  }
  return false;
}

// No role lacks a seat and no resource is short, but roles want the same places.
bool RolesGetInTheWay(const gang::NoFit& no_fit) {
  bool short_of = no_fit.shortest && no_fit.shortest->needed > no_fit.shortest->free;
  return no_fit.classes.size() > 1 && !short_of &&
         std::ranges::all_of(no_fit.classes, [](const auto& fit) { return fit.seats >= fit.wanted; });
}

// A class whose pods exclude each other by a host port, and that finds too few nodes.
const gang::ClassFit* OnePerNode(const gang::NoFit& no_fit) {
  for (const gang::ClassFit& fit : no_fit.classes) {
    if (fit.seats < fit.wanted && !fit.host_ports.empty()) return &fit;
  }
  return nullptr;
}

std::string Pods(int64_t count) { return std::to_string(count) + (count == 1 ? " pod" : " pods"); }

// "its 8 pods keep apart by kubernetes.io/hostname: room for 4".
std::string LimitText(const gang::RuleLimit& limit) {
  std::string text = "its " + Pods(limit.wanted);
  if (limit.topology_key == cluster::kWholeCluster)
    return text + " share a ReadWriteOncePod claim: room for " + std::to_string(limit.most);
  if (limit.topology_key == cluster::kSameNode && limit.reason == cluster::Reason::kAffinity)
    return text + " share a ReadWriteOnce volume, so one node: room for " + std::to_string(limit.most);
  if (limit.reason == cluster::Reason::kAntiAffinity) {
    text += " keep apart by " + limit.topology_key;
  } else if (limit.reason == cluster::Reason::kAffinity) {
    text += " must share one value of " + limit.topology_key;
  } else {
    text += " spread over " + limit.topology_key + " with maxSkew " + std::to_string(limit.max_skew);
  }
  return text + ": room for " + std::to_string(limit.most);
}

// Rules between pods that leave too few seats, if that is why: as a code and a sentence.
std::optional<api::GangReason> PodRules(const gang::NoFit& no_fit, bool enough_free) {
  if (!no_fit.related) return {};
  std::string clauses = Clauses(no_fit);
  if (no_fit.limit) {
    return api::GangReason{RuleCode(no_fit.limit->reason),
                           LimitText(*no_fit.limit) + (clauses.empty() ? "" : "; " + clauses)};
  }
  bool too_few = false;
  for (const gang::ClassFit& fit : no_fit.classes) {
    if (fit.seats >= fit.wanted) continue;
    too_few = true;
    for (const gang::RefusedNodes& refused : fit.refused) {
      if (RuleCode(refused.reason) == nullptr) continue;
      return api::GangReason{RuleCode(refused.reason),
                             "its " + Pods(fit.wanted) + (fit.wanted == 1 ? " finds " : " find ") +
                                 std::to_string(fit.seats) + (fit.seats == 1 ? " seat: " : " seats: ") +
                                 clauses};
    }
  }
  if (too_few || !enough_free) return {};
  return api::GangReason{"PodRules", std::string("the rules of its pods about other pods ") +
                                         (no_fit.proved ? "leave no placement for all of them"
                                                        : "left no placement that a bounded search found")};
}

std::string PortsText(const std::vector<int32_t>& ports) {
  std::string text = ports.size() == 1 ? "host port" : "host ports";
  for (size_t i = 0; i < ports.size(); ++i) text += (i == 0 ? " " : ", ") + std::to_string(ports[i]);
  return text;
}

}  // namespace

std::string AmountText(std::string_view resource, kube::Amount amount) {
  return QuantityText(resource, amount) + " " + std::string(resource);
}

api::GangReason ExplainQuota(const cluster::QuotaLack& lack) {
  std::string asks = "asks for " + AmountText(lack.resource, lack.asked);
  if (lack.never) {
    return {"QuotaTooSmall", "can never start: " + asks + ", quota " + lack.quota + " allows " +
                                 QuantityText(lack.resource, lack.hard)};
  }
  if (lack.unknown)
    return {"QuotaUnknown",
            "quota " + lack.quota + ": nobody has counted yet what of " + lack.resource + " is used"};
  return {"QuotaExceeded", "quota " + lack.quota + ": " + asks + ", used " +
                               QuantityText(lack.resource, lack.used) + " of " +
                               QuantityText(lack.resource, lack.hard)};
}

// "4 nodes are cordoned": what a person took away for a while, and may give back.
std::string AwayText(const gang::NoFit& no_fit) {
  std::map<cluster::Reason, int32_t> away;
  for (const gang::ClassFit& fit : no_fit.classes) {
    for (const gang::RefusedNodes& refused : fit.refused) {
      if (refused.reason == cluster::Reason::kUnschedulable || refused.reason == cluster::Reason::kNotReady)
        away[refused.reason] = std::max(away[refused.reason], refused.nodes);
    }
  }
  std::string text;
  for (const auto& [reason, nodes] : away)
    text += (text.empty() ? "" : ", ") + RefusedText({reason, "", nodes});
  return text;
}

namespace {

api::GangReason Tell(const gang::NoFit& no_fit, const std::vector<Holder>& holders) {
  std::string away = AwayText(no_fit);
  std::string never = !no_fit.never  ? ""
                      : away.empty() ? "can never run here: "
                                     : "can't run while " + away + ": ";
  std::string code = no_fit.never ? "Impossible" : "";
  if (no_fit.nodes == 0) return {no_fit.never ? code : "NoNodes", never + "the cluster has no nodes"};
  bool enough = !no_fit.shortest || no_fit.shortest->needed <= no_fit.shortest->free;
  if (std::optional<api::GangReason> rules = PodRules(no_fit, enough)) {
    return {no_fit.never ? code : rules->code, never + rules->message};
  }
  if (NoNodeMatches(no_fit)) {
    return {no_fit.never ? code : "NoMatchingNode", never + "no node takes its pods: " + Clauses(no_fit)};
  }
  if (RolesGetInTheWay(no_fit)) {
    return {no_fit.never ? code : "Fragmented",
            never + "each of its roles would fit alone, but not all of them together"};
  }
  if (const gang::ClassFit* fit = OnePerNode(no_fit); fit != nullptr && enough) {
    std::string clauses = Clauses(no_fit);
    return {no_fit.never ? code : "HostPortInUse",
            never + std::to_string(fit->wanted) + " of its pods want " + PortsText(fit->host_ports) +
                ", so each its own node; " + Nodes(static_cast<int32_t>(fit->seats)) +
                (fit->seats == 1 ? " has" : " have") + " a seat" + (clauses.empty() ? "" : ": " + clauses)};
  }
  if (!no_fit.shortest) {
    return {no_fit.never ? code : "NoSeats", never + "not enough seats for all pods: " + Clauses(no_fit)};
  }
  const gang::Supply& supply = *no_fit.shortest;
  std::string needs = "needs " + AmountText(supply.resource, supply.needed) + ", ";
  if (supply.needed <= supply.free) {
    return {no_fit.never ? code : "Fragmented", never + needs + QuantityText(supply.resource, supply.free) +
                                                    " free, but in too small pieces: " + Clauses(no_fit)};
  }
  if (no_fit.never) {
    return {code, never + needs + "the nodes it may use have " + QuantityText(supply.resource, supply.free)};
  }
  return {"InsufficientResources",
          needs + QuantityText(supply.resource, supply.free) + " free" + HeldBy(supply.resource, holders)};
}

}  // namespace

api::GangReason ExplainNoFit(const gang::NoFit& no_fit, const std::vector<Holder>& holders) {
  api::GangReason reason = Tell(no_fit, holders);
  if (!no_fit.proved && !no_fit.related)
    reason.message += "; not proved: the search ended after " + std::to_string(gang::kExactWork) + " steps";
  return reason;
}

}  // namespace lockstep::explain
