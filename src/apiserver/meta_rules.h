#pragma once

#include "apiserver/errors.h"
#include "base/time.h"
#include "json/doc.h"
#include "kube/api/resource.h"

// The rules of metav1.ObjectMeta, the same for every kind.
// Source: k8s.io/apimachinery/pkg/api/validation/objectmeta.go, k8s.io/apiserver/pkg/registry/rest.
namespace lockstep::apiserver {

// Whether metadata.generation counts the changes of a kind's spec.
bool CountsGenerations(const kube::Resource& resource);

// Everything that a client may not choose: uid, creationTimestamp, generation and no trace of a deletion.
void FillSystemFields(const kube::Resource& resource, json::Doc& object, std::string uid, WallTime now);

// Restores what an update may not change.
void KeepSystemFields(json::Doc& object, const json::Doc& old);

Causes CheckMeta(const kube::Resource& resource, const json::Doc& object);
Causes CheckMetaUpdate(const json::Doc& object, const json::Doc& old);

// Marks the object as being deleted; false if it already was. `grace` in seconds.
bool MarkDeleting(json::Doc& object, WallTime now, int64_t grace);

}  // namespace lockstep::apiserver
