#include "engine/job_status.h"

#include "engine/limits.h"
#include "json/patch.h"

namespace lockstep::engine {

using cluster::GangState;

namespace {

bool OnlyCountsDiffer(const json::Doc& from, const json::Doc& to) {
  json::Doc a = from, b = to;
  a.erase("replicaStatuses");
  b.erase("replicaStatuses");
  return a == b;
}

void Write(Draft& draft, GangState& gang, const json::Doc& status) {
  const kube::Meta& meta = gang.job->meta;
  kube::Request request;
  request.verb = kube::Verb::kPatch;
  request.patch = kube::PatchType::kMerge;
  request.resource = &gang.framework->resource();
  request.ns = meta.ns;
  request.name = meta.name;
  request.subresource = "status";
  // A merge patch removes what is null, at every depth: a count that became zero is left out of `status`.
  json::Doc changes = json::MergeDiff(gang.job->status(), status);
  request.body = json::Dump(json::Doc{
      {"metadata", {{"resourceVersion", meta.resource_version}, {"uid", meta.uid}}}, {"status", changes}});
  draft.Emit(cluster::ActionKind::kWriteJobStatus, gang, gang.key, std::move(request));
}

std::string_view LastReason(const json::Doc& status) {
  const json::Doc* conditions = json::Find(status, "conditions");
  if (conditions == nullptr || !conditions->is_array() || conditions->empty()) return "";
  const json::Doc* reason = json::Key(&conditions->back(), "reason");
  return reason != nullptr && reason->is_string() ? std::string_view(reason->get_ref<const std::string&>())
                                                  : "";
}

}  // namespace

bool WriteJobStatus(Draft& draft, GangState& gang, const jobs::JobFacts& facts) {
  const json::Doc& known = gang.job->status();
  json::Doc wanted = jobs::NextStatus(*gang.job->job(), facts, draft.now.wall);
  if (wanted == known) return true;
  if (gang.status_written && OnlyCountsDiffer(known, wanted)) {
    MonoTime due = *gang.status_written + kCountsInterval;
    if (draft.now.mono < due) {
      draft.world.WakeAt(due, gang.key);
      return false;
    }
  }
  Write(draft, gang, wanted);
  return false;
}

void RejectJob(Draft& draft, GangState& gang) {
  const auto& job = std::get<jobs::InvalidJob>(gang.job->body);
  json::Doc wanted = jobs::InvalidStatus(*gang.framework, job, draft.now.wall);
  if (wanted == gang.job->status()) return;
  Write(draft, gang, wanted);
  std::string all;
  for (const std::string& error : job.errors) all += (all.empty() ? "" : "; ") + error;
  draft.Record(gang, "Warning", LastReason(wanted), all);
}

}  // namespace lockstep::engine
