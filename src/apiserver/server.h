#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apiserver/controllers.h"
#include "apiserver/errors.h"
#include "apiserver/quota.h"
#include "apiserver/selection.h"
#include "apiserver/store.h"
#include "apiserver/watch_hub.h"
#include "base/time.h"
#include "kube/api/api.h"

namespace lockstep::apiserver {

struct ServerOptions {
  // Whether an object's namespace must exist. A real server insists; most scenarios have no use for it.
  bool require_namespaces = false;
  // Whether a kube-controller-manager is at work: garbage collection by owner, emptying of deleted
  // namespaces, status of quotas. Off, deleted owners leave their dependents behind, as on a bare control
  // plane.
  bool controllers = true;
  // How long the controllers take to notice.
  Duration controller_delay = milliseconds(50);
  // Changes remembered per kind; a watch from before them ends with 410.
  size_t history_limit = 10'000;
};

// One request as an audit log has it, after it was answered.
struct AuditRecord {
  Now now;
  std::string_view user;
  const kube::Request& request;
  const kube::Response& response;
};

// The semantics of a kube-apiserver over a Store, without I/O, threads or clocks: the same requests at the
// same times give the same answers, uids and resource versions included. memory_api.h puts a kube::Api in
// front.
//
// Known differences from a real server: unknown fields of built-in kinds are kept, managedFields are not
// written, server-side apply is not served.
class Server {
 public:
  // Changes an object on its way in, as a mutating webhook does; a Status refuses it. Called for creates and
  // updates of the object itself, dry runs included, before validation.
  using Mutator = std::function<std::optional<kube::Status>(json::Doc& object, const kube::Request& request)>;
  // What is wrong with an object; the schema of a custom resource.
  using Validator = std::function<Causes(const json::Doc& object)>;

  explicit Server(ServerOptions options = {});

  // `user` is who asks, for the audit; it grants and denies nothing.
  kube::Response Handle(const kube::Request& request, Now now, std::string_view user = "");

  // Feeds `sink` first with what happened after the request's resourceVersion (empty or "0": with every
  // object as ADDED), then with changes as they happen. The error of a bad selector is 400, of an old version
  // 410.
  Result<WatchId, kube::Status> StartWatch(const kube::WatchRequest& request, WatchSink sink);
  void StopWatch(WatchId id) { hub_.Remove(id); }
  // The object of a bookmark as of now: only metadata.resourceVersion.
  std::string Bookmark(const kube::Resource& resource) const;

  void SetMutator(const kube::Resource& resource, Mutator mutator) {
    mutators_[&resource] = std::move(mutator);
  }
  void SetValidator(const kube::Resource& resource, Validator validator) {
    validators_[&resource] = std::move(validator);
  }
  void SetAudit(std::function<void(const AuditRecord&)> audit) { audit_ = std::move(audit); }

  // True once whenever the controllers have something to do that nobody has taken on yet: the caller then
  // calls RunControllers after options().controller_delay.
  bool ClaimControllerWork();
  void RunControllers(Now now);

  // Forgets the history: every watch from before now is too old, and so is every continue token.
  void Compact() { store_.Compact(); }

  const ServerOptions& options() const { return options_; }
  const Store& store() const { return store_; }
  uint64_t revision() const { return store_.revision(); }

 private:
  // One request on its way through.
  struct Call {
    const kube::Request& request;
    const kube::Resource& resource;
    Now now;
    std::string key;
  };

  kube::Response Dispatch(const kube::Request& request, Now now);
  kube::Response Get(const Call& call) const;
  kube::Response List(const Call& call) const;
  kube::Response Create(const Call& call);
  kube::Response Bind(const Call& call);
  kube::Response Update(const Call& call);
  kube::Response Patch(const Call& call);
  kube::Response Delete(const Call& call);

  kube::Response CreateObject(const Call& call, json::Doc object);
  // `object` takes the place of `before`, which is what is stored. With `without_spec` both lack the spec,
  // which stays as it is.
  kube::Response Replace(const Call& call, const ObjectPtr& old, const json::Doc& before, json::Doc object,
                         bool without_spec = false);
  std::optional<kube::Status> AdmitCreate(const Call& call, json::Doc& object);
  std::optional<kube::Status> CheckNamespace(const Call& call, std::string_view name) const;
  std::optional<kube::Status> Mutate(const Call& call, json::Doc& object);
  std::optional<kube::Status> Validate(const Call& call, const json::Doc& object, Causes causes) const;
  kube::Response FinishDelete(const Call& call, const ObjectPtr& object);

  const Change& Put(const kube::Resource& resource, json::Doc doc, const Object* spec_from = nullptr);
  void Remove(const kube::Resource& resource, std::string_view key);
  std::string NewUid();
  std::string GenerateName(const Call& call, std::string base);

  const ServerOptions options_;
  Store store_;
  WatchHub hub_;
  Controllers controllers_;
  Quotas quotas_;
  std::unordered_map<const kube::Resource*, Mutator> mutators_;
  std::unordered_map<const kube::Resource*, Validator> validators_;
  std::function<void(const AuditRecord&)> audit_;
  uint64_t serial_ = 0;
  bool controllers_claimed_ = false;
};

// Reads a body into an object, checks that it is of the resource's kind and decodes it (kind_rules.h).
Result<json::Doc, kube::Status> ReadObject(const kube::Resource& resource, std::string_view body);

// A resourceVersion as a client sends it; empty is 0. False if it is not a number.
bool ParseRevision(std::string_view text, uint64_t& revision);

kube::Response Answer(int code, std::string body);
kube::Response Answer(int code, const Object& object);
kube::Response Refuse(kube::Status status);

}  // namespace lockstep::apiserver
