#include "apiserver/errors.h"

namespace lockstep::apiserver {

using kube::ErrorStatus;
using kube::Resource;
using kube::Status;

namespace {

// schema.GroupResource and GroupKind print alike: "pods", "pytorchjobs.kubeflow.org".
std::string Qualified(std::string_view word, std::string_view group) {
  return group.empty() ? std::string(word) : std::string(word) + "." + std::string(group);
}

Status About(const Resource& resource, std::string_view name, Status status) {
  status.name = name;
  status.group = resource.group;
  status.kind = resource.plural;
  return status;
}

std::string Named(const Resource& resource, std::string_view name) {
  return Qualified(resource.plural, resource.group) + " " + Quoted(name);
}

}  // namespace

std::string Quoted(std::string_view text) { return json::Dump(json::Doc(std::string(text))); }

Status NotFound(const Resource& resource, std::string_view name) {
  return About(resource, name, ErrorStatus(404, "NotFound", Named(resource, name) + " not found"));
}

Status AlreadyExists(const Resource& resource, std::string_view name) {
  return About(resource, name, ErrorStatus(409, "AlreadyExists", Named(resource, name) + " already exists"));
}

Status Conflict(const Resource& resource, std::string_view name, std::string_view why) {
  std::string message = "Operation cannot be fulfilled on " + Named(resource, name) + ": " + std::string(why);
  return About(resource, name, ErrorStatus(409, "Conflict", std::move(message)));
}

Status Modified(const Resource& resource, std::string_view name) {
  return Conflict(
      resource, name,
      "the object has been modified; please apply your changes to the latest version and try again");
}

Status Forbidden(const Resource& resource, std::string_view name, std::string_view why) {
  std::string message = Named(resource, name) + " is forbidden: " + std::string(why);
  return About(resource, name, ErrorStatus(403, "Forbidden", std::move(message)));
}

Status Invalid(const Resource& resource, std::string_view name, Causes causes) {
  std::string all;
  for (const Status::Cause& cause : causes) {
    if (!all.empty()) all += ", ";
    all += cause.field + ": " + cause.message;
  }
  if (causes.size() > 1) all = "[" + all + "]";
  Status status = ErrorStatus(
      422, "Invalid", Qualified(resource.kind, resource.group) + " " + Quoted(name) + " is invalid: " + all);
  status.name = name;
  status.group = resource.group;
  status.kind = resource.kind;
  status.causes = std::move(causes);
  return status;
}

Status BadRequest(std::string message) { return ErrorStatus(400, "BadRequest", std::move(message)); }

Status Expired(std::string message) { return ErrorStatus(410, "Expired", std::move(message)); }

Status NoSuchPath() {
  return ErrorStatus(404, "NotFound", "the server could not find the requested resource");
}

Status InternalError(std::string_view what) {
  Status status = ErrorStatus(500, "InternalError", "Internal error occurred: " + std::string(what));
  status.causes.push_back({"", std::string(what), ""});
  return status;
}

Status::Cause Required(std::string field, std::string_view why) {
  return {"FieldValueRequired", "Required value" + (why.empty() ? "" : ": " + std::string(why)),
          std::move(field)};
}

Status::Cause InvalidValue(std::string field, std::string_view shown, std::string_view why) {
  return {"FieldValueInvalid", "Invalid value: " + std::string(shown) + ": " + std::string(why),
          std::move(field)};
}

Status::Cause Unsupported(std::string field, std::string_view shown, std::string_view supported) {
  return {"FieldValueNotSupported",
          "Unsupported value: " + std::string(shown) + ": supported values: " + std::string(supported),
          std::move(field)};
}

Status::Cause Duplicate(std::string field, std::string_view shown) {
  return {"FieldValueDuplicate", "Duplicate value: " + std::string(shown), std::move(field)};
}

Status::Cause NotAllowed(std::string field, std::string_view why) {
  return {"FieldValueForbidden", "Forbidden: " + std::string(why), std::move(field)};
}

Status::Cause TooLong(std::string field, size_t limit) {
  return {"FieldValueTooLong", "Too long: may not be more than " + std::to_string(limit) + " bytes",
          std::move(field)};
}

}  // namespace lockstep::apiserver
