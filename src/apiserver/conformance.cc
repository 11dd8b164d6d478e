#include "apiserver/conformance.h"

#include <optional>

namespace lockstep::apiserver {

using json::Doc;
using kube::Request;
using kube::Response;
using kube::Verb;

namespace {

constexpr Duration kAnswerLimit = seconds(30);

}  // namespace

Session::Session(const Ground& ground, std::string_view name) : ground_(ground), name_(name) {}

Response Session::Send(Request request) {
  auto answer = std::make_shared<std::optional<Response>>();
  ground_.api.Send(std::move(request), [answer](Response response) { *answer = std::move(response); });
  if (!ground_.run_until([&] { return answer->has_value(); }, kAnswerLimit)) {
    return {kube::NoAnswer("no answer within 30 s"), ""};
  }
  return **answer;
}

Request Session::Make(Verb verb, const kube::Resource& resource, const std::string& name) const {
  Request request;
  request.verb = verb;
  request.resource = &resource;
  request.ns = resource.namespaced ? ground_.ns : "";
  request.name = name;
  return request;
}

Response Session::Create(const kube::Resource& resource, const Doc& object) {
  Request request = Make(Verb::kCreate, resource, "");
  request.body = json::Dump(object);
  return Send(std::move(request));
}

Response Session::Update(const kube::Resource& resource, const Doc& object, const std::string& sub) {
  Request request = Make(Verb::kUpdate, resource, json::GetString(object, "metadata.name"));
  request.body = json::Dump(object);
  request.subresource = sub;
  return Send(std::move(request));
}

Response Session::Patch(const kube::Resource& resource, const std::string& name, const Doc& patch,
                        const std::string& sub, kube::PatchType type) {
  Request request = Make(Verb::kPatch, resource, name);
  request.body = json::Dump(patch);
  request.subresource = sub;
  request.patch = type;
  return Send(std::move(request));
}

Response Session::Delete(const kube::Resource& resource, const std::string& name,
                         std::optional<int64_t> grace) {
  Request request = Make(Verb::kDelete, resource, name);
  request.grace_seconds = grace;
  return Send(std::move(request));
}

Doc Session::Stored(const kube::Resource& resource, const std::string& name) {
  Response response = Send(Make(Verb::kGet, resource, name));
  if (!response.status.ok()) return nullptr;
  Result<Doc> doc = json::Parse(response.body);
  return doc.ok() ? *doc : Doc();
}

std::string Session::Name(std::string_view short_name) const { return name_ + "-" + std::string(short_name); }

Doc Session::Pod(const std::string& name, const std::string& node) const {
  Doc pod = {{"apiVersion", "v1"},
             {"kind", "Pod"},
             {"metadata", {{"name", name}, {"labels", {{"case", name_}}}}},
             {"spec", {{"containers", {{{"name", "c"}, {"image", "busybox:1"}}}}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  return pod;
}

Doc Session::Job(const std::string& name) const {
  Doc pod = Pod(name);
  Doc master = {{"replicas", 1}, {"template", {{"spec", pod["spec"]}}}};
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "PyTorchJob"},
          {"metadata", {{"name", name}, {"labels", {{"case", name_}}}}},
          {"spec", {{"pytorchReplicaSpecs", {{"Master", std::move(master)}}}}}};
}

void Session::Expect(bool holds, std::string_view what) {
  if (!holds) differences.push_back(name_ + ": " + std::string(what));
}

void Session::ExpectText(const std::string& is, const std::string& should_be, std::string_view what) {
  Expect(is == should_be, std::string(what) + " is \"" + is + "\", expected \"" + should_be + "\"");
}

void Session::ExpectStatus(const kube::Status& status, int code, std::string_view reason,
                           std::string_view message) {
  Expect(status.code == code, "code " + std::to_string(status.code) + ", expected " + std::to_string(code) +
                                  " (" + status.message + ")");
  ExpectText(status.reason, std::string(reason), "reason");
  Expect(status.message.starts_with(message),
         "message \"" + status.message + "\", expected \"" + std::string(message) + "...\"");
}

Follower::Follower(Session& session, const kube::Resource& resource, const std::string& labels,
                   const std::string& version)
    : session_(session) {
  kube::WatchRequest watch;
  watch.resource = &resource;
  watch.ns = session.ground().ns;
  watch.label_selector = labels;
  watch.resource_version = version;
  watch_ = session.ground().api.StartWatch(std::move(watch), *this);
}

void Follower::OnEvent(kube::WatchEventType type, std::string object) {
  static constexpr const char* kNames[] = {"ADDED", "MODIFIED", "DELETED"};
  if (type == kube::WatchEventType::kBookmark) return;
  Result<Doc> doc = json::Parse(object);
  std::string name = doc.ok() ? json::GetString(*doc, "metadata.name") : "?";
  std::string prefix = session_.Name("");
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
  events_.push_back(std::string(kNames[static_cast<int>(type)]) + " " + name);
}

void Follower::OnEnd(kube::Status status) { events_.push_back("END " + std::to_string(status.code)); }

void Follower::Expect(const std::vector<std::string>& events) {
  session_.ground().run_until([&] { return events_.size() >= events.size(); }, kAnswerLimit);
  auto text = [](const std::vector<std::string>& list) {
    std::string all;
    for (const std::string& event : list) all += (all.empty() ? "" : ", ") + event;
    return all;
  };
  session_.ExpectText(text(events_), text(events), "events");
}

std::vector<std::string> RunConformance(const Ground& ground) {
  std::vector<std::string> differences;
  for (std::span<const ConformanceCase> cases : {WriteCases(), DeleteCases()}) {
    for (const ConformanceCase& one : cases) {
      Session session(ground, one.name);
      one.run(session);
      differences.insert(differences.end(), session.differences.begin(), session.differences.end());
    }
  }
  return differences;
}

}  // namespace lockstep::apiserver
