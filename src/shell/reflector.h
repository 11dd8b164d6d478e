#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/loop.h"
#include "json/doc.h"
#include "kube/api/api.h"

namespace lockstep::shell {

struct ReflectorOptions {
  int64_t page_size = 500;  // of the list; 0 is one page
  // After a failure the next try waits half to a whole of this, doubling up to the maximum.
  Duration first_backoff = milliseconds(500);
  Duration longest_backoff = seconds(30);
  // A watch that brought nothing, not even a bookmark (an API server sends one a minute), for this long is
  // taken for half-open and replaced by a fresh list. Zero: trust the connection.
  Duration longest_silence = minutes(3);
  bool optional = false;    // nobody misses it: failures are not told
  std::string jitter_seed;  // differs between replicas, so that they do not come back in step
};

// Keeps somebody's copy of one kind of object true: list, then watch, for ever.
//
//   Listing ──all pages──► Watching ──ended, connection lost──► Watching (from the last version)
//      ▲                      │
//      └── 410, refused, silent, failed list ── back-off ◄──────┘
//
// A list is compared with what was delivered before: objects that vanished meanwhile are deleted, one whose
// UID changed is deleted and delivered anew, unchanged ones are not delivered again. One broken object is
// logged, counted and skipped. Nothing is delivered after destruction; a callback may destroy the reflector.
class Reflector final : public kube::WatchHandler {
 public:
  struct Callbacks {
    // `key` is "ns/name" (or "name"). List items carry no kind and apiVersion.
    std::function<void(const std::string& key, const std::string& resource_version, json::DocPtr object)>
        on_upsert;
    // `last` is the object's last state, or null when the deletion was found by a list.
    std::function<void(const std::string& key, const std::string& uid, json::DocPtr last)> on_delete;
    // After every complete list; the copy is then whole.
    std::function<void()> on_synced;
    // After a list or a watch that failed; last_error() says why.
    std::function<void()> on_failed;
  };
  struct Scope {
    std::string ns;  // empty: all namespaces
    std::string label_selector, field_selector;
  };
  struct Counts {
    int64_t lists = 0, watches = 0, events = 0, bad_objects = 0, failures = 0;
  };

  Reflector(kube::Api& api, const kube::Resource& resource, Scope scope, Callbacks callbacks,
            ReflectorOptions options = {});
  ~Reflector() override;
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Nothing is sent before this.
  void Start();

  // A complete list was delivered at some time.
  bool synced() const { return synced_; }
  // When the server last said something: a page, an event or a bookmark. Decides whether the copy is stale.
  MonoTime last_contact() const { return last_contact_; }
  // A watch stands: none failed since the server last spoke, or the present one has lived for a while. A
  // quiet watch is in touch though the server says nothing for a minute.
  bool in_touch() const;
  // The last failure, for messages; ok while all is well.
  const kube::Resource& resource() const { return resource_; }
  const kube::Status& last_error() const { return last_error_; }
  // The API server does not have this kind of object, as far as it said last.
  bool missing() const { return last_error_.not_found() && !in_touch(); }
  // The same for a person: what could not be read, and perhaps why.
  std::string trouble() const;
  const Counts& counts() const { return counts_; }
  // The highest resource version of an object that was seen, its deletion included; and up to which version
  // nothing is missing. Numbers, as every kube-apiserver gives them.
  uint64_t newest() const { return newest_; }
  uint64_t seen_until() const;
  size_t size() const { return known_.size(); }

  void OnEvent(kube::WatchEventType type, std::string object) override;
  void OnTree(kube::WatchEventType type, const json::DocPtr& object) override;
  void OnEnd(kube::Status status) override;

 private:
  struct Known {
    std::string uid, resource_version;
    uint64_t seen = 0;  // the list that last held it
  };
  enum class Next { kList, kWatch };

  void BeginList();
  void ListPage(std::string continue_token);
  void OnPage(kube::Response response);
  // False when the reflector was destroyed by a callback.
  void NoteEvent();
  bool TakeItems(json::Doc& list);
  void FinishList(const std::string& resource_version);
  void BeginWatch();
  void ArmSilence();
  void Fail(kube::Status status, Next next);
  void Schedule(Next next, Duration delay);
  Duration Backoff();

  bool Deliver(json::DocPtr object, uint64_t seen);
  bool Forget(const std::string& key, json::DocPtr last);
  void SkipBad(std::string_view why);

  kube::Api& api_;
  const kube::Resource& resource_;
  const Scope scope_;
  const Callbacks callbacks_;
  const ReflectorOptions options_;
  const std::string title_;  // for logs and jitter: "pods/ns?selectors"

  std::unordered_map<std::string, Known> known_;
  uint64_t list_number_ = 0;
  std::string resource_version_;  // of the last event, bookmark or list
  uint64_t newest_ = 0;
  bool synced_ = false;
  MonoTime last_contact_{};
  MonoTime watch_began_{};
  bool watch_was_quiet_ = true;
  int failures_in_a_row_ = 0;
  kube::Status last_error_;
  Counts counts_;

  std::unique_ptr<kube::Watch> watch_;
  Timer retry_;
  Timer silence_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // answers that come later look here first
};

}  // namespace lockstep::shell
