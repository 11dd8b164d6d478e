#include "engine/counters.h"

#include <array>
#include <charconv>

#include "api/labels.h"
#include "jobs/status.h"

namespace lockstep::engine {

using cluster::Counters;
using cluster::GangState;

namespace {

// More than any job sees in a year; whoever writes more by hand is not believed.
constexpr int64_t kMost = 1'000'000;

Counters Larger(const Counters& a, const Counters& b) {
  return {std::max(a.attempt, b.attempt), std::max(a.policy, b.policy), std::max(a.fault, b.fault)};
}

// "attempt/policy/fault"; nothing of a text that is something else.
Counters Parse(std::string_view text) {
  std::array<int64_t, 3> numbers{};
  const char* at = text.data();
  const char* end = text.data() + text.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '/')) return {};
    auto [rest, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc{} || numbers[i] < 0 || numbers[i] > kMost) return {};
    at = rest;
  }
  return at == end ? Counters{numbers[0], numbers[1], numbers[2]} : Counters{};
}

std::string Text(const Counters& counters) {
  return std::to_string(counters.attempt) + "/" + std::to_string(counters.policy) + "/" +
         std::to_string(counters.fault);
}

Counters Mirrored(const GangState& gang) {
  return Parse(gang.job->meta.annotation(api::kCountersAnnotation));
}

}  // namespace

void MirrorCounters(Draft& draft, GangState& gang) {
  const kube::Meta& job = gang.job->meta;
  if (gang.counted_of != job.uid) {
    gang.counted_of = job.uid;
    gang.counted = {};
  }
  if (gang.gang != nullptr && gang.gang->spec.job.uid == job.uid) {
    const api::GangStatus& status = gang.status();
    bool goes_on = gang.has_seats() || jobs::Finished(gang.job->status());
    int64_t over = goes_on ? status.attempt - 1 : status.attempt;
    gang.counted = Larger(gang.counted, {std::min(over, kMost), std::min(status.policy_restarts, kMost),
                                         std::min(status.fault_restarts, kMost)});
  }
  Counters mirrored = Mirrored(gang);
  Counters wanted = Larger(mirrored, gang.counted);
  if (wanted == mirrored) return;
  kube::Request request;
  request.verb = kube::Verb::kPatch;
  request.patch = kube::PatchType::kMerge;
  request.resource = &gang.framework->resource();
  request.ns = job.ns;
  request.name = job.name;
  request.body =
      json::Dump(json::Doc{{"metadata",
                            {{"resourceVersion", job.resource_version},
                             {"uid", job.uid},
                             {"annotations", {{std::string(api::kCountersAnnotation), Text(wanted)}}}}}});
  draft.Emit(cluster::ActionKind::kMirrorCounters, gang, gang.key, std::move(request));
}

Counters OverSoFar(const GangState& gang) {
  Counters mirrored = Mirrored(gang);
  return gang.counted_of == gang.job->meta.uid ? Larger(mirrored, gang.counted) : mirrored;
}

void TakeOver(const GangState& gang, api::GangStatus& status) {
  Counters over = OverSoFar(gang);
  status.attempt = std::max(status.attempt, over.attempt);
  status.policy_restarts = std::max(status.policy_restarts, over.policy);
  status.fault_restarts = std::max(status.fault_restarts, over.fault);
  for (const auto& [name, pod] : gang.pods) {
    // A pod without a node tells only of the attempt before it: it may have waited for its own.
    int64_t placed = pod->node.empty() ? pod->attempt - 1 : pod->attempt;
    if (pod->owner_uid == gang.job->meta.uid) status.attempt = std::max(status.attempt, placed);
  }
}

}  // namespace lockstep::engine
