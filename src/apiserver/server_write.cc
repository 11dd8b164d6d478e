#include <algorithm>
#include <cstdio>

#include "apiserver/kind_rules.h"
#include "apiserver/meta_rules.h"
#include "apiserver/pod_rules.h"
#include "apiserver/priority.h"
#include "apiserver/server.h"
#include "base/hash.h"
#include "json/patch.h"
#include "kube/model/pod.h"

namespace lockstep::apiserver {

using json::Doc;
using kube::Request;
using kube::Response;
using kube::Status;

namespace {

constexpr std::string_view kPatchTypes =
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json-patch+json, "
    "application/merge-patch+json, application/apply-patch+yaml";

// What the server says of a patch that can't be applied.
Status UnusablePatch(const std::string& why) {
  Status status =
      kube::ErrorStatus(422, "Invalid", "the server rejected our request due to an error in our request");
  status.causes.push_back({"UnexpectedServerResponse", why, ""});
  return status;
}

std::optional<Status> ApplyPatch(const Request& request, Doc& object) {
  if (request.patch == kube::PatchType::kStrategicMerge && IsCustom(*request.resource)) {
    return kube::ErrorStatus(415, "UnsupportedMediaType", std::string(kPatchTypes));
  }
  Result<Doc> patch = json::Parse(request.body);
  if (!patch.ok()) return BadRequest("error decoding patch: " + patch.error().message);
  bool list = request.patch == kube::PatchType::kJson;
  if (list ? !patch->is_array() : !patch->is_object()) {
    return BadRequest(std::string("error decoding patch: must be ") + (list ? "a list" : "an object"));
  }
  Outcome failed;
  if (list) {
    failed = json::JsonPatch(object, *patch);
  } else if (request.patch == kube::PatchType::kStrategicMerge) {
    failed = json::StrategicMergePatch(object, *patch);
  } else {
    json::MergePatch(object, *patch);
  }
  if (failed) return UnusablePatch(failed->message);
  if (!object.is_object()) return UnusablePatch("the patched object is no object");
  return std::nullopt;
}

// Source: k8s.io/apiserver/pkg/registry/generic/registry Store.Update.
std::optional<Status> CheckVersion(const Request& request, const Object& old, const Doc& object) {
  const kube::Resource& resource = *request.resource;
  std::string version = json::GetString(object, "metadata.resourceVersion");
  uint64_t told = 0;
  if (!ParseRevision(version, told)) {
    return Invalid(
        resource, old.name,
        {InvalidValue("metadata.resourceVersion", Quoted(version), "must be an unsigned integer")});
  }
  if (told == 0 && !AllowsBlindUpdate(resource)) {
    // The real server names the plural where other Invalids name the kind.
    kube::Resource by_plural = resource;
    by_plural.kind = resource.plural;
    return Invalid(by_plural, old.name,
                   {InvalidValue("metadata.resourceVersion", "0x0", "must be specified for an update")});
  }
  std::string uid = json::GetString(object, "metadata.uid");
  if (!uid.empty() && uid != old.uid) {
    return Conflict(
        resource, old.name,
        "StorageError: invalid object, Code: 4, Key: /registry/" + std::string(resource.plural) + "/" +
            old.key + ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: " +
            uid + ", UID in object meta: " + old.uid);
  }
  if (told != 0 && told != old.revision) return Modified(resource, old.name);
  return std::nullopt;
}

// Whether an update that took the last finalizer removes the object. Source: ShouldDeleteDuringUpdate.
bool Finished(const Object& old, const Doc& object) {
  const Doc* finalizers = json::Find(object, "metadata.finalizers");
  return old.deleting && (finalizers == nullptr || finalizers->empty()) &&
         json::GetInt(object, "metadata.deletionGracePeriodSeconds") == 0 &&
         &*old.resource != &kube::kNamespaces;
}

}  // namespace

std::string Server::NewUid() {
  ++serial_;
  char text[40];
  uint64_t mixed = StableHash("uid", serial_ * 0x9e3779b97f4a7c15u);
  std::snprintf(text, sizeof text, "%08x-%04x-4%03x-8%03x-%012llx", static_cast<unsigned>(mixed >> 32),
                static_cast<unsigned>(mixed >> 16 & 0xffff), static_cast<unsigned>(mixed >> 4 & 0xfff),
                static_cast<unsigned>(serial_ >> 48 & 0xfff),
                static_cast<unsigned long long>(serial_ & 0xffffffffffffull));
  return text;
}

// Five characters without vowels, as k8s.io/apiserver/pkg/storage/names makes them.
std::string Server::GenerateName(const Call& call, std::string base) {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  base.resize(std::min<size_t>(base.size(), 58));
  while (true) {
    uint64_t mixed = StableHash(base, ++serial_ * 0x9e3779b97f4a7c15u) >> 8;
    std::string name = base;
    for (int i = 0; i < 5; ++i, mixed /= kLetters.size()) name += kLetters[mixed % kLetters.size()];
    std::string key = call.resource.namespaced ? call.request.ns + "/" + name : name;
    if (!store_.Find(call.resource, key)) return name;
  }
}

Response Server::Create(const Call& call) {
  Result<Doc, Status> object = ReadObject(call.resource, call.request.body);
  if (!object.ok()) return Refuse(object.error());
  return CreateObject(call, *std::move(object));
}

Response Server::CreateObject(const Call& call, Doc object) {
  Doc& metadata = object["metadata"];
  if (call.resource.namespaced) {
    std::string ns = json::GetString(metadata, "namespace");
    if (!ns.empty() && ns != call.request.ns) {
      return Refuse(BadRequest(
          "the namespace of the provided object does not match the namespace sent on the request"));
    }
    metadata["namespace"] = call.request.ns;
  } else {
    metadata.erase("namespace");
  }
  if (metadata.contains("resourceVersion")) {
    return Refuse(kube::ErrorStatus(500, "", "resourceVersion should not be set on objects to be created"));
  }
  std::string name = json::GetString(metadata, "name");
  std::string base = json::GetString(metadata, "generateName");
  if (name.empty() && !base.empty()) metadata["name"] = name = GenerateName(call, base);
  if (auto status = CheckNamespace(call, name)) return Refuse(*std::move(status));
  if (auto status = Mutate(call, object)) return Refuse(*std::move(status));
  if (auto status = AdmitCreate(call, object)) return Refuse(*std::move(status));

  std::string key = call.resource.namespaced ? call.request.ns + "/" + name : name;
  if (store_.Find(call.resource, key)) return Refuse(AlreadyExists(call.resource, name));
  if (call.request.dry_run) {
    std::string text = TextWithoutRevision(call.resource, object);
    return {kube::OkStatus(201), std::move(text), std::make_shared<const Doc>(std::move(object))};
  }
  for (Doc& quota : Quotas::Charged(store_, call.resource, object))
    Put(kube::kResourceQuotas, std::move(quota));
  return Answer(201, *Put(call.resource, std::move(object)).after);
}

std::optional<Status> Server::AdmitCreate(const Call& call, Doc& object) {
  if (&call.resource == &kube::kPods) {
    if (mutators_.contains(&call.resource)) {  // again for what a webhook added
      if (auto fault = CheckPodShape(object)) return BadRequest(*fault);
      SetPodDefaults(object);
    }
    AddDefaultTolerations(object);
    if (auto status = AdmitPriority(store_, object)) return status;
  }
  FillSystemFields(call.resource, object, NewUid(), call.now.wall);
  PrepareForCreate(call.resource, object, serial_);
  if (auto status = Validate(call, object, CheckCreate(call.resource, object))) return status;
  if (&call.resource == &kube::kPods) {
    Result<kube::Pod> typed = kube::ParsePod(object);
    if (!typed.ok())
      return BadRequest("Pod in version \"v1\" cannot be handled as a Pod: " + typed.error().message);
  }
  return Quotas::Check(store_, call.resource, object);
}

std::optional<Status> Server::CheckNamespace(const Call& call, std::string_view name) const {
  if (!call.resource.namespaced) return std::nullopt;
  ObjectPtr ns = store_.Find(kube::kNamespaces, call.request.ns);
  if (!ns) {
    if (!options_.require_namespaces || call.request.ns == "default") return std::nullopt;
    return NotFound(kube::kNamespaces, call.request.ns);
  }
  if (!ns->deleting) return std::nullopt;
  Status status = Forbidden(
      call.resource, name,
      "unable to create new content in namespace " + call.request.ns + " because it is being terminated");
  status.causes.push_back({"NamespaceTerminating", "namespace " + call.request.ns + " is being terminated",
                           "metadata.namespace"});
  return status;
}

std::optional<Status> Server::Mutate(const Call& call, Doc& object) {
  auto mutator = mutators_.find(&call.resource);
  if (mutator == mutators_.end() || !mutator->second) return std::nullopt;
  return mutator->second(object, call.request);
}

std::optional<Status> Server::Validate(const Call& call, const Doc& object, Causes causes) const {
  auto validator = validators_.find(&call.resource);
  if (validator != validators_.end() && validator->second) {
    Causes more = validator->second(object);
    causes.insert(causes.end(), more.begin(), more.end());
  }
  if (causes.empty()) return std::nullopt;
  return Invalid(call.resource, json::GetString(object, "metadata.name"), std::move(causes));
}

// Source: pkg/registry/core/pod/storage BindingREST.
Response Server::Bind(const Call& call) {
  Result<Doc> binding = json::Parse(call.request.body);
  if (!binding.ok()) return Refuse(BadRequest(binding.error().message));
  std::string node = json::GetString(*binding, "target.name");
  if (node.empty()) {
    Status status = Invalid(call.resource, call.request.name, {Required("target.name")});
    status.kind = "Binding";
    return Refuse(std::move(status));
  }
  ObjectPtr object = store_.Find(call.resource, call.key);
  if (!object) return Refuse(NotFound(call.resource, call.request.name));
  Doc pod = *object->Tree();
  std::string uid = json::GetString(*binding, "metadata.uid");
  std::string why;
  if (!uid.empty() && uid != object->uid) {
    why = "Precondition failed: UID in precondition: " + uid + ", UID in object meta: " + object->uid;
  } else if (object->deleting) {
    why = "pod " + object->name + " is being deleted, cannot be assigned to a host";
  } else if (std::string bound = json::GetString(pod, "spec.nodeName"); !bound.empty()) {
    why = "pod " + object->name + " is already assigned to node " + Quoted(bound);
  } else if (const Doc* gates = json::Find(pod, "spec.schedulingGates");
             gates != nullptr && !gates->empty()) {
    why = "pod " + object->name + " has non-empty .spec.schedulingGates";
  }
  if (!why.empty()) {
    Status status = Conflict(call.resource, object->name, why);
    status.message = "Operation cannot be fulfilled on pods/binding " + Quoted(object->name) + ": " + why;
    status.kind = "pods/binding";
    return Refuse(std::move(status));
  }
  pod["spec"]["nodeName"] = node;
  Doc& conditions = pod["status"]["conditions"];
  if (!conditions.is_array()) conditions = Doc::array();
  conditions.erase(std::remove_if(conditions.begin(), conditions.end(),
                                  [](const Doc& c) { return json::GetString(c, "type") == "PodScheduled"; }),
                   conditions.end());
  conditions.push_back({{"type", "PodScheduled"},
                        {"status", "True"},
                        {"lastProbeTime", nullptr},
                        {"lastTransitionTime", FormatTime(call.now.wall)}});
  if (!call.request.dry_run) Put(call.resource, std::move(pod));
  return Answer(201, json::Dump(kube::StatusDoc(kube::OkStatus(201))));
}

Response Server::Update(const Call& call) {
  if (call.request.subresource == "finalize") {
    ObjectPtr ns = store_.Find(call.resource, call.key);
    if (!ns || !ns->deleting) return Refuse(NotFound(call.resource, call.request.name));
    return FinishDelete(call, ns);
  }
  Result<Doc, Status> object = ReadObject(call.resource, call.request.body);
  if (!object.ok()) return Refuse(object.error());
  std::string name = json::GetString(*object, "metadata.name");
  if (name != call.request.name) {
    return Refuse(BadRequest("the name of the object (" + name + ") does not match the name on the URL (" +
                             call.request.name + ")"));
  }
  std::string ns = json::GetString(*object, "metadata.namespace");
  if (!ns.empty() && ns != call.request.ns) {
    return Refuse(BadRequest("the namespace of the object (" + ns +
                             ") does not match the namespace on the URL (" + call.request.ns + ")"));
  }
  ObjectPtr old = store_.Find(call.resource, call.key);
  if (!old) {
    bool creates = AllowsCreateOnUpdate(call.resource) && call.request.subresource.empty() &&
                   !(*object)["metadata"].contains("resourceVersion");
    return creates ? CreateObject(call, *std::move(object)) : Refuse(NotFound(call.resource, name));
  }
  return Replace(call, old, *old->Tree(), *std::move(object));
}

Response Server::Patch(const Call& call) {
  ObjectPtr old = store_.Find(call.resource, call.key);
  if (!old) return Refuse(NotFound(call.resource, call.request.name));
  // A merge patch of a status is by far the most frequent write; its object's spec need not be read.
  bool without_spec = call.request.subresource == "status" && call.request.patch == kube::PatchType::kMerge &&
                      !validators_.contains(&call.resource) && old->tree == nullptr;
  json::DocPtr before = without_spec ? std::make_shared<const Doc>(old->ParseWithoutSpec()) : old->Tree();
  Doc object = *before;
  if (auto status = ApplyPatch(call.request, object)) return Refuse(*std::move(status));
  if (without_spec) object.erase("spec");
  if (auto fault = Decode(call.resource, object)) return Refuse(BadRequest(*fault));
  if (without_spec) object.erase("spec");  // what was defaulted
  std::string name = json::GetString(object, "metadata.name");
  if (name != old->name) {
    return Refuse(BadRequest("the name of the object (" + name + ") does not match the name on the URL (" +
                             old->name + ")"));
  }
  if (json::GetString(object, "metadata.resourceVersion").empty()) {
    object["metadata"]["resourceVersion"] = std::to_string(old->revision);
  }
  return Replace(call, old, *before, std::move(object), without_spec);
}

Response Server::Replace(const Call& call, const ObjectPtr& old, const Doc& before, Doc object,
                         bool without_spec) {
  if (auto status = CheckVersion(call.request, *old, object)) return Refuse(*std::move(status));
  bool status_only = call.request.subresource == "status";
  object["apiVersion"] = before.at("apiVersion");
  object["kind"] = before.at("kind");
  KeepSystemFields(object, before);
  if (!status_only) {
    if (auto status = Mutate(call, object)) return Refuse(*std::move(status));
  }
  Causes causes;
  if (status_only) {
    PrepareForStatusUpdate(call.resource, object, before);
    if (object["metadata"] != before.at("metadata")) causes = CheckMeta(call.resource, object);
  } else {
    PrepareForUpdate(call.resource, object, before);
    causes = CheckUpdate(call.resource, object, before);
  }
  if (auto status = Validate(call, object, std::move(causes))) return Refuse(*std::move(status));
  object["metadata"]["resourceVersion"] = before.at("metadata").at("resourceVersion");
  bool finished = Finished(*old, object);
  // A write that changes nothing is no write: watchers see none of it.
  if (object == before && !finished) return Answer(200, *old);
  const Object* spec_from = without_spec ? old.get() : nullptr;
  if (!finished && !call.request.dry_run) {
    return Answer(200, *Put(call.resource, std::move(object), spec_from).after);
  }
  if (finished && !call.request.dry_run) Remove(call.resource, call.key);
  uint64_t revision = finished ? store_.revision() : old->revision;
  return Answer(200, *MakeObject(call.resource, std::move(object), revision, spec_from));
}

}  // namespace lockstep::apiserver
