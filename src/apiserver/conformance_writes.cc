#include <set>

#include "apiserver/conformance.h"

namespace lockstep::apiserver {

namespace {

using json::Doc;
using kube::kConfigMaps;
using kube::kPods;
using kube::kPyTorchJobs;
using kube::Request;
using kube::Response;
using kube::Verb;

Doc Read(const Response& response) {
  Result<Doc> doc = json::Parse(response.body);
  return doc.ok() ? *doc : Doc::object();
}

std::string Version(const Doc& object) { return json::GetString(object, "metadata.resourceVersion"); }

Doc Config(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}};
}

void CreateFillsIn(Session& s) {
  Doc job = s.Job(s.Name());
  job["metadata"]["uid"] = "mine";
  job["status"] = {{"replicaStatuses", Doc::object()}};
  Response made = s.Create(kPyTorchJobs, job);
  s.Expect(made.status.code == 201, "a create answers 201");
  Doc stored = Read(made);
  s.Expect(json::GetString(stored, "metadata.uid").size() == 36, "the server chooses the uid");
  s.Expect(json::GetInt(stored, "metadata.generation") == 1, "generation starts at 1");
  s.Expect(!Version(stored).empty(), "there is a resourceVersion");
  s.Expect(ParseTime(json::GetString(stored, "metadata.creationTimestamp")).ok(), "there is a creation time");
  s.Expect(!stored.contains("status"), "a create stores no status");
}

void CreateTwice(Session& s) {
  s.Create(kPods, s.Pod(s.Name()));
  Response again = s.Create(kPods, s.Pod(s.Name()));
  s.ExpectStatus(again.status, 409, "AlreadyExists", "pods \"" + s.Name() + "\" already exists");
  s.ExpectText(again.status.kind, "pods", "details.kind");
  s.ExpectText(again.status.name, s.Name(), "details.name");
  s.Create(kPyTorchJobs, s.Job(s.Name()));
  Response job = s.Create(kPyTorchJobs, s.Job(s.Name()));
  s.ExpectStatus(job.status, 409, "AlreadyExists",
                 "pytorchjobs.kubeflow.org \"" + s.Name() + "\" already exists");
  s.ExpectText(job.status.group, "kubeflow.org", "details.group");
}

void GeneratedNames(Session& s) {
  Doc config = Config("");
  config["metadata"] = {{"generateName", s.Name("")}};
  std::string first = json::GetString(Read(s.Create(kConfigMaps, config)), "metadata.name");
  std::string second = json::GetString(Read(s.Create(kConfigMaps, config)), "metadata.name");
  s.Expect(first.starts_with(s.Name("")) && first.size() == s.Name("").size() + 5, "five letters are added");
  s.Expect(first != second, "generated names differ");
  config["metadata"] = Doc::object();
  s.ExpectStatus(
      s.Create(kConfigMaps, config).status, 422, "Invalid",
      "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required");
}

void InvalidPod(Session& s) {
  Doc pod = s.Pod("Bad_Name");
  pod["metadata"]["labels"]["long"] = std::string(64, 'x');
  pod["spec"]["restartPolicy"] = "Sometimes";
  pod["spec"]["containers"][0].erase("image");
  pod["spec"]["containers"].push_back({{"name", "c"}, {"image", "i"}});
  pod["spec"]["containers"][1]["resources"]["requests"] = {{"cpu", "-1"}, {"nvidia.com/gpu", "1"}};
  Response refused = s.Create(kPods, pod);
  s.ExpectStatus(refused.status, 422, "Invalid", "Pod \"Bad_Name\" is invalid: [");
  std::set<std::string> fields;
  for (const auto& cause : refused.status.causes) fields.insert(cause.field);
  for (const char* field :
       {"metadata.name", "metadata.labels", "spec.restartPolicy", "spec.containers[0].image",
        "spec.containers[1].name", "spec.containers[1].resources.requests[cpu]",
        "spec.containers[1].resources.limits"}) {
    s.Expect(fields.erase(field) == 1, std::string("no cause for ") + field);
  }
  for (const std::string& field : fields) s.Expect(false, "unexpected cause for " + field);
  pod = s.Pod(s.Name());
  pod["spec"]["containers"] = Doc::array();
  s.ExpectStatus(s.Create(kPods, pod).status, 422, "Invalid",
                 "Pod \"" + s.Name() + "\" is invalid: spec.containers: Required value");
}

