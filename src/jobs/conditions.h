#pragma once

#include <string>

#include "base/time.h"
#include "json/doc.h"

namespace lockstep::jobs {

// One entry of a kubeflow.org/v1 status.conditions.
struct Condition {
  std::string type;
  bool status = true;
  std::string reason, message;
};

// The list of conditions of `status`; made empty when it is missing or not a list.
json::Doc& ConditionsOf(json::Doc& status);

// Null if there is none of this type.
const json::Doc* FindCondition(const json::Doc& conditions, std::string_view type);
bool IsTrue(const json::Doc& conditions, std::string_view type);
void RemoveCondition(json::Doc& conditions, std::string_view type);

// Upstream's rules (training-operator pkg/util/status.go): nothing changes once Failed is True; the same
// type, status and reason changes nothing, not even the message; lastTransitionTime stays while the status
// does; the new condition goes last; Restarting and Running remove each other; Failed and Succeeded turn
// Running to False.
void SetCondition(json::Doc& conditions, const Condition& condition, WallTime now);

// For our own condition, which upstream knows nothing of: first in the list, and its message is kept true.
void SetFirstCondition(json::Doc& conditions, const Condition& condition, WallTime now);

}  // namespace lockstep::jobs
