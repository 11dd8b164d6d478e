#include "kube/client/http_call.h"

#include "base/check.h"
#include "json/doc.h"

namespace lockstep::kube {
namespace {

class Target {
 public:
  explicit Target(std::string path) : text_(std::move(path)) {}

  // Left out when the value is empty.
  void Query(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    text_ += has_query_ ? '&' : '?';
    has_query_ = true;
    text_ += key;
    text_ += '=';
    text_ += PercentEncode(value);
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  bool has_query_ = false;
};

std::string Path(const Resource& resource, std::string_view ns, std::string_view name,
                 std::string_view subresource) {
  std::string path = resource.PathPrefix();
  if (resource.namespaced && !ns.empty()) path += "/namespaces/" + PercentEncode(ns);
  path += '/';
  path += resource.plural;
  if (!name.empty()) path += "/" + PercentEncode(name);
  if (!subresource.empty()) path += "/" + PercentEncode(subresource);
  return path;
}

const char* Method(Verb verb) {
  switch (verb) {
    case Verb::kGet:
    case Verb::kList:
      return "GET";
    case Verb::kCreate:
      return "POST";
    case Verb::kUpdate:
      return "PUT";
    case Verb::kPatch:
      return "PATCH";
    case Verb::kDelete:
      return "DELETE";
  }
  return "GET";
}

const char* ContentType(PatchType type) {
  switch (type) {
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategicMerge:
      return "application/strategic-merge-patch+json";
  }
  return "";
}

std::string DeleteOptions(const Request& request) {
  json::Doc options = {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  if (request.grace_seconds) options["gracePeriodSeconds"] = *request.grace_seconds;
  if (!request.precondition_uid.empty()) options["preconditions"]["uid"] = request.precondition_uid;
  if (!request.precondition_resource_version.empty()) {
    options["preconditions"]["resourceVersion"] = request.precondition_resource_version;
  }
  if (!request.propagation.empty()) options["propagationPolicy"] = request.propagation;
  if (request.dry_run) options["dryRun"] = {"All"};
  return json::Dump(options);
}

void AddListQuery(const Request& request, Target& target) {
  target.Query("labelSelector", request.label_selector);
  target.Query("fieldSelector", request.field_selector);
  if (request.limit > 0) target.Query("limit", std::to_string(request.limit));
  // A continued list goes on at the version of its first page; naming one is an error then. Without
  // resourceVersionMatch a limit would turn "at least this version" into "exactly this version".
  if (!request.continue_token.empty()) {
    target.Query("continue", request.continue_token);
  } else if (!request.resource_version.empty()) {
    target.Query("resourceVersion", request.resource_version);
    target.Query("resourceVersionMatch", "NotOlderThan");
  }
}

}  // namespace

HttpCall BuildCall(const Request& request, std::string_view field_manager, Duration server_timeout) {
  CHECK(request.resource != nullptr) << "a request without a resource";
  HttpCall call;
  call.method = Method(request.verb);
  Target target(Path(*request.resource, request.ns, request.name, request.subresource));
  switch (request.verb) {
    case Verb::kGet:
      target.Query("resourceVersion", request.resource_version);
      break;
    case Verb::kList:
      AddListQuery(request, target);
      break;
    case Verb::kCreate:
    case Verb::kUpdate:
    case Verb::kPatch:
      call.body = request.body;
      call.content_type = request.verb == Verb::kPatch ? ContentType(request.patch) : "application/json";
      target.Query("fieldManager", field_manager);
      break;
    case Verb::kDelete:
      call.body = DeleteOptions(request);
      call.content_type = "application/json";
      break;
  }
  if (request.dry_run) target.Query("dryRun", "All");
  if (auto whole = std::chrono::duration_cast<seconds>(server_timeout).count(); whole >= 1) {
    target.Query("timeout", std::to_string(whole) + "s");
  }
  call.target = target.Take();
  return call;
}

std::string WatchTarget(const WatchRequest& request, Duration timeout) {
  CHECK(request.resource != nullptr) << "a watch without a resource";
  Target target(Path(*request.resource, request.ns, "", ""));
  target.Query("watch", "1");
  target.Query("allowWatchBookmarks", "true");
  target.Query("labelSelector", request.label_selector);
  target.Query("fieldSelector", request.field_selector);
  target.Query("resourceVersion", request.resource_version);
  target.Query("timeoutSeconds", std::to_string(std::chrono::ceil<seconds>(timeout).count()));
  return target.Take();
}

std::string PercentEncode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                 c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

}  // namespace lockstep::kube