void Undecodable(Session& s) {
  Doc pod = s.Pod(s.Name());
  pod["spec"]["containers"][0]["resources"]["limits"] = {{"cpu", "lots"}};
  s.ExpectStatus(
      s.Create(kPods, pod).status, 400, "BadRequest",
      "Pod in version \"v1\" cannot be handled as a Pod: quantities must match the regular expression");
  pod = s.Pod(s.Name());
  pod["spec"]["containers"] = "c";
  s.Expect(s.Create(kPods, pod).status.code == 400, "a text in place of containers is a 400");
  pod = s.Pod(s.Name());
  pod["metadata"]["namespace"] = "elsewhere";
  s.ExpectStatus(s.Create(kPods, pod).status, 400, "BadRequest",
                 "the namespace of the provided object does not match the namespace sent on the request");
}

void PodDefaults(Session& s) {
  Doc pod = s.Pod(s.Name());
  pod["spec"]["containers"][0]["resources"]["limits"] = {{"nvidia.com/gpu", "2"}, {"cpu", "1"}};
  pod["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", "500m"}};
  pod["spec"]["containers"][0]["ports"] = {{{"containerPort", 23456}}};
  Doc stored = Read(s.Create(kPods, pod));
  for (auto [path, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"spec.restartPolicy", "Always"},
           {"spec.dnsPolicy", "ClusterFirst"},
           {"spec.schedulerName", "default-scheduler"},
           {"spec.preemptionPolicy", "PreemptLowerPriority"},
           {"spec.containers.0.imagePullPolicy", "IfNotPresent"},
           {"spec.containers.0.terminationMessagePolicy", "File"},
           {"spec.containers.0.ports.0.protocol", "TCP"},
           {"spec.containers.0.resources.requests.cpu", "500m"},
           {"spec.tolerations.0.key", "node.kubernetes.io/not-ready"},
           {"spec.tolerations.1.key", "node.kubernetes.io/unreachable"},
           {"status.phase", "Pending"},
           {"status.qosClass", "Burstable"}}) {
    s.ExpectText(json::GetString(stored, path), value, path);
  }
  s.Expect(json::GetInt(stored, "spec.terminationGracePeriodSeconds") == 30, "30 s of grace");
  s.Expect(json::GetInt(stored, "spec.priority", -1) == 0, "priority 0");
  s.Expect(json::GetInt(stored, "spec.tolerations.1.tolerationSeconds") == 300, "300 s of toleration");
  const Doc* requests = json::Find(stored, "spec.containers.0.resources.requests");
  s.Expect(requests != nullptr && requests->contains("nvidia.com/gpu"), "a limit is a request");
}

void ServiceDefaults(Session& s) {
  Doc service = {{"apiVersion", "v1"},
                 {"kind", "Service"},
                 {"metadata", {{"name", "svc-1"}}},
                 {"spec", {{"clusterIP", "None"}, {"ports", {{{"port", 80}}}}}}};
  Doc stored = Read(s.Create(kube::kServices, service));
  s.ExpectText(json::GetString(stored, "spec.ports.0.protocol"), "TCP", "protocol");
  s.Expect(json::GetInt(stored, "spec.ports.0.targetPort") == 80, "targetPort is the port");
  s.ExpectText(json::GetString(stored, "spec.type"), "ClusterIP", "type");
  service["metadata"]["name"] = "1svc";
  s.ExpectStatus(
      s.Create(kube::kServices, service).status, 422, "Invalid",
      "Service \"1svc\" is invalid: metadata.name: Invalid value: \"1svc\": a DNS-1035 label must");
}

