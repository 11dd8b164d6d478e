#include "shell/leader.h"

#include "base/hash.h"
#include "base/log.h"

namespace lockstep::shell {

namespace {

constexpr const char* kSeenAnnotation = "lockstep.dev/seen";

std::optional<LeaderGate::Seen> TakeSeen(json::Doc& lease) {
  json::Doc& annotations = lease["metadata"]["annotations"];
  if (!annotations.is_object() || !annotations.contains(kSeenAnnotation)) return std::nullopt;
  json::Doc text = annotations[kSeenAnnotation];
  annotations.erase(kSeenAnnotation);  // it is true for one who takes over now
  Result<json::Doc> doc =
      text.is_string() ? json::Parse(text.get<std::string>()) : Result<json::Doc>(Error{});
  if (!doc.ok() || !doc->is_object()) return std::nullopt;
  LeaderGate::Seen seen;
  for (const auto& [plural, version] : doc->items()) {
    if (!version.is_number_unsigned()) return std::nullopt;
    seen[plural] = version.get<uint64_t>();
  }
  return seen;
}

}  // namespace

LeaderGate::LeaderGate(kube::Api& api, LeaderOptions options, Callbacks callbacks)
    : api_(api),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      timer_(api.loop()),
      expiry_(api.loop()) {}

LeaderGate::~LeaderGate() { *alive_ = false; }

void LeaderGate::Start() { Try(); }

std::optional<MonoTime> LeaderGate::MayWriteUntil() const {
  bool may = leading_ && !released_ && api_.loop().now().mono < valid_until_;
  return may ? std::optional(valid_until_) : std::nullopt;
}

kube::Request LeaderGate::LeaseRequest(kube::Verb verb) const {
  kube::Request request;
  request.verb = verb;
  request.resource = &kube::kLeases;
  request.ns = options_.ns;
  if (verb != kube::Verb::kCreate) request.name = options_.name;
  return request;
}

void LeaderGate::Again(Duration delay) {
  timer_.SetAfter(delay, [this] { Try(); });
}

void LeaderGate::Try() {
  if (released_) return;
  // A leader writes from the record it knows; only a conflict makes it read again.
  if (leading_ && !lease_.is_null()) {
    json::Doc lease = lease_;
    lease["spec"]["renewTime"] = FormatMicroTime(api_.loop().now().wall);
    return Write(lease, /*create=*/false);
  }
  api_.Send(LeaseRequest(kube::Verb::kGet), [this, alive = alive_](const kube::Response& response) {
    if (*alive) OnRead(response);
  });
}

json::Doc LeaderGate::OurSpec(int64_t transitions) const {
  std::string now = FormatMicroTime(api_.loop().now().wall);
  return {{"holderIdentity", options_.identity},
          {"leaseDurationSeconds", std::chrono::ceil<seconds>(options_.lease).count()},
          {"acquireTime", now},
          {"renewTime", now},
          {"leaseTransitions", transitions}};
}

void LeaderGate::Failed(const kube::Status& status) {
  std::string trouble = "the Lease " + options_.ns + "/" + options_.name + ": " + status.message;
  if (trouble != trouble_) LogLine(LogLevel::kWarning, "can't lead", {{"error", trouble}});
  trouble_ = std::move(trouble);
}

void LeaderGate::OnRead(const kube::Response& response) {
  if (released_) return;
  if (response.status.not_found()) {
    json::Doc lease = {{"apiVersion", kube::kLeases.ApiVersion()},
                       {"kind", kube::kLeases.kind},
                       {"metadata", {{"name", options_.name}, {"namespace", options_.ns}}},
                       {"spec", OurSpec(0)}};
    return Write(lease, /*create=*/true);
  }
  Result<json::Doc> lease = response.status.ok() ? json::Parse(response.body) : Result<json::Doc>(Error{});
  if (!lease.ok()) {
    if (!response.status.ok()) Failed(response.status);
    return Again(options_.retry);
  }
  trouble_.clear();
  MonoTime now = api_.loop().now().mono;
  std::string record = json::GetString(*lease, "metadata.resourceVersion");
  if (record != record_) {
    record_ = record;
    record_seen_ = now;
  }
  lease_ = *lease;
  holder_ = json::GetString(*lease, "spec.holderIdentity");
  Duration theirs = seconds(json::GetInt(*lease, "spec.leaseDurationSeconds", 15));
  bool free = holder_.empty() || holder_ == options_.identity || now >= record_seen_ + theirs;
  if (!free) {
    // Not in step with other standbys.
    Duration jitter(StableJitter(options_.identity, static_cast<uint64_t>(now.time_since_epoch().count()),
                                 static_cast<uint64_t>(options_.retry.count() / 4 + 1)));
    return Again(options_.retry - jitter);
  }
  left_ = TakeSeen(*lease);
  if (!holder_.empty()) left_.reset();  // it ran out instead
  (*lease)["spec"] = OurSpec(json::GetInt(*lease, "spec.leaseTransitions") + 1);
  Write(*lease, /*create=*/false);
}

void LeaderGate::Write(const json::Doc& lease, bool create) {
  kube::Request request = LeaseRequest(create ? kube::Verb::kCreate : kube::Verb::kUpdate);
  request.body = json::Dump(lease);
  MonoTime sent_at = api_.loop().now().mono;
  api_.Send(std::move(request), [this, alive = alive_, sent_at](const kube::Response& response) {
    if (*alive) OnWritten(response, sent_at);
  });
}

void LeaderGate::OnWritten(const kube::Response& response, MonoTime sent_at) {
  if (released_) return;
  Result<json::Doc> lease = response.status.ok() ? json::Parse(response.body) : Result<json::Doc>(Error{});
  if (!lease.ok()) {
    bool lost_race = response.status.conflict() || response.status.already_exists();
    if (!response.status.ok() && !lost_race) Failed(response.status);
    if (!response.status.unknown())
      lease_ = nullptr;  // conflict: somebody else wrote; read before the next try
    return Again(options_.retry);
  }
  trouble_.clear();
  lease_ = *std::move(lease);
  record_ = json::GetString(lease_, "metadata.resourceVersion");
  holder_ = options_.identity;
  valid_until_ = sent_at + options_.lease - options_.margin;
  expiry_.SetAt(valid_until_, [this] { CheckStillLeading(); });
  Again(options_.renew);
  if (leading_ || api_.loop().now().mono >= valid_until_) return;
  leading_ = true;
  LogLine(LogLevel::kInfo, "leading", {{"identity", options_.identity}});
  std::optional<Seen> left = std::exchange(left_, std::nullopt);
  if (callbacks_.on_lead) callbacks_.on_lead(left ? &*left : nullptr);
}

void LeaderGate::CheckStillLeading() {
  if (!leading_ || api_.loop().now().mono < valid_until_) return;
  leading_ = false;
  lease_ = nullptr;
  LogLine(LogLevel::kWarning, "lost the lease: it could not be renewed in time",
          {{"identity", options_.identity}});
  if (callbacks_.on_lost) callbacks_.on_lost();
}

void LeaderGate::Release(const Seen& seen, std::function<void()> done) {
  timer_.Stop();
  expiry_.Stop();
  released_ = true;
  if (!leading_ || lease_.is_null()) return done();
  leading_ = false;
  lease_["spec"]["holderIdentity"] = "";
  lease_["spec"]["leaseDurationSeconds"] = 1;
  json::Doc text = json::Doc::object();
  for (const auto& [plural, version] : seen) text[plural] = version;
  if (!seen.empty()) lease_["metadata"]["annotations"][kSeenAnnotation] = json::Dump(text);
  kube::Request request = LeaseRequest(kube::Verb::kUpdate);
  request.body = json::Dump(lease_);
  api_.Send(std::move(request), [alive = alive_, done = std::move(done)](const kube::Response&) {
    if (*alive) done();
  });
}

}  // namespace lockstep::shell
