#include "kube/model/taint.h"

#include <algorithm>

#include "kube/model/reader.h"

namespace lockstep::kube {

using json::Doc;

bool Toleration::Tolerates(const Taint& taint) const {
  if (!effect.empty() && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  if (op == "Exists") return true;
  return (op.empty() || op == "Equal") && value == taint.value;
}

const Taint* FirstUntolerated(const std::vector<Taint>& taints, const std::vector<Toleration>& tolerations) {
  for (const Taint& taint : taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    if (std::ranges::none_of(tolerations, [&](const Toleration& t) { return t.Tolerates(taint); })) {
      return &taint;
    }
  }
  return nullptr;
}

std::vector<Taint> ParseTaints(const Doc* taints) {
  std::vector<Taint> parsed;
  if (taints == nullptr || !taints->is_array()) return parsed;
  for (const Doc& taint : *taints) {
    if (!taint.is_object()) continue;
    parsed.push_back({.key = json::GetString(taint, "key"),
                      .value = json::GetString(taint, "value"),
                      .effect = json::GetString(taint, "effect")});
  }
  return parsed;
}

Result<std::vector<Toleration>> ParseTolerations(const Doc* tolerations) {
  std::vector<Toleration> parsed;
  if (tolerations == nullptr || tolerations->is_null()) return parsed;
  if (!tolerations->is_array()) {
    return Error{std::string("tolerations: must be an array, is ") + tolerations->type_name()};
  }
  Reader read;
  for (const Doc& element : *tolerations) {
    std::string path = Join("tolerations", parsed.size());
    if (!element.is_object()) return Error{path + ": must be an object, is " + element.type_name()};
    parsed.push_back({.key = read.Text(element, path, "key"),
                      .op = read.Text(element, path, "operator"),
                      .value = read.Text(element, path, "value"),
                      .effect = read.Text(element, path, "effect"),
                      .seconds = read.Int(element, path, "tolerationSeconds")});
  }
  if (read.error()) return *read.error();
  return parsed;
}

}  // namespace lockstep::kube
