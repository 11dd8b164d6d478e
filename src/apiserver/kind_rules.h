#pragma once

#include <optional>
#include <string>

#include "apiserver/errors.h"
#include "json/doc.h"
#include "kube/api/resource.h"

// The rules of each kind that a kube-apiserver calls its "strategy".
namespace lockstep::apiserver {

bool HasStatus(const kube::Resource& resource);             // the status subresource
bool AllowsCreateOnUpdate(const kube::Resource& resource);  // PUT of a missing object makes it
bool AllowsBlindUpdate(const kube::Resource& resource);     // PUT without a resourceVersion
// Whether a DELETE that removes the object at once answers with it rather than with a Status.
bool ReturnsDeleted(const kube::Resource& resource);

// Null members don't exist for typed kinds, and metadata has a bounded shape. The text of the 400, or none.
std::optional<std::string> Decode(const kube::Resource& resource, json::Doc& object);

// Both run after admission. `serial` tells apart what must be unique (cluster addresses).
void PrepareForCreate(const kube::Resource& resource, json::Doc& object, uint64_t serial);
void PrepareForUpdate(const kube::Resource& resource, json::Doc& object, const json::Doc& old);
// A write to the status subresource: everything but the status is as it was. Pods and nodes also take labels
// and annotations by this way.
void PrepareForStatusUpdate(const kube::Resource& resource, json::Doc& object, const json::Doc& old);

Causes CheckCreate(const kube::Resource& resource, const json::Doc& object);
Causes CheckUpdate(const kube::Resource& resource, const json::Doc& object, const json::Doc& old);

}  // namespace lockstep::apiserver
