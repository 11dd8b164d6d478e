#include "engine/draft.h"

#include "base/hash.h"
#include "engine/group.h"
#include "engine/limits.h"

namespace lockstep::engine {

using cluster::ActionKind;
using cluster::GangState;

Duration Backoff(Duration first, Duration longest, int64_t times, std::string_view who) {
  Duration wait = first;
  for (int64_t i = 1; i < times && wait < longest; ++i) wait *= 2;
  wait = std::min(wait, longest);
  return wait - Duration(StableJitter(who, static_cast<uint64_t>(times),
                                      static_cast<uint64_t>(wait.count() / 4 + 1)));
}

std::string GangObjectKey(const GangState& gang) {
  return "gangs/" + gang.ns + "/" + api::GangName(gang.framework->resource().kind, gang.job_name);
}

bool Draft::Emit(ActionKind kind, GangState& gang, std::string touches, kube::Request request) {
  if (world.InFlight(touches)) return false;
  if (auto retry = gang.retry_at.find(touches); retry != gang.retry_at.end()) {
    if (now.mono < retry->second) {
      world.WakeAt(retry->second, gang.key);
      return false;
    }
    gang.retry_at.erase(retry);
  }
  cluster::Action action;
  action.id = world.next_action++;
  action.kind = kind;
  action.gang = gang.key;
  action.touches = std::move(touches);
  action.request = std::move(request);
  world.in_flight.emplace(action.touches, action.id);
  // The answer is matched by id, kind, gang and key: the request itself needn't be kept.
  cluster::Action remembered = action;
  remembered.request.body.clear();
  world.actions.emplace(action.id, std::move(remembered));
  actions_.push_back(std::move(action));
  return true;
}

bool Draft::WriteGang(GangState& gang, api::GangStatus next) {
  if (gang.gang == nullptr || next == gang.status()) return gang.gang != nullptr;
  if (next.phase != gang.status().phase) next.phase_since = now.wall;
  kube::Request request;
  request.verb = kube::Verb::kPatch;
  request.patch = kube::PatchType::kMerge;
  request.resource = &kube::kGangs;
  request.ns = gang.ns;
  request.name = gang.gang->meta.name;
  request.subresource = "status";
  json::Doc body = {
      {"metadata", {{"resourceVersion", gang.gang->meta.resource_version}, {"uid", gang.gang->meta.uid}}},
      {"status", api::StatusDoc(next, gang.gang->spec.roles, &gang.gang->status)}};
  request.body = json::Dump(body);
  if (!Emit(ActionKind::kWriteGang, gang, GangObjectKey(gang), std::move(request))) return false;
  gang.assumed = std::move(next);
  cluster::RefreshHeld(world, gang);
  cluster::RefreshQueue(world, gang);
  return true;
}

bool Draft::ReadGang(GangState& gang) {
  kube::Request request;
  request.verb = kube::Verb::kGet;
  request.resource = &kube::kGangs;
  request.ns = gang.ns;
  request.name = api::GangName(gang.framework->resource().kind, gang.job_name);
  return Emit(ActionKind::kReadGang, gang, GangObjectKey(gang), std::move(request));
}

namespace {

struct Regarding {
  std::string api_version, kind, name, uid, version;
};

// The job; of pods that no job of ours made, their controller, or the first of them.
std::optional<Regarding> RegardingOf(const GangState& gang) {
  if (!IsGroup(gang)) {
    if (gang.job == nullptr) return {};
    const kube::Resource& resource = gang.framework->resource();
    const kube::Meta& job = gang.job->meta;
    return Regarding{resource.ApiVersion(), std::string(resource.kind), job.name, job.uid,
                     job.resource_version};
  }
  if (gang.pods.empty()) return {};
  const cluster::PodRecord& pod = *gang.pods.begin()->second;
  const kube::OwnerRef& owner = pod.group->owner;
  if (!owner.kind.empty()) return Regarding{owner.api_version, owner.kind, owner.name, owner.uid, ""};
  return Regarding{"v1", "Pod", pod.name, pod.uid, ""};
}

}  // namespace

void Draft::Record(GangState& gang, std::string_view type, std::string_view reason,
                   const std::string& message) {
  std::optional<Regarding> about = RegardingOf(gang);
  if (!about || gang.event_reason == reason) return;
  std::string name = about->name.substr(0, 200) + "." + std::to_string(now.wall.time_since_epoch().count());
  std::string time = FormatTime(now.wall);
  json::Doc event = {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", {{"name", name}, {"namespace", gang.ns}}},
      {"involvedObject",
       {{"apiVersion", about->api_version},
        {"kind", about->kind},
        {"namespace", gang.ns},
        {"name", about->name},
        {"uid", about->uid},
        {"resourceVersion", about->version}}},
      {"type", type},
      {"reason", reason},
      {"message", message.substr(0, 1000)},
      {"source", {{"component", "lockstep"}}},
      {"reportingComponent", "lockstep.dev/operator"},
      {"reportingInstance", "lockstep"},
      {"firstTimestamp", time},
      {"lastTimestamp", time},
      {"count", 1},
  };
  kube::Request request;
  request.verb = kube::Verb::kCreate;
  request.resource = &kube::kEvents;
  request.ns = gang.ns;
  request.body = json::Dump(event);
  if (Emit(ActionKind::kRecordEvent, gang, "events/" + gang.ns + "/" + name, std::move(request))) {
    gang.event_reason = reason;
  }
}

}  // namespace lockstep::engine
