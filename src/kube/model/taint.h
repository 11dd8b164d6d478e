#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/doc.h"

namespace lockstep::kube {

struct Taint {
  std::string key, value, effect;  // effect: NoSchedule, PreferNoSchedule, NoExecute

  friend auto operator<=>(const Taint&, const Taint&) = default;
};

struct Toleration {
  std::string key;  // empty with Exists: every key
  std::string op;   // "Equal" (also "") or "Exists"
  std::string value;
  std::string effect;              // empty: every effect
  std::optional<int64_t> seconds;  // tolerationSeconds, for NoExecute

  bool Tolerates(const Taint& taint) const;
  friend auto operator<=>(const Toleration&, const Toleration&) = default;
};

// The first NoSchedule or NoExecute taint that no toleration covers, or null.
// Source: kube-scheduler TaintToleration.
const Taint* FirstUntolerated(const std::vector<Taint>& taints, const std::vector<Toleration>& tolerations);

std::vector<Taint> ParseTaints(const json::Doc* taints);
Result<std::vector<Toleration>> ParseTolerations(const json::Doc* tolerations);

}  // namespace lockstep::kube
