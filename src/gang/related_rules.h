#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cluster/nodes.h"
#include "gang/need.h"

namespace lockstep::gang {

// The rules between pods that bear on one gang, with what the pods that are there already count for them.
//
// A kind is an index into the gang's kinds: pods of one class and one identity. A topology is an index into
// RuleTable::topologies; a domain is as in cluster::Domains.
// Source of all semantics: kube-scheduler 1.34, plugins InterPodAffinity and PodTopologySpread.

// Domains that no pod of a kind may join, because of pods that are there: their anti-affinity against ours,
// or ours against them.
struct Blocked {
  size_t topology = 0;
  std::vector<uint8_t> domains;
};

// Required affinity of a kind, all terms of a pod together; or a volume that all its pods must be on one node
// for. Each term is met in a domain with a pod that matches *all* terms. Where there
// is no such pod at all, the first one that matches its own terms may go anywhere.
struct NearRule {
  struct Term {
    size_t topology = 0;
    std::vector<int32_t> pods;  // matching, by domain
  };
  std::vector<Term> terms;
  int64_t any = 0;            // sum over all terms and domains
  std::vector<bool> matches;  // by kind: its pods count too
};

// A topology spread constraint: after a pod has joined, its domain may have at most `max_skew` matching pods
// more than the domain with the fewest.
struct SpreadCount {
  size_t topology = 0;
  int32_t max_skew = 1;
  bool self = false;                 // the kind's own pods match
  bool fewest_is_zero = false;       // by minDomains
  std::vector<int32_t> pods;         // matching, by domain
  std::vector<uint8_t> counted;      // by domain: it has a node that counts
  std::vector<uint8_t> node_counts;  // by node slot
  std::vector<bool> matches;         // by kind
};

// Pods of `kind` can't share a domain with those of the kind that has this rule.
struct ApartRule {
  size_t topology = 0;
  size_t kind = 0;

  friend auto operator<=>(const ApartRule&, const ApartRule&) = default;
};

struct KindRules {
  std::vector<Blocked> blocked;
  std::vector<size_t> labels;  // topologies whose label a node must have
  std::vector<NearRule> near;  // each to be met
  std::vector<SpreadCount> spread;
  std::vector<ApartRule> apart;
};

struct Topology {
  std::string key;  // of a label; or see cluster::kSameNode, kWholeCluster
  std::shared_ptr<const cluster::Domains> domains;
};

struct RuleTable {
  std::vector<Topology> topologies;
  std::vector<KindRules> kinds;

  int32_t DomainOf(size_t topology, cluster::NodeId node) const {
    return topologies[topology].domains->of[node];
  }
  // Why `node` is out for the kind whatever the gang's own pods do, as far as rules between pods go.
  cluster::Reason RefuseByRules(size_t kind, cluster::NodeId node) const;
};

// `kinds` are distinct in class or identity.
RuleTable RulesOf(cluster::Nodes& nodes, cluster::View view, std::span<const RoleNeed> kinds);

}  // namespace lockstep::gang
