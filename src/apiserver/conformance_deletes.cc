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

constexpr const char* kNode = "conformance-node";

Doc Read(const Response& response) {
  Result<Doc> doc = json::Parse(response.body);
  return doc.ok() ? *doc : Doc::object();
}

std::string Version(const Doc& object) { return json::GetString(object, "metadata.resourceVersion"); }

Doc Config(const std::string& name, const std::string& label) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"labels", {{"case", label}}}}}};
}

// The version of the newest list of a kind: where a watch begins.
std::string Newest(Session& s, const kube::Resource& resource) {
  return Version(Read(s.Send(s.Make(Verb::kList, resource, ""))));
}

void MissingObject(Session& s) {
  for (Verb verb : {Verb::kGet, Verb::kDelete, Verb::kPatch}) {
    Request request = s.Make(verb, kPyTorchJobs, s.Name());
    if (verb == Verb::kPatch) request.body = "{}";
    Response response = s.Send(request);
    s.ExpectStatus(response.status, 404, "NotFound",
                   "pytorchjobs.kubeflow.org \"" + s.Name() + "\" not found");
    s.ExpectText(response.status.kind, "pytorchjobs", "details.kind");
  }
}

void GracefulPod(Session& s) {
  Follower events(s, kPods, "case=graceful-pod", Newest(s, kPods));
  s.Create(kPods, s.Pod(s.Name(), kNode));
  Doc pod = Read(s.Delete(kPods, s.Name()));
  s.Expect(json::GetInt(pod, "metadata.deletionGracePeriodSeconds", -1) == 30, "30 s of grace");
  s.Expect(json::GetInt(pod, "metadata.generation") == 2, "the deletion counts in the generation");
  Doc again = Read(s.Delete(kPods, s.Name(), 31));
  s.ExpectText(Version(again), Version(pod), "version after a longer grace");
  again = Read(s.Delete(kPods, s.Name(), 5));
  s.Expect(json::GetInt(again, "metadata.deletionGracePeriodSeconds", -1) == 5, "the grace was shortened");
  auto before = ParseTime(json::GetString(pod, "metadata.deletionTimestamp"));
  auto after = ParseTime(json::GetString(again, "metadata.deletionTimestamp"));
  s.Expect(before.ok() && after.ok() && *before - *after == seconds(25), "the deadline moved by 25 s");
  s.Expect(s.Delete(kPods, s.Name(), 0).status.code == 200, "the kubelet's last delete");
  s.Expect(s.Stored(kPods, s.Name()).is_null(), "gone after grace 0");
  events.Expect({"ADDED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "DELETED a"});
}

void PodWithoutNode(Session& s) {
  s.Create(kPods, s.Pod(s.Name()));
  s.Delete(kPods, s.Name());
  s.Expect(s.Stored(kPods, s.Name()).is_null(), "an unassigned pod goes at once");
  s.Create(kPods, s.Pod(s.Name(), kNode));
  s.Patch(kPods, s.Name(), {{"status", {{"phase", "Succeeded"}}}}, "status");
  Response deleted = s.Delete(kPods, s.Name());
  s.ExpectText(json::GetString(Read(deleted), "kind"), "Pod", "the answer's kind");
  s.Expect(s.Stored(kPods, s.Name()).is_null(), "a terminal pod goes at once");
}

void Preconditions(Session& s) {
  Doc job = Read(s.Create(kPyTorchJobs, s.Job(s.Name())));
  Request request = s.Make(Verb::kDelete, kPyTorchJobs, s.Name());
  request.precondition_uid = "00000000-0000-4000-8000-000000000000";
  Response refused = s.Send(request);
  s.ExpectStatus(refused.status, 409, "Conflict", "Operation cannot be fulfilled on ");
  s.Expect(refused.status.message.find("does not match the UID in record") != std::string::npos,
           "the message names the UIDs: " + refused.status.message);
  request.precondition_uid = json::GetString(job, "metadata.uid");
  Response deleted = s.Send(request);
  s.Expect(deleted.status.code == 200, "the right uid deletes");
  s.ExpectText(json::GetString(Read(deleted), "status"), "Success", "the answer is a Status");
  s.ExpectText(json::GetString(Read(deleted), "details.uid"), request.precondition_uid, "details.uid");
}

void Finalizers(Session& s) {
  Doc job = s.Job(s.Name());
  job["metadata"]["finalizers"] = {"example.com/a", "example.com/b"};
  s.Create(kPyTorchJobs, job);
  Doc answer = Read(s.Delete(kPyTorchJobs, s.Name()));
  s.Expect(!json::GetString(answer, "metadata.deletionTimestamp").empty(), "marked");
  s.Expect(json::GetInt(answer, "metadata.deletionGracePeriodSeconds", -1) == 0, "grace 0");
  s.Expect(json::GetInt(answer, "metadata.generation") == 2, "the deletion counts in the generation");
  s.ExpectText(Version(Read(s.Delete(kPyTorchJobs, s.Name()))), Version(answer),
               "version after a second delete");
  auto finalizers = [](Doc list) { return Doc{{"metadata", {{"finalizers", std::move(list)}}}}; };
  Response more =
      s.Patch(kPyTorchJobs, s.Name(), finalizers({"example.com/a", "example.com/b", "example.com/c"}));
  // The real server names this cause of a custom resource twice.
  s.Expect(more.status.code == 422 && !more.status.causes.empty() &&
               more.status.causes[0].field == "metadata.finalizers",
           "no finalizer may be added: " + more.status.message);
  s.Patch(kPyTorchJobs, s.Name(), finalizers({"example.com/b"}));
  s.Expect(!s.Stored(kPyTorchJobs, s.Name()).is_null(), "one finalizer holds it");
  s.Expect(s.Patch(kPyTorchJobs, s.Name(), finalizers(Doc::array())).status.ok(), "the last one goes");
  s.Expect(s.Stored(kPyTorchJobs, s.Name()).is_null(), "gone with its last finalizer");
}

void Selectors(Session& s) {
  for (const char* name : {"a", "b", "c"})
    s.Create(kPods, s.Pod(s.Name(name), std::string(name) == "b" ? kNode : ""));
  auto names = [&](const std::string& labels, const std::string& fields) {
    Request list = s.Make(Verb::kList, kPods, "");
    list.label_selector = labels;
    list.field_selector = fields;
    std::string all;
    const Doc answer = Read(s.Send(list));
    const Doc* items = json::Find(answer, "items");
    if (items == nullptr || !items->is_array()) return std::string("no list");
    for (const Doc& item : *items) {
      all += json::GetString(item, "metadata.name").substr(s.Name("").size());
      s.Expect(!item.contains("kind"), "items of a list have no kind");
    }
    return all;
  };
  s.ExpectText(names("case=selectors", ""), "abc", "by label");
  s.ExpectText(names("case in (selectors),!none", ""), "abc", "by set");
  s.ExpectText(names("case=selectors,case!=selectors", ""), "", "by contradiction");
  s.ExpectText(names("case=selectors", std::string("spec.nodeName=") + kNode), "b", "by node");
  s.ExpectText(names("case=selectors", "spec.nodeName="), "ac", "by no node");
  s.ExpectText(names("", "metadata.name=" + s.Name("c")), "c", "by name");
  s.ExpectText(names("case=selectors", "status.phase!=Pending"), "", "by phase");
  Request list = s.Make(Verb::kList, kPods, "");
  list.field_selector = "spec.unknown=1";
  s.ExpectStatus(s.Send(list).status, 400, "BadRequest", "");
}

void Pages(Session& s) {
  for (const char* name : {"a", "b", "c", "d"}) s.Create(kConfigMaps, Config(s.Name(name), "pages"));
  Request list = s.Make(Verb::kList, kConfigMaps, "");
  list.label_selector = "case=pages";
  list.limit = 3;
  Doc first = Read(s.Send(list));
  s.Expect(first.contains("items") && first["items"].size() == 3, "three fit on a page");
  s.Delete(kConfigMaps, s.Name("d"));
  s.Create(kConfigMaps, Config(s.Name("cc"), "pages"));
  list.continue_token = json::GetString(first, "metadata.continue");
  Doc second = Read(s.Send(list));
  s.Expect(second.contains("items") && second["items"].size() == 1 &&
               json::GetString(second, "items.0.metadata.name") == s.Name("d"),
           "the second page is of the first one's moment");
  s.ExpectText(Version(second), Version(first), "version of the second page");
  s.ExpectText(json::GetString(second, "metadata.continue"), "", "token of the last page");
}

void WatchBySelector(Session& s) {
  s.Create(kConfigMaps, Config(s.Name("before"), "watch-on"));
  Follower events(s, kConfigMaps, "case=watch-on", Newest(s, kConfigMaps));
  s.Create(kConfigMaps, Config(s.Name("a"), "watch-off"));
  auto label = [&](const char* name, const char* value) {
    s.Patch(kConfigMaps, s.Name(name), {{"metadata", {{"labels", {{"case", value}}}}}});
  };
  label("a", "watch-on");
  label("before", "watch-off");
  s.Patch(kConfigMaps, s.Name("a"), {{"data", {{"k", "v"}}}});
  s.Delete(kConfigMaps, s.Name("a"));
  events.Expect({"ADDED a", "DELETED before", "MODIFIED a", "DELETED a"});
}

void WatchFromTheStart(Session& s) {
  s.Create(kConfigMaps, Config(s.Name("a"), "watch-all"));
  Follower events(s, kConfigMaps, "case=watch-all", "");
  events.Expect({"ADDED a"});
  s.Create(kConfigMaps, Config(s.Name("b"), "watch-all"));
  events.Expect({"ADDED a", "ADDED b"});
}

constexpr ConformanceCase kCases[] = {
    {"missing", MissingObject},
    {"graceful-pod", GracefulPod},
    {"pod-at-once", PodWithoutNode},
    {"precondition", Preconditions},
    {"finalizers", Finalizers},
    {"selectors", Selectors},
    {"pages", Pages},
    {"watch", WatchBySelector},
    {"watch-all", WatchFromTheStart},
};

}  // namespace

std::span<const ConformanceCase> DeleteCases() { return kCases; }

}  // namespace lockstep::apiserver
