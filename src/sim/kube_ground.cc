#include "sim/kube_ground.h"

#include "api/crd.h"
#include "jobs/framework.h"

namespace lockstep::sim {

namespace {

constexpr Duration kPrepareWithin = seconds(30);

// The same scenario played twice on one server must not meet its own leftovers.
std::string NamespaceOf(const std::string& name) {
  WallTime now = ReadClocks().wall;
  std::string label = name.substr(0, 40);  // a DNS label takes no underscores
  std::replace(label.begin(), label.end(), '_', '-');
  return "s-" + label + "-" + std::to_string(now.time_since_epoch().count() % 1'000'000'000);
}

// Every kind of job, then `others`.
std::vector<const kube::Resource*> JobsAnd(std::initializer_list<const kube::Resource*> others) {
  std::vector<const kube::Resource*> resources;
  for (const jobs::Framework* framework : jobs::AllFrameworks()) resources.push_back(&framework->resource());
  resources.insert(resources.end(), others);
  return resources;
}

kube::Request Make(kube::Verb verb, const kube::Resource& resource, const std::string& ns,
                   const std::string& name) {
  kube::Request request;
  request.verb = verb;
  request.resource = &resource;
  request.ns = ns;
  request.name = name;
  return request;
}

}  // namespace

KubeGround::KubeGround(const kube::ClientConfig& config, KubeGroundOptions options)
    : options_(std::move(options)),
      ns_(NamespaceOf(options_.name)),
      user_(loop_, config),
      operators_(loop_, config),
      nodes_(loop_, config),
      network_(operators_, NetworkOptions{}) {}

KubeGround::~KubeGround() = default;

Outcome KubeGround::InstallKinds() {
  for (const json::Doc& crd : api::Crds()) {
    kube::Request request = Make(kube::Verb::kCreate, kube::kCustomResourceDefinitions, "", "");
    request.body = json::Dump(crd);
    kube::Response response = Ask(std::move(request));
    if (!response.status.ok() && !response.status.already_exists()) return Error{response.status.message};
  }
  for (const kube::Resource* resource : JobsAnd({&kube::kGangs})) {
    MonoTime end = loop_.now().mono + kPrepareWithin;
    while (!Ask(Make(kube::Verb::kList, *resource, ns_, "")).status.ok()) {
      if (loop_.now().mono > end) return Error{std::string(resource->plural) + " are not served"};
      RunUntilTrue([] { return false; }, milliseconds(200));
    }
  }
  return {};
}

Outcome KubeGround::MakeNamespace() {
  kube::Request request = Make(kube::Verb::kCreate, kube::kNamespaces, "", "");
  request.body =
      json::Dump(json::Doc{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns_}}}});
  kube::Response response = Ask(std::move(request));
  if (!response.status.ok()) return Error{response.status.message};
  return {};
}

Outcome KubeGround::Prepare() {
  if (Outcome error = InstallKinds()) return error;
  if (Outcome error = MakeNamespace()) return error;
  bystander_ = std::make_unique<Bystander>(user_, ns_, picture_);
  hollow::FleetOptions options;
  options.ns = ns_;
  options.evict_by_taints = true;
  fleet_ = std::make_unique<hollow::Fleet>(nodes_, options);
  fleet_->Start();
  if (!RunUntilTrue([this] { return bystander_->synced(); }, kPrepareWithin))
    return Error{"the API server could not be listed"};
  return {};
}

void KubeGround::Compact() {
  network_.EndWatches(
      kube::ErrorStatus(410, "Expired", "The resourceVersion for the provided watch is too old."));
}

Outcome KubeGround::Inject(const kube::Resources&) {
  return Error{"inject: on a real API server a test brings its own webhook; mark the file virtual-only"};
}

bool KubeGround::Empty(const kube::Resource& resource) {
  kube::Request request = Make(kube::Verb::kList, resource, resource.namespaced ? ns_ : "", "");
  request.limit = 1;
  kube::Response response = Ask(std::move(request));
  Result<json::Doc> list = json::Parse(response.body);
  if (!response.status.ok() || !list.ok()) return false;
  const json::Doc* items = json::Find(*list, "items");
  return items != nullptr && items->empty();
}

void KubeGround::DeleteAll(const kube::Resource& resource) {
  kube::Response response = Ask(Make(kube::Verb::kList, resource, ns_, ""));
  Result<json::Doc> list = json::Parse(response.body);
  const json::Doc* items = list.ok() ? json::Find(*list, "items") : nullptr;
  if (items == nullptr || !items->is_array()) return;
  for (const json::Doc& item : *items) {
    kube::Request request = Make(kube::Verb::kDelete, resource, ns_, json::GetString(item, "metadata.name"));
    request.grace_seconds = 0;
    request.propagation = "Background";
    user_.Send(std::move(request), [](const kube::Response&) {});
  }
}

void KubeGround::CleanUp() {
  network_.Clear();
  for (const kube::Resource* resource :
       JobsAnd({&kube::kDaemonSets, &kube::kGangs, &kube::kPods, &kube::kServices, &kube::kLeases})) {
    DeleteAll(*resource);
  }
  fleet_->RemoveAllNodes();
  MonoTime end = loop_.now().mono + kPrepareWithin;
  while (!(Empty(kube::kNodes) && Empty(kube::kPods)) && loop_.now().mono < end) {
    RunUntilTrue([] { return false; }, milliseconds(100));
  }
  Ask(Make(kube::Verb::kDelete, kube::kNamespaces, "", ns_));
}

}  // namespace lockstep::sim
