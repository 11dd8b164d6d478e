#include "sim/bystander.h"

#include <algorithm>

namespace lockstep::sim {

namespace {

// What is left of an object whose deletion a list found.
json::DocPtr NameOnly(const std::string& key) {
  size_t slash = key.find('/');
  json::Doc meta = {{"name", slash == std::string::npos ? key : key.substr(slash + 1)}};
  if (slash != std::string::npos) meta["namespace"] = key.substr(0, slash);
  return std::make_shared<const json::Doc>(json::Doc{{"metadata", meta}});
}

}  // namespace

Bystander::Bystander(kube::Api& api, const std::string& ns, Picture& picture) {
  for (const kube::Resource* resource : PictureResources()) {
    shell::Reflector::Callbacks callbacks;
    callbacks.on_upsert = [&picture, resource](const std::string&, const std::string&,
                                               const json::DocPtr& object) {
      picture.Take(*resource, object, /*gone=*/false);
    };
    callbacks.on_delete = [&picture, resource](const std::string& key, const std::string&,
                                               const json::DocPtr& last) {
      picture.Take(*resource, last != nullptr ? last : NameOnly(key), /*gone=*/true);
    };
    shell::Reflector::Scope scope{resource->namespaced ? ns : "", "", ""};
    reflectors_.push_back(std::make_unique<shell::Reflector>(api, *resource, scope, std::move(callbacks)));
    reflectors_.back()->Start();
  }
}

bool Bystander::synced() const {
  return std::all_of(reflectors_.begin(), reflectors_.end(),
                     [](const auto& r) { return r->synced() || r->last_error().not_found(); });
}

kube::Status Bystander::trouble() const {
  for (const auto& reflector : reflectors_) {
    if (!reflector->last_error().ok() && !reflector->last_error().not_found()) return reflector->last_error();
  }
  return kube::OkStatus();
}

}  // namespace lockstep::sim
