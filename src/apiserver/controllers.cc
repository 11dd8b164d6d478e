#include "apiserver/controllers.h"

#include <algorithm>

namespace lockstep::apiserver {

using json::Doc;
using kube::Request;
using kube::Verb;

namespace {

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";

bool HasFinalizer(const Object& object, std::string_view name) {
  return std::find(object.finalizers.begin(), object.finalizers.end(), name) != object.finalizers.end();
}

// Owners of kinds that this server doesn't serve are taken to live, as the real collector waits for them.
bool OwnerIsGone(const Store& store, const Object& dependent, const kube::OwnerRef& ref) {
  const kube::Resource* resource = kube::FindResource(ref.api_version, ref.kind);
  if (resource == nullptr) return false;
  ObjectPtr owner = store.FindByUid(ref.uid);
  // An owner in another namespace doesn't count: references have no namespace.
  return !owner || owner->resource != resource || (resource->namespaced && owner->ns != dependent.ns);
}

Request About(const Object& object, Verb verb) {
  Request request;
  request.verb = verb;
  request.resource = object.resource;
  request.ns = object.ns;
  request.name = object.name;
  return request;
}

Request DeleteOf(const Object& object) {
  Request request = About(object, Verb::kDelete);
  request.precondition_uid = object.uid;
  request.propagation = "Background";
  return request;
}

Request PatchOf(const Object& object, const Doc& patch, std::string subresource = "") {
  Request request = About(object, Verb::kPatch);
  request.subresource = std::move(subresource);
  request.body = json::Dump(patch);
  return request;
}

Request WithoutFinalizer(const Object& object, std::string_view name) {
  Doc finalizers = Doc::array();
  for (const std::string& finalizer : object.finalizers) {
    if (finalizer != name) finalizers.push_back(finalizer);
  }
  return PatchOf(object, {{"metadata", {{"finalizers", std::move(finalizers)}}}});
}

Request WithOwners(const Object& object, const std::function<bool(const kube::OwnerRef&)>& keep) {
  Doc doc = *object.Tree();
  Doc owners = Doc::array();
  for (const Doc& owner : doc.at("metadata").at("ownerReferences")) {
    kube::OwnerRef ref{json::GetString(owner, "apiVersion"), json::GetString(owner, "kind"),
                       json::GetString(owner, "name"), json::GetString(owner, "uid")};
    if (keep(ref)) owners.push_back(owner);
  }
  return PatchOf(object, {{"metadata", {{"ownerReferences", std::move(owners)}}}});
}

bool SameOwners(const Object& a, const Object& b) {
  return std::equal(a.owners.begin(), a.owners.end(), b.owners.begin(), b.owners.end(),
                    [](const kube::OwnerRef& x, const kube::OwnerRef& y) { return x.uid == y.uid; });
}

bool NeedsFinishing(const Object& object) {
  return object.deleting && (HasFinalizer(object, kForeground) || HasFinalizer(object, kOrphan) ||
                             object.resource == &kube::kNamespaces);
}

}  // namespace

void Controllers::Note(const Store& store, const Change& change) {
  const ObjectPtr& object = change.after ? change.after : change.before;
  if (!change.after) {
    for (const ObjectPtr& dependent : store.Dependents(object->uid)) uids_.insert(dependent->uid);
    for (const kube::OwnerRef& ref : object->owners) {
      ObjectPtr owner = store.FindByUid(ref.uid);
      if (owner && NeedsFinishing(*owner)) uids_.insert(owner->uid);
    }
    if (const auto& namespaces = store.All(kube::kNamespaces); !object->ns.empty() && !namespaces.empty()) {
      auto ns = namespaces.find(object->ns);
      if (ns != namespaces.end() && ns->second->deleting) uids_.insert(ns->second->uid);
    }
  } else {
    bool owners_are_new = !change.before || !SameOwners(*change.before, *object);
    bool gone =
        owners_are_new && std::any_of(object->owners.begin(), object->owners.end(),
                                      [&](const auto& ref) { return OwnerIsGone(store, *object, ref); });
    if (gone || NeedsFinishing(*object)) uids_.insert(object->uid);
  }
  if (object->resource != &kube::kPods && object->resource != &kube::kServices &&
      object->resource != &kube::kResourceQuotas) {
    return;
  }
  const auto& all = store.All(kube::kResourceQuotas);
  for (auto quota = all.lower_bound(object->ns + "/"); quota != all.end(); ++quota) {
    if (quota->second->ns != object->ns) break;
    quotas_.insert(quota->first);
  }
}

void Controllers::Run(const Store& store, const Send& send, const QuotaStatus& quota_status) {
  // A finalizer that nobody removes must not keep this busy: what is noted again by its own work is done in a
  // later run.
  for (const std::string& uid : std::exchange(uids_, {})) {
    if (ObjectPtr object = store.FindByUid(uid)) Process(store, object, send);
  }
  for (const std::string& key : std::exchange(quotas_, {})) SyncQuota(store, key, send, quota_status);
}

void Controllers::Process(const Store& store, const ObjectPtr& object, const Send& send) {
  if (object->deleting) {
    if (object->resource == &kube::kNamespaces) return EmptyNamespace(store, object, send);
    if (HasFinalizer(*object, kOrphan)) return FinishOrphan(store, object, send);
    if (HasFinalizer(*object, kForeground)) return FinishForeground(store, object, send);
    return;
  }
  auto is_gone = [&](const kube::OwnerRef& ref) { return OwnerIsGone(store, *object, ref); };
  auto gone = std::count_if(object->owners.begin(), object->owners.end(), is_gone);
  if (gone == 0) return;
  if (static_cast<size_t>(gone) == object->owners.size()) {
    send(DeleteOf(*object));
  } else {
    send(WithOwners(*object, [&](const kube::OwnerRef& ref) { return !is_gone(ref); }));
  }
}

void Controllers::FinishForeground(const Store& store, const ObjectPtr& owner, const Send& send) {
  std::vector<ObjectPtr> dependents = store.Dependents(owner->uid);
  for (const ObjectPtr& dependent : dependents) {
    if (!dependent->deleting) send(DeleteOf(*dependent));
  }
  if (store.Dependents(owner->uid).empty()) send(WithoutFinalizer(*owner, kForeground));
}

void Controllers::FinishOrphan(const Store& store, const ObjectPtr& owner, const Send& send) {
  for (const ObjectPtr& dependent : store.Dependents(owner->uid)) {
    send(WithOwners(*dependent, [&](const kube::OwnerRef& ref) { return ref.uid != owner->uid; }));
  }
  send(WithoutFinalizer(*owner, kOrphan));
}

void Controllers::EmptyNamespace(const Store& store, const ObjectPtr& ns, const Send& send) {
  bool empty = true;
  for (const kube::Resource* resource : kube::AllResources()) {
    if (!resource->namespaced) continue;
    std::vector<ObjectPtr> objects;
    const auto& all = store.All(*resource);
    for (auto at = all.lower_bound(ns->name + "/"); at != all.end() && at->second->ns == ns->name; ++at) {
      objects.push_back(at->second);
    }
    for (const ObjectPtr& object : objects) {
      if (!object->deleting) send(DeleteOf(*object));
      empty = empty && !store.Find(*resource, object->key);
    }
  }
  if (!empty) return;
  Request request = About(*ns, Verb::kUpdate);
  request.subresource = "finalize";
  send(request);
}

void Controllers::SyncQuota(const Store& store, const std::string& key, const Send& send,
                            const QuotaStatus& quota_status) {
  ObjectPtr quota = store.Find(kube::kResourceQuotas, key);
  if (!quota || quota->deleting) return;
  send(PatchOf(*quota, {{"status", quota_status(quota)}}, "status"));
  quotas_.erase(key);  // its own write noted it
}

}  // namespace lockstep::apiserver
