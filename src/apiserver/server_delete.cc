#include <algorithm>

#include "apiserver/kind_rules.h"
#include "apiserver/meta_rules.h"
#include "apiserver/server.h"

namespace lockstep::apiserver {

using json::Doc;
using kube::Request;
using kube::Response;
using kube::Status;

namespace {

// Source: k8s.io/apiserver/pkg/registry/rest BeforeDelete. The group resource there carries the Kind.
std::optional<Status> CheckPreconditions(const Request& request, const Object& object) {
  auto conflict = [&](const std::string& why) {
    Status status = Conflict(*request.resource, object.name, why);
    std::string kind(request.resource->kind);
    if (!request.resource->group.empty()) kind += "." + std::string(request.resource->group);
    status.message = "Operation cannot be fulfilled on " + kind + " " + Quoted(object.name) + ": " + why;
    status.kind = request.resource->kind;
    return status;
  };
  if (!request.precondition_uid.empty() && request.precondition_uid != object.uid) {
    return conflict("the UID in the precondition (" + request.precondition_uid +
                    ") does not match the UID in record (" + object.uid +
                    "). The object might have been deleted and then recreated");
  }
  std::string revision = std::to_string(object.revision);
  if (!request.precondition_resource_version.empty() && request.precondition_resource_version != revision) {
    return conflict("the ResourceVersion in the precondition (" + request.precondition_resource_version +
                    ") does not match the ResourceVersion in record (" + revision +
                    "). The object might have been modified");
  }
  return std::nullopt;
}

// Seconds that the kubelet may take for this pod. Source: podStrategy.CheckGracefulDelete.
int64_t GraceOf(const Request& request, const Doc& pod) {
  std::string phase = json::GetString(pod, "status.phase");
  if (json::GetString(pod, "spec.nodeName").empty() || phase == "Succeeded" || phase == "Failed") return 0;
  int64_t grace = request.grace_seconds.value_or(json::GetInt(pod, "spec.terminationGracePeriodSeconds", 30));
  return grace < 0 ? 1 : grace;
}

// What a DELETE does to a pod before anything is removed. Grace may only shrink once a deletion is under way.
enum class Graceful { kNone, kPending, kUpdated };

Graceful MarkPod(const Request& request, Doc& pod, WallTime now) {
  if (MarkDeleting(pod, now, GraceOf(request, pod))) return Graceful::kUpdated;
  Doc& metadata = pod["metadata"];
  int64_t old_grace = json::GetInt(metadata, "deletionGracePeriodSeconds");
  if (!request.grace_seconds) return Graceful::kPending;
  int64_t grace = *request.grace_seconds < 0 ? 1 : *request.grace_seconds;
  if (grace >= old_grace) return Graceful::kPending;
  Result<WallTime> deadline = ParseTime(json::GetString(metadata, "deletionTimestamp"));
  metadata["deletionTimestamp"] = FormatTime((deadline.ok() ? *deadline : now) - seconds(old_grace - grace));
  metadata["deletionGracePeriodSeconds"] = grace;
  return Graceful::kUpdated;
}

// The finalizers that stand for a way of propagation.
void SetPropagation(const Request& request, Doc& metadata) {
  if (request.propagation.empty()) return;
  Doc kept = Doc::array();
  if (auto found = metadata.find("finalizers"); found != metadata.end()) {
    for (const Doc& finalizer : *found) {
      if (finalizer != "orphan" && finalizer != "foregroundDeletion") kept.push_back(finalizer);
    }
  }
  if (request.propagation == "Orphan") kept.push_back("orphan");
  if (request.propagation == "Foreground") kept.push_back("foregroundDeletion");
  if (kept.empty()) {
    metadata.erase("finalizers");
  } else {
    metadata["finalizers"] = std::move(kept);
  }
}

bool HasFinalizers(const kube::Resource& resource, const Doc& object) {
  const char* path = &resource == &kube::kNamespaces ? "spec.finalizers" : "metadata.finalizers";
  const Doc* namespaced = json::Find(object, path);
  const Doc* usual = json::Find(object, "metadata.finalizers");
  return (namespaced != nullptr && !namespaced->empty()) || (usual != nullptr && !usual->empty());
}

}  // namespace

Response Server::Delete(const Call& call) {
  const Request& request = call.request;
  ObjectPtr object = store_.Find(call.resource, call.key);
  if (!object) return Refuse(NotFound(call.resource, request.name));
  if (!request.propagation.empty() && request.propagation != "Background" &&
      request.propagation != "Foreground" && request.propagation != "Orphan") {
    return Refuse(Invalid(call.resource, request.name,
                          {Unsupported("propagationPolicy", Quoted(request.propagation),
                                       R"("Foreground", "Background", "Orphan", "")")}));
  }
  if (auto status = CheckPreconditions(request, *object)) return Refuse(*std::move(status));

  bool pod = &call.resource == &kube::kPods;
  bool changes = pod || !object->finalizers.empty() || &call.resource == &kube::kNamespaces ||
                 request.propagation == "Orphan" || request.propagation == "Foreground";
  if (!changes) return FinishDelete(call, object);

  const json::DocPtr tree = object->Tree();
  const Doc& before = *tree;
  Doc doc = before;
  if (pod) {
    if (MarkPod(request, doc, call.now.wall) == Graceful::kPending) return Answer(200, *object);
  }
  SetPropagation(request, doc["metadata"]);
  bool held = HasFinalizers(call.resource, doc);
  if (!pod && held) MarkDeleting(doc, call.now.wall, 0);
  if (&call.resource == &kube::kNamespaces && held) doc["status"]["phase"] = "Terminating";
  bool stays = held || (pod && json::GetInt(doc, "metadata.deletionGracePeriodSeconds") > 0);
  if (doc != before && (stays || pod)) {
    if (request.dry_run) return Answer(200, *MakeObject(call.resource, doc, object->revision));
    object = Put(call.resource, std::move(doc)).after;
  }
  return stays ? Answer(200, *object) : FinishDelete(call, object);
}

Response Server::FinishDelete(const Call& call, const ObjectPtr& object) {
  if (!call.request.dry_run) Remove(call.resource, call.key);
  if (ReturnsDeleted(call.resource)) {
    return Answer(200, call.request.dry_run ? object->bytes : object->BytesAt(store_.revision()));
  }
  Status done = kube::OkStatus();
  done.name = object->name;
  done.group = call.resource.group;
  done.kind = call.resource.plural;
  done.uid = object->uid;
  return Answer(200, json::Dump(kube::StatusDoc(done)));
}

}  // namespace lockstep::apiserver
