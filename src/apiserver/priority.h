#pragma once

#include <optional>

#include "apiserver/store.h"
#include "kube/api/status.h"

namespace lockstep::apiserver {

// Sets spec.priority and preemptionPolicy of a new pod from its PriorityClass, from the global default class,
// or to 0. The 403 when the class doesn't exist or the pod gives another number itself. Source:
// k8s.io/kubernetes plugin/pkg/admission/priority.
std::optional<kube::Status> AdmitPriority(const Store& store, json::Doc& pod);

}  // namespace lockstep::apiserver
