#pragma once

#include <optional>
#include <string>

#include "apiserver/errors.h"
#include "json/doc.h"

// What a kube-apiserver does with Pods. Source: k8s.io/kubernetes pkg/apis/core/{v1/defaults.go,validation},
// pkg/registry/core/pod/strategy.go, plugin/pkg/admission/defaulttolerationseconds.
namespace lockstep::apiserver {

// Fields that every stored pod has. Resource requests default to the limits. `spec` may be missing.
void SetPodDefaults(json::Doc& pod);

// Tolerations for not-ready and unreachable nodes, 300 s, unless the pod has its own.
void AddDefaultTolerations(json::Doc& pod);

// A new pod's status: Pending and its quality-of-service class, whatever the client sent.
void ResetPodStatus(json::Doc& pod);

// A pod that doesn't decode (a list where an object must be, a quantity that is none): the text of the 400.
std::optional<std::string> CheckPodShape(const json::Doc& pod);

Causes CheckPod(const json::Doc& pod);

// Of a write to the pod itself (not to its status): images, activeDeadlineSeconds and more tolerations may
// change, nothing else of the spec; spec.nodeName never.
Causes CheckPodUpdate(const json::Doc& pod, const json::Doc& old);

}  // namespace lockstep::apiserver
