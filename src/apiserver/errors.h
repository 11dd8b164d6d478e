#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/api/resource.h"
#include "kube/api/status.h"

// The errors of a kube-apiserver with its own words: clients and people search for them. Every one carries
// the details (name, group, kind) that k8s.io/apimachinery/pkg/api/errors gives it.
namespace lockstep::apiserver {

using Causes = std::vector<kube::Status::Cause>;

kube::Status NotFound(const kube::Resource& resource, std::string_view name);
kube::Status AlreadyExists(const kube::Resource& resource, std::string_view name);
// 409 with `why` after "Operation cannot be fulfilled on pods "x": ".
kube::Status Conflict(const kube::Resource& resource, std::string_view name, std::string_view why);
// The conflict of a write with an old resourceVersion.
kube::Status Modified(const kube::Resource& resource, std::string_view name);
// 403 "pods "x" is forbidden: why".
kube::Status Forbidden(const kube::Resource& resource, std::string_view name, std::string_view why);
// 422 with one cause per field.
kube::Status Invalid(const kube::Resource& resource, std::string_view name, Causes causes);
kube::Status BadRequest(std::string message);
kube::Status Expired(std::string message);
kube::Status NoSuchPath();
kube::Status InternalError(std::string_view what);

// The causes of an Invalid, with the messages of k8s.io/apimachinery/pkg/util/validation/field. `shown` is
// the value as Go prints it: strings quoted (see Quoted), numbers bare.
kube::Status::Cause Required(std::string field, std::string_view why = "");
kube::Status::Cause InvalidValue(std::string field, std::string_view shown, std::string_view why);
kube::Status::Cause Unsupported(std::string field, std::string_view shown, std::string_view supported);
kube::Status::Cause Duplicate(std::string field, std::string_view shown);
kube::Status::Cause NotAllowed(std::string field, std::string_view why);  // "Forbidden: why"
kube::Status::Cause TooLong(std::string field, size_t limit);

std::string Quoted(std::string_view text);

}  // namespace lockstep::apiserver
