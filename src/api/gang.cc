#include "api/gang.h"

#include <algorithm>
#include <array>

#include "api/placement_text.h"
#include "base/ascii.h"
#include "base/hash.h"
#include "kube/api/resource.h"
#include "kube/model/reader.h"

namespace lockstep::api {

namespace {

using json::Doc;
using kube::Join;
using kube::Reader;

// Bounds on what is read: a Gang is ours, but anybody with the right to may have written it.
constexpr size_t kMaxRoles = 64;
constexpr int64_t kMaxIndex = 1'000'000;
constexpr size_t kMaxSeatedNodes = 20'000;
constexpr int64_t kMaxCounter = 1'000'000'000;

constexpr std::array<std::string_view, 8> kPhases = {"Queued",  "Checking",   "Placing",   "Starting",
                                                     "Running", "Restarting", "Succeeded", "Failed"};

constexpr std::array<std::string_view, 3> kWays = {"Assign", "Bind", "Steer"};

int32_t CountAt(Reader& read, const Doc& object, const std::string& path, std::string_view key,
                int64_t fallback) {
  int64_t count = read.Int(object, path, key).value_or(fallback);
  if (count >= 0 && count <= kMaxIndex) return static_cast<int32_t>(count);
  read.Fail(Join(path, key),
            "must be from 0 to " + std::to_string(kMaxIndex) + ", is " + std::to_string(count));
  return 0;
}

int64_t CounterAt(Reader& read, const Doc& object, const std::string& path, std::string_view key) {
  int64_t count = read.Int(object, path, key).value_or(0);
  if (count >= 0 && count <= kMaxCounter) return count;
  read.Fail(Join(path, key),
            "must be from 0 to " + std::to_string(kMaxCounter) + ", is " + std::to_string(count));
  return 0;
}

std::optional<WallTime> TimeAt(Reader& read, const Doc& object, const std::string& path,
                               std::string_view key) {
  std::string text = read.Text(object, path, key);
  if (text.empty()) return std::nullopt;
  Result<WallTime> time = ParseTime(text);
  if (time.ok()) return *time;
  read.Fail(Join(path, key), time.error().message);
  return std::nullopt;
}

std::string RequiredText(Reader& read, const Doc& object, const std::string& path, std::string_view key) {
  std::string text = read.Text(object, path, key);
  if (text.empty()) read.Fail(Join(path, key), "must be set");
  return text;
}

GangSpec ReadSpec(Reader& read, const Doc& object) {
  GangSpec spec;
  const Doc* doc = read.Object(object, "", "spec");
  if (doc == nullptr) {
    read.Fail("spec", "must be set");
    return spec;
  }
  if (const Doc* job = read.Object(*doc, "spec", "job")) {
    spec.job = {RequiredText(read, *job, "spec.job", "apiVersion"),
                RequiredText(read, *job, "spec.job", "kind"), RequiredText(read, *job, "spec.job", "name"),
                RequiredText(read, *job, "spec.job", "uid")};
  } else {
    read.Fail("spec.job", "must be set");
  }
  RequiredText(read, *doc, "spec", "queuedAt");
  spec.queued_at = TimeAt(read, *doc, "spec", "queuedAt").value_or(WallTime{});
  std::vector<const Doc*> roles = read.Objects(*doc, "spec", "roles");
  if (roles.empty() || roles.size() > kMaxRoles) {
    read.Fail("spec.roles", "must have 1 to " + std::to_string(kMaxRoles) + " entries");
    return spec;
  }
  for (size_t i = 0; i < roles.size(); ++i) {
    std::string path = Join("spec.roles", i);
    GangRole role{.name = RequiredText(read, *roles[i], path, "name")};
    role.count = CountAt(read, *roles[i], path, "count", 0);
    role.min_count = CountAt(read, *roles[i], path, "minCount", role.count);
    if (role.min_count > role.count) read.Fail(Join(path, "minCount"), "must be at most count");
    spec.roles.push_back(std::move(role));
  }
  return spec;
}

Doc PlacementDoc(const std::vector<NodeSeats>& placement) {
  return placement.empty() ? Doc() : Doc(PlacementText(placement));
}

std::vector<NodeSeats> ReadPlacement(Reader& read, const Doc& status) {
  std::vector<NodeSeats> placement;
  std::vector<std::string> entries = read.Texts(status, "status", "placement");
  for (size_t i = 0; i < entries.size(); ++i) {
    if (ParsePlacementText(entries[i], kMaxSeatedNodes, placement)) continue;
    read.Fail(Join("status.placement", i), placement.size() >= kMaxSeatedNodes
                                               ? "has too many nodes"
                                               : "must be like gpu-7=Master/0,Worker/0-6");
    break;
  }
  return placement;
}

std::vector<BarredNode> ReadBarred(Reader& read, const Doc& status) {
  std::vector<BarredNode> barred;
  std::vector<const Doc*> entries = read.Objects(status, "status", "barredNodes");
  for (size_t i = 0; i < entries.size(); ++i) {
    std::string path = Join("status.barredNodes", i);
    BarredNode node{.node = RequiredText(read, *entries[i], path, "node")};
    RequiredText(read, *entries[i], path, "until");
    node.until = TimeAt(read, *entries[i], path, "until").value_or(WallTime{});
    node.times = CountAt(read, *entries[i], path, "times", 1);
    node.reason = read.Text(*entries[i], path, "reason");
    barred.push_back(std::move(node));
  }
  return barred;
}

GangStatus ReadStatus(Reader& read, const Doc& doc) {
  GangStatus status;
  std::string phase = read.Text(doc, "status", "phase");
  if (std::optional<GangPhase> known = ParsePhase(phase)) {
    status.phase = *known;
  } else if (!phase.empty()) {
    read.Fail("status.phase", "must be a phase like Queued or Running, is \"" + phase.substr(0, 40) + "\"");
  }
  status.attempt = CounterAt(read, doc, "status", "attempt");
  status.start_failures = CounterAt(read, doc, "status", "startFailures");
  if (const Doc* restarts = read.Object(doc, "status", "restarts")) {
    status.policy_restarts = CounterAt(read, *restarts, "status.restarts", "policy");
    status.fault_restarts = CounterAt(read, *restarts, "status.restarts", "fault");
  }
  status.placement = ReadPlacement(read, doc);
  std::string way = read.Text(doc, "status", "way");
  if (std::optional<Way> known = ParseWay(way)) {
    status.way = *known;
  } else if (!way.empty()) {
    read.Fail("status.way", "must be Assign, Bind or Steer, is \"" + way.substr(0, 40) + "\"");
  }
  status.phase_since = TimeAt(read, doc, "status", "phaseSince");
  status.waiting_since = TimeAt(read, doc, "status", "waitingSince");
  int64_t priority = read.Int(doc, "status", "priority").value_or(0);
  if (priority < INT32_MIN || priority > INT32_MAX) read.Fail("status.priority", "must fit 32 bits");
  status.priority = static_cast<int32_t>(priority);
  status.not_before = TimeAt(read, doc, "status", "notBefore");
  status.barred = ReadBarred(read, doc);
  if (const Doc* needs = read.Object(doc, "status", "needs")) {
    status.needs = read.Take(kube::ParseResources(needs, "status.needs"));
  }
  status.reason = {read.Text(doc, "status", "reason"), read.Text(doc, "status", "message")};
  return status;
}

Doc TimeOrNull(const std::optional<WallTime>& time) { return time ? Doc(FormatMicroTime(*time)) : Doc(); }
Doc CountOrNull(int64_t count) { return count != 0 ? Doc(count) : Doc(); }
Doc TextOrNull(const std::string& text) { return text.empty() ? Doc() : Doc(text); }

bool InBytes(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
}

Doc NeedsDoc(const kube::Resources& needs) {
  if (needs.empty()) return {};
  Doc doc = Doc::object();
  for (const auto& [name, amount] : needs) doc[name] = kube::FormatQuantity(amount, InBytes(name));
  return doc;
}

// "8 nvidia.com/gpu, 16 cpu": what a gang waits for comes first, and extended resources are what is scarce.
std::string NeedsText(const kube::Resources& needs) {
  std::string extended, plain;
  for (const auto& [name, amount] : needs) {
    std::string& text = name.find('/') != std::string::npos ? extended : plain;
    if (amount == 0 || name == "pods") continue;
    text += (text.empty() ? "" : ", ") + kube::FormatQuantity(amount, InBytes(name)) + " " + name;
  }
  return extended.empty() || plain.empty() ? extended + plain : extended + ", " + plain;
}

}  // namespace

std::string_view PhaseText(GangPhase phase) { return kPhases[static_cast<size_t>(phase)]; }

std::optional<GangPhase> ParsePhase(std::string_view text) {
  auto found = std::ranges::find(kPhases, text);
  if (found == kPhases.end()) return std::nullopt;
  return static_cast<GangPhase>(found - kPhases.begin());
}

std::string_view WayText(Way way) { return kWays[static_cast<size_t>(way)]; }

std::optional<Way> ParseWay(std::string_view text) {
  auto found = std::ranges::find_if(kWays, [&](auto known) { return AsciiLower(known) == AsciiLower(text); });
  if (found == kWays.end()) return std::nullopt;
  return static_cast<Way>(found - kWays.begin());
}

int32_t Gang::pods() const {
  int64_t sum = 0;
  for (const GangRole& role : spec.roles) sum += role.count;
  return static_cast<int32_t>(sum);
}

Result<Gang> ParseGang(const json::Doc& object) {
  Reader read;
  Gang gang;
  gang.meta = kube::ParseMeta(object);
  if (gang.meta.name.empty()) read.Fail("metadata.name", "must be set");
  gang.spec = ReadSpec(read, object);
  if (read.error()) return *read.error();
  Reader read_status;
  const Doc* status = read_status.Object(object, "", "status");
  if (status != nullptr) gang.status = ReadStatus(read_status, *status);
  if (read_status.error()) {
    gang.unreadable = read_status.error()->message;
    gang.status = {.policy_restarts = gang.status.policy_restarts,
                   .fault_restarts = gang.status.fault_restarts};
  }
  return gang;
}

json::Doc NewGangDoc(const std::string& ns, const GangSpec& spec) {
  Doc roles = Doc::array();
  for (const GangRole& role : spec.roles) {
    roles.push_back({{"name", role.name}, {"count", role.count}, {"minCount", role.min_count}});
  }
  Doc job = {{"apiVersion", spec.job.api_version},
             {"kind", spec.job.kind},
             {"name", spec.job.name},
             {"uid", spec.job.uid}};
  Doc owner = job;
  owner.update({{"controller", true}, {"blockOwnerDeletion", true}});
  return {{"apiVersion", kube::kGangs.ApiVersion()},
          {"kind", kube::kGangs.kind},
          {"metadata",
           {{"name", GangName(spec.job.kind, spec.job.name)},
            {"namespace", ns},
            {"ownerReferences", Doc::array({std::move(owner)})}}},
          {"spec",
           {{"job", std::move(job)},
            {"queuedAt", FormatMicroTime(spec.queued_at)},
            {"roles", std::move(roles)}}}};
}

json::Doc StatusDoc(const GangStatus& status, const std::vector<GangRole>& roles,
                    const GangStatus* previous) {
  Doc barred = Doc::array();
  for (const BarredNode& node : status.barred) {
    barred.push_back({{"node", node.node},
                      {"until", FormatMicroTime(node.until)},
                      {"times", node.times},
                      {"reason", node.reason}});
  }
  Doc needs = NeedsDoc(status.needs);
  if (previous != nullptr && !needs.is_null()) {
    for (const auto& [name, amount] : previous->needs) {
      if (!status.needs.contains(name)) needs[name] = nullptr;
    }
  }
  int64_t pods = 0;
  for (const GangRole& role : roles) pods += role.count;
  return {{"phase", PhaseText(status.phase)},
          {"attempt", status.attempt},
          {"pods", pods},
          {"restarts", {{"policy", status.policy_restarts}, {"fault", status.fault_restarts}}},
          {"placement", PlacementDoc(status.placement)},
          {"way", status.way == Way::kAssign ? Doc() : Doc(WayText(status.way))},
          {"phaseSince", TimeOrNull(status.phase_since)},
          {"waitingSince", TimeOrNull(status.waiting_since)},
          {"priority", CountOrNull(status.priority)},
          {"notBefore", TimeOrNull(status.not_before)},
          {"startFailures", CountOrNull(status.start_failures)},
          {"barredNodes", barred.empty() ? Doc() : std::move(barred)},
          {"needs", std::move(needs)},
          {"needsText", TextOrNull(NeedsText(status.needs))},
          {"reason", TextOrNull(status.reason.code)},
          {"message", TextOrNull(status.reason.message)}};
}

std::string GangName(std::string_view kind, std::string_view job_name) {
  constexpr size_t kMaxName = 253;
  std::string name = AsciiLower(kind);
  name.append("-").append(job_name);
  if (name.size() <= kMaxName) return name;
  std::string hash = std::to_string(StableHash(name));
  name.resize(kMaxName - hash.size() - 1);
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  return name + "-" + hash;
}

}  // namespace lockstep::api
