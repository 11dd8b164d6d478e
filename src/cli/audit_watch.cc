#include "cli/audit_watch.h"

#include <cstdio>

#include "audit/sighting.h"
#include "base/log.h"
#include "base/real_loop.h"
#include "cli/connection.h"
#include "cli/signals.h"
#include "kube/client/http_api.h"
#include "shell/reflector.h"

namespace lockstep::cli {

namespace {

using audit::Sighting;

constexpr Duration kLongestListing = seconds(60);

// What is left of an object whose deletion a list found.
json::DocPtr IdentityOnly(const std::string& key, const std::string& uid) {
  size_t slash = key.find('/');
  json::Doc meta = {{"name", slash == std::string::npos ? key : key.substr(slash + 1)}, {"uid", uid}};
  if (slash != std::string::npos) meta["namespace"] = key.substr(0, slash);
  return std::make_shared<const json::Doc>(json::Doc{{"metadata", meta}});
}

// The watches of all kinds, filling a record.
class Watcher {
 public:
  Watcher(kube::Api& api, audit::Record& record, audit::ReadCounts& counts)
      : api_(api), record_(record), counts_(counts) {
    for (const audit::WatchedKind& kind : audit::WatchedKinds()) Add(kind);
    for (const auto& reflector : reflectors_) reflector->Start();
  }

  // Why a verdict will never be possible, or "". A refusal is final; all else may still be cured.
  std::string Refusal() const {
    return FirstUnlisted([](const shell::Reflector& reflector) {
      int code = reflector.last_error().code;
      return code == 401 || code == 403;
    });
  }

  // Why a verdict is not possible now, or "".
  std::string Trouble() const {
    std::string refusal = Refusal();
    return refusal.empty() ? FirstUnlisted([](const shell::Reflector&) { return true; }) : refusal;
  }

  // Every kind was listed or can't be.
  bool listed() const { return listed_; }

  std::vector<std::string> NotSeen() const {
    std::vector<std::string> kinds;
    for (const auto& reflector : reflectors_) {
      if (!reflector->synced() && !reflector->missing()) kinds.push_back(reflector->trouble());
    }
    return kinds;
  }

 private:
  // The trouble of the first kind that a verdict needs, is not listed and is so.
  template <typename Predicate>
  std::string FirstUnlisted(Predicate predicate) const {
    for (size_t i = 0; i < reflectors_.size(); ++i) {
      const shell::Reflector& reflector = *reflectors_[i];
      if (!audit::WatchedKinds()[i].needed || reflector.synced() || !predicate(reflector)) continue;
      std::string why = reflector.trouble();
      return why.empty() ? std::string(reflector.resource().plural) + ": not listed in time" : why;
    }
    return "";
  }

  void Announce() {
    if (listed_ || !Trouble().empty()) return;
    for (const auto& reflector : reflectors_) {
      if (!reflector->synced() && reflector->last_error().ok()) return;
    }
    listed_ = true;
    std::fprintf(stderr, "lockstep audit: watching\n");
  }

  void Add(const audit::WatchedKind& kind) {
    const kube::Resource* resource = kind.resource;
    size_t index = reflectors_.size();
    shell::Reflector::Callbacks callbacks;
    callbacks.on_upsert = [this, resource, index](const std::string&, const std::string&,
                                                  json::DocPtr object) {
      bool listed = !reflectors_[index]->synced();
      Take(resource, listed ? Sighting::What::kListed : Sighting::What::kChanged, std::move(object));
    };
    callbacks.on_delete = [this, resource](const std::string& key, const std::string& uid,
                                           json::DocPtr last) {
      if (last != nullptr) return Take(resource, Sighting::What::kGone, std::move(last));
      Take(resource, Sighting::What::kVanished, IdentityOnly(key, uid));
    };
    callbacks.on_synced = callbacks.on_failed = [this] { Announce(); };
    reflectors_.push_back(
        std::make_unique<shell::Reflector>(api_, *resource, shell::Reflector::Scope{}, std::move(callbacks)));
  }

  void Take(const kube::Resource* resource, Sighting::What what, json::DocPtr object) {
    ++counts_.events;
    record_.Take({resource, what, std::move(object), api_.loop().now().wall});
  }

  kube::Api& api_;
  audit::Record& record_;
  audit::ReadCounts& counts_;
  std::vector<std::unique_ptr<shell::Reflector>> reflectors_;
  bool listed_ = false;
};

}  // namespace

Result<audit::ReadCounts> WatchForAudit(const AuditWatch& watch, audit::Record& record) {
  SetLog(LogLevel::kError, LogFormat::kText);
  Signals signals;
  Result<kube::ClientConfig> config = Connect(watch.kubeconfig, watch.context);
  if (!config.ok()) return config.error();
  RealLoop loop;
  kube::HttpApi api(loop, *config);
  audit::ReadCounts counts{.watched = true};
  signals.Watch(loop, [&] { loop.Stop(); });
  Watcher watcher(api, record, counts);
  auto refused = [&] { return !watcher.Refusal().empty(); };
  loop.RunUntilTrue([&] { return watcher.listed() || refused(); }, kLongestListing);
  Duration longest = std::min<Duration>(watch.longest, hours(24 * 365 * 10));
  if (watcher.listed()) loop.RunUntilTrue(refused, longest);
  if (std::string trouble = watcher.Trouble(); !trouble.empty()) return Error{trouble};
  record.WatchedUntil(loop.now().wall);
  counts.not_seen = watcher.NotSeen();
  return counts;
}

}  // namespace lockstep::cli
