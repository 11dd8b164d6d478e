#include "apiserver/server.h"

#include "apiserver/kind_rules.h"

namespace lockstep::apiserver {

using json::Doc;
using kube::Request;
using kube::Response;
using kube::Status;
using kube::Verb;

namespace {

// The limit of a real server's request bodies.
constexpr size_t kBodyLimit = 3 << 20;

std::string KeyOf(const Request& request) {
  return request.resource->namespaced ? request.ns + "/" + request.name : request.name;
}

bool ServesSubresource(const Request& request) {
  if (request.subresource.empty()) return true;
  if (request.subresource == "status") {
    return HasStatus(*request.resource) && request.verb != Verb::kCreate && request.verb != Verb::kDelete;
  }
  if (request.subresource == "binding")
    return request.resource == &kube::kPods && request.verb == Verb::kCreate;
  if (request.subresource == "finalize") {
    return request.resource == &kube::kNamespaces && request.verb == Verb::kUpdate;
  }
  return false;
}

}  // namespace

Response Answer(int code, std::string body) { return {kube::OkStatus(code), std::move(body)}; }

Response Answer(int code, const Object& object) { return {kube::OkStatus(code), object.bytes, object.tree}; }

Response Refuse(Status status) {
  std::string body = json::Dump(kube::StatusDoc(status));
  return {std::move(status), std::move(body)};
}

Result<Doc, Status> ReadObject(const kube::Resource& resource, std::string_view body) {
  std::string_view kind = resource.kind;
  auto undecodable = [&](std::string_view why) {
    return BadRequest(std::string(kind) + " in version " + Quoted(resource.version) +
                      " cannot be handled as a " + std::string(kind) + ": " + std::string(why));
  };
  Result<Doc> parsed = json::Parse(body);
  if (!parsed.ok()) return undecodable(parsed.error().message);
  Doc doc = *std::move(parsed);
  if (!doc.is_object()) return undecodable("must be an object");
  std::string version = json::GetString(doc, "apiVersion");
  if (!version.empty() && version != resource.ApiVersion()) {
    return BadRequest("the API version in the data (" + version +
                      ") does not match the expected API version (" + resource.ApiVersion() + ")");
  }
  std::string told = json::GetString(doc, "kind");
  if (!told.empty() && told != kind) {
    return BadRequest("the object provided is unrecognized (must be of type " + std::string(kind) +
                      "): is a " + told);
  }
  if (IsCustom(resource) && (version.empty() || told.empty())) {
    return BadRequest("the object provided is unrecognized (must be of type " + std::string(kind) +
                      "): couldn't get version/kind; json parse error");
  }
  doc["apiVersion"] = resource.ApiVersion();
  doc["kind"] = kind;
  if (auto fault = Decode(resource, doc)) return undecodable(*fault);
  return doc;
}

Server::Server(ServerOptions options) : options_(options), store_(options.history_limit) {}

Response Server::Handle(const Request& request, Now now, std::string_view user) {
  Response response = Dispatch(request, now);
  if (audit_) audit_({now, user, request, response});
  return response;
}

Response Server::Dispatch(const Request& request, Now now) {
  if (request.resource == nullptr || !ServesSubresource(request)) return Refuse(NoSuchPath());
  if (request.body.size() > kBodyLimit) {
    return Refuse(kube::ErrorStatus(413, "RequestEntityTooLarge",
                                    "Request entity too large: limit is " + std::to_string(kBodyLimit)));
  }
  Call call{request, *request.resource, now, KeyOf(request)};
  bool needs_name =
      request.verb != Verb::kList && (request.verb != Verb::kCreate || !request.subresource.empty());
  if (needs_name && request.name.empty()) return Refuse(BadRequest("name is required"));
  if (call.resource.namespaced && request.ns.empty() && request.verb != Verb::kList) {
    return Refuse(BadRequest("an empty namespace may not be set during creation"));
  }
  switch (request.verb) {
    case Verb::kGet:
      return Get(call);
    case Verb::kList:
      return List(call);
    case Verb::kCreate:
      return request.subresource == "binding" ? Bind(call) : Create(call);
    case Verb::kUpdate:
      return Update(call);
    case Verb::kPatch:
      return Patch(call);
    case Verb::kDelete:
      return Delete(call);
  }
  return Refuse(NoSuchPath());
}

Response Server::Get(const Call& call) const {
  ObjectPtr object = store_.Find(call.resource, call.key);
  if (!object) return Refuse(NotFound(call.resource, call.request.name));
  return Answer(200, *object);
}

const Change& Server::Put(const kube::Resource& resource, Doc doc, const Object* spec_from) {
  const Change& change = store_.Put(resource, std::move(doc), spec_from);
  if (options_.controllers) controllers_.Note(store_, change);
  hub_.Publish(change);
  return change;
}

void Server::Remove(const kube::Resource& resource, std::string_view key) {
  const Change& change = store_.Remove(resource, key);
  quotas_.Forget(change.before->uid);
  if (options_.controllers) controllers_.Note(store_, change);
  hub_.Publish(change);
}

bool Server::ClaimControllerWork() {
  if (controllers_claimed_ || controllers_.idle()) return false;
  controllers_claimed_ = true;
  return true;
}

void Server::RunControllers(Now now) {
  controllers_claimed_ = false;
  controllers_.Run(
      store_, [&](const Request& request) { return Handle(request, now, "system:kube-controller-manager"); },
      [&](const ObjectPtr& quota) { return quotas_.StatusOf(store_, quota); });
}

Result<WatchId, Status> Server::StartWatch(const kube::WatchRequest& request, WatchSink sink) {
  if (request.resource == nullptr) return NoSuchPath();
  const kube::Resource& resource = *request.resource;
  Result<Selection, Status> selection =
      ParseSelection(resource, request.ns, request.label_selector, request.field_selector);
  if (!selection.ok()) return selection.error();
  uint64_t from = 0;
  if (!ParseRevision(request.resource_version, from)) {
    return BadRequest("Invalid value: " + Quoted(request.resource_version) +
                      ": a resource version is a number");
  }
  if (from == 0) {
    for (const auto& [key, object] : store_.All(resource)) {
      if (selection->Matches(*object)) sink({kube::WatchEventType::kAdded, object, object->revision});
    }
  } else {
    uint64_t oldest = store_.oldest(resource);
    if (from < oldest) {
      return Expired("too old resource version: " + std::to_string(from) + " (" + std::to_string(oldest) +
                     ")");
    }
    for (const Change& change : store_.Since(resource, from)) {
      if (auto notice = Seen(change, *selection)) sink(*std::move(notice));
    }
  }
  return hub_.Add(resource, *std::move(selection), std::move(sink));
}

std::string Server::Bookmark(const kube::Resource& resource) const {
  return R"({"kind":")" + std::string(resource.kind) + R"(","apiVersion":")" + resource.ApiVersion() +
         R"(","metadata":{"resourceVersion":")" + std::to_string(revision()) + R"("}})";
}

}  // namespace lockstep::apiserver