void StaleUpdate(Session& s) {
  Doc first = Read(s.Create(kConfigMaps, Config(s.Name())));
  Doc second = first;
  second["data"] = {{"k", "v"}};
  s.Expect(s.Update(kConfigMaps, second).status.ok(), "the first update is taken");
  s.ExpectStatus(
      s.Update(kConfigMaps, second).status, 409, "Conflict",
      "Operation cannot be fulfilled on configmaps \"" + s.Name() +
          "\": the object has been modified; please apply your changes to the latest version and try again");
  Doc patch = {{"metadata", {{"resourceVersion", Version(first)}}}, {"data", {{"k", "w"}}}};
  s.ExpectStatus(s.Patch(kConfigMaps, s.Name(), patch).status, 409, "Conflict",
                 "Operation cannot be fulfilled");
  Doc other = s.Stored(kConfigMaps, s.Name());
  other["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000";
  s.ExpectStatus(s.Update(kConfigMaps, other).status, 409, "Conflict", "Operation cannot be fulfilled");
}

void BlindUpdate(Session& s) {
  s.Create(kPyTorchJobs, s.Job(s.Name()));
  Response refused = s.Update(kPyTorchJobs, s.Job(s.Name()));
  s.ExpectStatus(refused.status, 422, "Invalid", "pytorchjobs.kubeflow.org \"" + s.Name() + "\" is invalid");
  s.Expect(refused.status.causes.size() == 1 && refused.status.causes[0].field == "metadata.resourceVersion",
           "the cause is metadata.resourceVersion");
  s.Create(kConfigMaps, Config(s.Name()));
  s.Expect(s.Update(kConfigMaps, Config(s.Name())).status.ok(), "a config map may be replaced blindly");
  s.ExpectStatus(s.Update(kConfigMaps, Config(s.Name("none"))).status, 404, "NotFound",
                 "configmaps \"" + s.Name("none") + "\" not found");
}

void NoChange(Session& s) {
  Doc job = Read(s.Create(kPyTorchJobs, s.Job(s.Name())));
  s.ExpectText(Version(Read(s.Update(kPyTorchJobs, job))), Version(job), "version after an equal PUT");
  Doc patch = {{"metadata", {{"labels", {{"none", nullptr}}}}}};
  s.ExpectText(Version(Read(s.Patch(kPyTorchJobs, s.Name(), patch))), Version(job),
               "version after an empty patch");
}

void DryRun(Session& s) {
  Request request = s.Make(Verb::kCreate, kPods, "");
  request.body = json::Dump(s.Pod(s.Name()));
  request.dry_run = true;
  Response dry = s.Send(request);
  s.Expect(dry.status.code == 201, "a dry create answers 201");
  s.ExpectText(json::GetString(Read(dry), "spec.restartPolicy"), "Always", "restartPolicy of a dry run");
  s.Expect(s.Stored(kPods, s.Name()).is_null(), "a dry run stores nothing");
}

void TwoHalves(Session& s) {
  Doc job = Read(s.Create(kPyTorchJobs, s.Job(s.Name())));
  Doc condition = {{"type", "Created"}, {"status", "True"}};
  Doc status = {{"conditions", Doc::array({condition})}, {"replicaStatuses", Doc::object()}};
  Doc spec = {{"runPolicy", {{"backoffLimit", 3}}}};
  Doc after = Read(s.Patch(kPyTorchJobs, s.Name(), {{"status", status}, {"spec", spec}}, "status"));
  s.ExpectText(json::GetString(after, "status.conditions.0.type"), "Created", "the status is written");
  s.Expect(after["spec"] == job["spec"], "a status write leaves the spec");
  s.Expect(json::GetInt(after, "metadata.generation") == 1, "a status write leaves the generation");
  after = Read(s.Patch(kPyTorchJobs, s.Name(), {{"status", {{"conditions", nullptr}}}, {"spec", spec}}));
  s.ExpectText(json::GetString(after, "status.conditions.0.type"), "Created",
               "a spec write leaves the status");
  s.Expect(json::GetInt(after, "spec.runPolicy.backoffLimit") == 3, "the spec is written");
  s.Expect(json::GetInt(after, "metadata.generation") == 2, "a spec write counts");
}

void PatchKinds(Session& s) {
  s.Create(kPyTorchJobs, s.Job(s.Name()));
  Doc test = Doc::array({{{"op", "test"}, {"path", "/metadata/name"}, {"value", "other"}}});
  s.ExpectStatus(s.Patch(kPyTorchJobs, s.Name(), test, "", kube::PatchType::kJson).status, 422, "Invalid",
                 "the server rejected our request due to an error in our request");
  Doc replace = Doc::array({{{"op", "add"}, {"path", "/metadata/annotations"}, {"value", {{"k", "v"}}}}});
  Doc after = Read(s.Patch(kPyTorchJobs, s.Name(), replace, "", kube::PatchType::kJson));
  s.ExpectText(json::GetString(after, "metadata.annotations.k"), "v", "annotation by a JSON patch");
  s.ExpectStatus(s.Patch(kPyTorchJobs, s.Name(), Doc::object(), "", kube::PatchType::kStrategicMerge).status,
                 415, "UnsupportedMediaType", "the body of the request was in an unknown format");
  s.Create(kPods, s.Pod(s.Name()));
  Doc image = {{"spec", {{"containers", {{{"name", "c"}, {"image", "new:2"}}}}}}};
  after = Read(s.Patch(kPods, s.Name(), image, "", kube::PatchType::kStrategicMerge));
  s.ExpectText(json::GetString(after, "spec.containers.0.image"), "new:2", "image by a strategic patch");
  s.ExpectText(json::GetString(after, "spec.containers.0.terminationMessagePolicy"), "File",
               "what it leaves");
}

void PodSpecIsFixed(Session& s) {
  s.Create(kPods, s.Pod(s.Name()));
  Response refused = s.Patch(kPods, s.Name(), {{"spec", {{"nodeName", "n"}}}});
  s.ExpectStatus(
      refused.status, 422, "Invalid",
      "Pod \"" + s.Name() + "\" is invalid: spec: Forbidden: pod updates may not change fields other than");
  s.Expect(s.Patch(kPods, s.Name(), {{"spec", {{"activeDeadlineSeconds", 600}}}}).status.ok(),
           "activeDeadlineSeconds may be set");
  Doc labels = {{"metadata", {{"labels", {{"seen", "yes"}}}}}, {"status", {{"phase", "Running"}}}};
  Doc after = Read(s.Patch(kPods, s.Name(), labels, "status"));
  s.ExpectText(json::GetString(after, "metadata.labels.seen"), "yes", "a pod's label by its status");
}

void BindsOnce(Session& s) {
  s.Create(kPods, s.Pod(s.Name()));
  Request bind = s.Make(Verb::kCreate, kPods, s.Name());
  bind.subresource = "binding";
  Doc binding = {{"apiVersion", "v1"},
                 {"kind", "Binding"},
                 {"metadata", {{"name", s.Name()}}},
                 {"target", {{"kind", "Node"}, {"name", "conformance-node"}}}};
  bind.body = json::Dump(binding);
  s.Expect(s.Send(bind).status.code == 201, "a binding answers 201");
  Doc pod = s.Stored(kPods, s.Name());
  s.ExpectText(json::GetString(pod, "spec.nodeName"), "conformance-node", "nodeName");
  s.ExpectText(json::GetString(pod, "status.conditions.0.type"), "PodScheduled", "condition");
  s.ExpectStatus(s.Send(bind).status, 409, "Conflict",
                 "Operation cannot be fulfilled on pods/binding \"" + s.Name() + "\": pod " + s.Name() +
                     " is already assigned to node \"conformance-node\"");
}

// What a scheduler says of a pod, and what its binding makes of that.
void BindsWhatWaits(Session& s) {
  Doc pod = Read(s.Create(kPods, s.Pod(s.Name())));
  Doc condition = {
      {"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}, {"message", "no room"}};
  Request tell = s.Make(Verb::kPatch, kPods, s.Name());
  tell.patch = kube::PatchType::kStrategicMerge;
  tell.subresource = "status";
  tell.body = json::Dump(Doc{{"metadata", {{"resourceVersion", Version(pod)}}},
                             {"status", {{"conditions", Doc::array({condition})}}}});
  Doc told = Read(s.Send(tell));
  s.ExpectText(json::GetString(told, "status.conditions.0.reason"), "Unschedulable",
               "the condition is written");
  s.ExpectText(json::GetString(told, "status.phase"), "Pending", "and the phase stays");

  Request bind = s.Make(Verb::kCreate, kPods, s.Name());
  bind.subresource = "binding";
  Doc binding = {{"apiVersion", "v1"},
                 {"kind", "Binding"},
                 {"metadata", {{"name", s.Name()}, {"uid", "00000000-0000-4000-8000-000000000000"}}},
                 {"target", {{"kind", "Node"}, {"name", "conformance-node"}}}};
  bind.body = json::Dump(binding);
  s.Expect(s.Send(bind).status.code == 409, "the binding of another pod of this name is a conflict");
  binding["metadata"]["uid"] = json::GetString(pod, "metadata.uid");
  bind.body = json::Dump(binding);
  Response bound = s.Send(bind);
  s.Expect(bound.status.code == 201, "the binding of this one is taken");
  s.ExpectText(json::GetString(Read(bound), "kind"), "Status", "the answer to a binding");
  Doc after = s.Stored(kPods, s.Name());
  const Doc* conditions = json::Find(after, "status.conditions");
  s.Expect(conditions != nullptr && conditions->size() == 1, "there is one condition PodScheduled");
  s.ExpectText(json::GetString(after, "status.conditions.0.status"), "True", "which is true now");
  s.ExpectText(json::GetString(after, "status.conditions.0.reason"), "", "and has no reason");
  s.Expect(s.Send(tell).status.code == 409, "a late word that it waits is a conflict");
}

Doc RequiredTerm(const std::string& field, const std::string& value) {
  return {
      {"matchFields", Doc::array({{{"key", field}, {"operator", "In"}, {"values", Doc::array({value})}}})}};
}

// A gated pod is not bound; its nodes may be narrowed, and its gates only taken off.
void GatesOnlyGo(Session& s) {
  Doc gates = Doc::array({{{"name", "example.com/a"}}, {{"name", "example.com/b"}}});
  Doc pod = s.Pod(s.Name());
  pod["spec"]["schedulingGates"] = gates;
  pod["spec"]["nodeName"] = "conformance-node";
  s.ExpectStatus(s.Create(kPods, pod).status, 422, "Invalid",
                 "Pod \"" + s.Name() +
                     "\" is invalid: spec.nodeName: Forbidden: cannot be set until all schedulingGates");
  pod["spec"].erase("nodeName");
  Doc stored = Read(s.Create(kPods, pod));
  s.ExpectText(json::GetString(stored, "status.conditions.0.reason"), "SchedulingGated",
               "the condition of a new pod");

  Request bind = s.Make(Verb::kCreate, kPods, s.Name());
  bind.subresource = "binding";
  bind.body = json::Dump(Doc{{"apiVersion", "v1"},
                             {"kind", "Binding"},
                             {"metadata", {{"name", s.Name()}}},
                             {"target", {{"kind", "Node"}, {"name", "conformance-node"}}}});
  s.ExpectStatus(s.Send(bind).status, 409, "Conflict",
                 "Operation cannot be fulfilled on pods/binding \"" + s.Name() + "\": pod " + s.Name() +
                     " has non-empty .spec.schedulingGates");

  auto require = [&](const Doc& terms) {
    Doc required = {{"requiredDuringSchedulingIgnoredDuringExecution", {{"nodeSelectorTerms", terms}}}};
    return s.Patch(kPods, s.Name(), {{"spec", {{"affinity", {{"nodeAffinity", required}}}}}}).status;
  };
  s.Expect(require(Doc::array({RequiredTerm("metadata.name", "conformance-node")})).ok(),
           "nodes are narrowed");
  s.Expect(require(Doc::array({RequiredTerm("metadata.name", "another")})).code == 422,
           "and never turned elsewhere");

  gates.push_back({{"name", "example.com/c"}});
  s.ExpectStatus(s.Patch(kPods, s.Name(), {{"spec", {{"schedulingGates", gates}}}}).status, 422, "Invalid",
                 "Pod \"" + s.Name() +
                     "\" is invalid: spec.schedulingGates[2].name: Forbidden: only deletion is " +
                     "allowed, but found new scheduling gate 'example.com/c'");
  s.Expect(s.Patch(kPods, s.Name(), {{"spec", {{"schedulingGates", Doc::array()}}}}).status.ok(),
           "gates are lifted");
  s.Expect(require(Doc::array({RequiredTerm("metadata.name", "another")})).code == 422,
           "nodes are fixed then");
  s.Expect(s.Send(bind).status.code == 201, "and the pod is bound");
}

void LeaseByPut(Session& s) {
  Doc lease = {{"apiVersion", "coordination.k8s.io/v1"},
               {"kind", "Lease"},
               {"metadata", {{"name", s.Name()}, {"namespace", s.ground().ns}}},
               {"spec", {{"holderIdentity", "me"}, {"leaseDurationSeconds", 0}}}};
  Response refused = s.Update(kube::kLeases, lease);
  s.ExpectStatus(refused.status, 422, "Invalid",
                 "Lease.coordination.k8s.io \"" + s.Name() +
                     "\" is invalid: spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0");
  lease["spec"]["leaseDurationSeconds"] = 15;
  s.Expect(s.Update(kube::kLeases, lease).status.code == 201, "a PUT makes a lease");
}

constexpr ConformanceCase kCases[] = {
    {"create-fills-in", CreateFillsIn},
    {"create-twice", CreateTwice},
    {"generated-names", GeneratedNames},
    {"invalid-pod", InvalidPod},
    {"undecodable", Undecodable},
    {"pod-defaults", PodDefaults},
    {"service", ServiceDefaults},
    {"stale-update", StaleUpdate},
    {"blind-update", BlindUpdate},
    {"no-change", NoChange},
    {"dry-run", DryRun},
    {"two-halves", TwoHalves},
    {"patch-kinds", PatchKinds},
    {"pod-spec", PodSpecIsFixed},
    {"binding", BindsOnce},
    {"binding-what-waits", BindsWhatWaits},
    {"gates", GatesOnlyGo},
    {"lease", LeaseByPut},
};

}  // namespace

std::span<const ConformanceCase> WriteCases() { return kCases; }

}  // namespace lockstep::apiserver
