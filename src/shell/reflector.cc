#include "shell/reflector.h"

#include <algorithm>
#include <cstdlib>

#include "base/hash.h"
#include "base/log.h"
#include "json/tolerant.h"
#include "kube/model/meta.h"

namespace lockstep::shell {

namespace {

// A watch that ends sooner than this without an event is no progress: reopening it at once would be a storm.
constexpr Duration kShortWatch = seconds(1);

std::string Title(const kube::Resource& resource, const Reflector::Scope& scope) {
  std::string title(resource.plural);
  if (!scope.ns.empty()) title += "/" + scope.ns;
  if (!scope.label_selector.empty()) title += "?" + scope.label_selector;
  if (!scope.field_selector.empty()) title += "?" + scope.field_selector;
  return title;
}

uint64_t Number(const std::string& version) { return std::strtoull(version.c_str(), nullptr, 10); }

}  // namespace

Reflector::Reflector(kube::Api& api, const kube::Resource& resource, Scope scope, Callbacks callbacks,
                     ReflectorOptions options)
    : api_(api),
      resource_(resource),
      scope_(std::move(scope)),
      callbacks_(std::move(callbacks)),
      options_(std::move(options)),
      title_(Title(resource_, scope_)),
      retry_(api.loop()),
      silence_(api.loop()) {}

Reflector::~Reflector() { *alive_ = false; }

void Reflector::Start() { BeginList(); }

void Reflector::BeginList() {
  ++list_number_;
  ++counts_.lists;
  ListPage("");
}

void Reflector::ListPage(std::string continue_token) {
  kube::Request request;
  request.verb = kube::Verb::kList;
  request.resource = &resource_;
  request.ns = scope_.ns;
  request.label_selector = scope_.label_selector;
  request.field_selector = scope_.field_selector;
  request.limit = options_.page_size;
  request.continue_token = std::move(continue_token);
  api_.Send(std::move(request), [this, alive = alive_](kube::Response response) {
    if (*alive) OnPage(std::move(response));
  });
}

void Reflector::OnPage(kube::Response response) {
  // 410 on a page: the continue token outlived its snapshot, so the list starts over.
  if (!response.status.ok()) return Fail(std::move(response.status), Next::kList);
  Result<json::Doc> list = json::ParseTolerant(response.body);
  if (!list.ok()) return Fail(kube::NoAnswer("list: " + list.error().message), Next::kList);
  last_contact_ = api_.loop().now().mono;
  response.body.clear();
  if (!TakeItems(*list)) return;
  std::string token = json::GetString(*list, "metadata.continue");
  if (token.empty()) return FinishList(json::GetString(*list, "metadata.resourceVersion"));
  ListPage(std::move(token));
}

bool Reflector::TakeItems(json::Doc& list) {
  auto items = list.find("items");
  if (items == list.end() || !items->is_array()) return true;  // "items": null is an empty list
  for (json::Doc& item : *items) {
    if (!Deliver(std::make_shared<json::Doc>(std::move(item)), list_number_)) return false;
  }
  return true;
}

void Reflector::FinishList(const std::string& resource_version) {
  std::vector<std::string> vanished;
  for (const auto& [key, known] : known_) {
    if (known.seen != list_number_) vanished.push_back(key);
  }
  std::sort(vanished.begin(), vanished.end());
  for (const std::string& key : vanished) {
    if (!Forget(key, nullptr)) return;
  }
  resource_version_ = resource_version;
  synced_ = true;
  last_error_ = {};
  std::shared_ptr<bool> alive = alive_;
  if (callbacks_.on_synced) callbacks_.on_synced();
  if (*alive) BeginWatch();
}

void Reflector::BeginWatch() {
  ++counts_.watches;
  watch_began_ = api_.loop().now().mono;
  watch_was_quiet_ = true;
  kube::WatchRequest request;
  request.resource = &resource_;
  request.ns = scope_.ns;
  request.label_selector = scope_.label_selector;
  request.field_selector = scope_.field_selector;
  request.resource_version = resource_version_;
  watch_ = api_.StartWatch(std::move(request), *this);
  ArmSilence();
}

void Reflector::ArmSilence() {
  if (options_.longest_silence <= Duration::zero()) return;
  // One timer for the whole watch, moved on only when it fires: events are many, silences few.
  if (silence_.armed()) return;
  MonoTime quiet_since = std::max(watch_began_, last_contact_);
  silence_.SetAt(quiet_since + options_.longest_silence, [this] {
    MonoTime heard = std::max(watch_began_, last_contact_);
    if (api_.loop().now().mono < heard + options_.longest_silence) return ArmSilence();
    watch_.reset();
    Fail(kube::NoAnswer("watch fell silent"), Next::kList);
  });
}

void Reflector::OnEvent(kube::WatchEventType type, std::string object) {
  Result<json::Doc> parsed = json::ParseTolerant(object);
  if (parsed.ok()) return OnTree(type, std::make_shared<const json::Doc>(*std::move(parsed)));
  NoteEvent();
  SkipBad(parsed.error().message);
}

void Reflector::NoteEvent() {
  last_contact_ = api_.loop().now().mono;
  watch_was_quiet_ = false;
  failures_in_a_row_ = 0;
  last_error_ = {};
  ++counts_.events;
}

void Reflector::OnTree(kube::WatchEventType type, const json::DocPtr& doc) {
  NoteEvent();
  std::string version = json::GetString(*doc, "metadata.resourceVersion");
  if (!version.empty()) resource_version_ = version;
  if (type != kube::WatchEventType::kBookmark) newest_ = std::max(newest_, Number(version));
  switch (type) {
    case kube::WatchEventType::kBookmark:
      return;
    case kube::WatchEventType::kAdded:
    case kube::WatchEventType::kModified:
      Deliver(doc, list_number_);
      return;
    case kube::WatchEventType::kDeleted: {
      std::string key = kube::KeyOf(*doc);
      Forget(key, doc);
      return;
    }
  }
}

uint64_t Reflector::seen_until() const { return Number(resource_version_); }

bool Reflector::in_touch() const {
  if (watch_ == nullptr) return false;
  return failures_in_a_row_ == 0 || api_.loop().now().mono - watch_began_ >= kShortWatch;
}

void Reflector::OnEnd(kube::Status status) {
  silence_.Stop();
  // Only a watch that lived ends a row of failures: a list that works between refused watches does not.
  bool short_lived = watch_was_quiet_ && api_.loop().now().mono - watch_began_ < kShortWatch;
  if (!short_lived) failures_in_a_row_ = 0;
  if (status.ok()) {
    // The server's ordinary time-out: go on from where we are.
    if (!short_lived) return Schedule(Next::kWatch, Duration::zero());
    return Fail(kube::NoAnswer("watch ended at once"), Next::kWatch);
  }
  if (status.gone() && failures_in_a_row_ == 0) {
    // Not a failure: we were away for longer than the server remembers. Only a second one in a row backs off.
    LogLine(LogLevel::kInfo, "watch expired, listing again", {{"what", title_}});
    ++failures_in_a_row_;
    return Schedule(Next::kList, Duration::zero());
  }
  // What a retry cannot cure may come from the version we ask for; a list starts from nothing.
  Next next = status.transient() && !status.gone() ? Next::kWatch : Next::kList;
  Fail(std::move(status), next);
}

void Reflector::Fail(kube::Status status, Next next) {
  ++counts_.failures;
  ++failures_in_a_row_;
  last_error_ = std::move(status);
  Duration delay = std::max(Backoff(), last_error_.retry_after.value_or(Duration::zero()));
  LogLine(
      options_.optional        ? LogLevel::kDebug
      : failures_in_a_row_ > 1 ? LogLevel::kWarning
                               : LogLevel::kInfo,
      next == Next::kList ? "list will be tried again" : "watch will be tried again",
      {{"what", title_}, {"code", last_error_.code}, {"error", trouble()}, {"in", FormatDuration(delay)}});
  Schedule(next, delay);
  if (callbacks_.on_failed) callbacks_.on_failed();
}

std::string Reflector::trouble() const {
  if (last_error_.ok()) return "";
  std::string text = title_ + ": " + last_error_.message;
  if (last_error_.not_found() && !resource_.group.empty())
    text +=
        "; is the CRD " + std::string(resource_.plural) + "." + std::string(resource_.group) + " installed?";
  return text;
}

void Reflector::Schedule(Next next, Duration delay) {
  silence_.Stop();
  retry_.SetAfter(delay, [this, next] {
    watch_.reset();
    if (next == Next::kList) {
      BeginList();
    } else {
      BeginWatch();
    }
  });
}

Duration Reflector::Backoff() {
  int doublings = std::min(failures_in_a_row_ - 1, 16);
  Duration whole = std::min(options_.first_backoff * (int64_t{1} << doublings), options_.longest_backoff);
  int64_t half = std::max<int64_t>(whole.count() / 2, 1);
  return Duration(half + static_cast<int64_t>(StableJitter(title_ + options_.jitter_seed, counts_.failures,
                                                           static_cast<uint64_t>(half))));
}

bool Reflector::Deliver(json::DocPtr object, uint64_t seen) {
  std::string uid = json::GetString(*object, "metadata.uid");
  if (json::GetString(*object, "metadata.name").empty() || uid.empty()) {
    SkipBad("an object without metadata.name or metadata.uid");
    return true;
  }
  std::string key = kube::KeyOf(*object);
  std::string version = json::GetString(*object, "metadata.resourceVersion");
  newest_ = std::max(newest_, Number(version));
  auto found = known_.find(key);
  if (found != known_.end()) {
    if (found->second.uid != uid) {
      if (!Forget(key, nullptr)) return false;
    } else {
      found->second.seen = seen;
      if (found->second.resource_version == version) return true;
    }
  }
  known_[key] = {std::move(uid), version, seen};
  std::shared_ptr<bool> alive = alive_;
  if (callbacks_.on_upsert) callbacks_.on_upsert(key, version, std::move(object));
  return *alive;
}

bool Reflector::Forget(const std::string& key, json::DocPtr last) {
  auto found = known_.find(key);
  if (found == known_.end()) return true;
  std::string uid = std::move(found->second.uid);
  std::string name = key;  // NOLINT(performance-unnecessary-copy-initialization): `key` may live in what the
                           // callback changes
  known_.erase(found);
  std::shared_ptr<bool> alive = alive_;
  if (callbacks_.on_delete) callbacks_.on_delete(name, uid, std::move(last));
  return *alive;
}

void Reflector::SkipBad(std::string_view why) {
  // The first and then every thousandth: a broken writer must not fill the disk with our log.
  if (counts_.bad_objects++ % 1000 != 0) return;
  LogLine(LogLevel::kWarning, "skipped a broken object",
          {{"what", title_}, {"error", why}, {"count", counts_.bad_objects}});
}

}  // namespace lockstep::shell
