#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "json/doc.h"
#include "kube/api/resource.h"
#include "kube/api/status.h"

namespace lockstep::kube {

enum class Verb { kGet, kList, kCreate, kUpdate, kPatch, kDelete };

// "get", "list", "create", ...: as audit logs, RBAC rules and metrics name it.
std::string_view VerbText(Verb verb);

enum class PatchType { kJson, kMerge, kStrategicMerge };

// One request to an API server. Which members count depends on the verb.
struct Request {
  Verb verb = Verb::kGet;
  const Resource* resource = nullptr;
  std::string ns;           // empty for cluster-scoped objects, and for lists over all namespaces
  std::string name;         // empty for lists and creates
  std::string subresource;  // "status", "scale", "binding"
  std::string body;         // create, update: the object; patch: the patch; JSON

  PatchType patch = PatchType::kMerge;
  bool dry_run = false;
  // Not put on the wire from this moment on: then the answer is that none came. A process that was stopped
  // while its request waited for a connection must not send it when it goes on and no longer leads.
  std::optional<MonoTime> not_after;

  // delete
  std::optional<int64_t> grace_seconds;
  std::string precondition_uid;
  std::string precondition_resource_version;
  std::string propagation;  // "", "Background", "Foreground", "Orphan"

  // list
  std::string label_selector;
  std::string field_selector;
  int64_t limit = 0;
  std::string continue_token;
  std::string resource_version;  // list: "" newest, "0" any cached; else at least this
};

struct Response {
  Status status;
  std::string body;  // the object, the list, or the metav1.Status, as JSON
  // The object once more, from a server in this process that has it as a tree. Nobody changes it.
  json::DocPtr tree = nullptr;
};

struct WatchRequest {
  const Resource* resource = nullptr;
  std::string ns;  // empty: all namespaces
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;  // events after this one
};

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark };

// What a watch delivers. After OnEnd nothing follows; `status` is ok for an ordinary end (time-out of the
// server), gone() when the resource version is too old, unknown() when the connection broke or fell silent.
class WatchHandler {
 public:
  virtual ~WatchHandler() = default;
  virtual void OnEvent(WatchEventType type, std::string object) = 0;  // the object as JSON
  // The same from a server in this process, which has the object as a tree. Nobody changes it.
  virtual void OnTree(WatchEventType type, const json::DocPtr& object) { OnEvent(type, json::Dump(*object)); }
  virtual void OnEnd(Status status) = 0;
};

// A running watch; destroying it ends it, and no call to its handler follows.
class Watch {
 public:
  virtual ~Watch() = default;
};

// The API of one cluster: the embedded or simulated server in memory (apiserver/) or any server over HTTP
// (kube/client/). Everything happens on one Loop: calls are made there, answers are delivered there, never
// from inside Send or StartWatch. Answers of different requests may come in any order.
class Api {
 public:
  using Done = std::function<void(Response)>;

  virtual ~Api() = default;

  virtual Loop& loop() = 0;
  // `done` is called exactly once, unless the Api is destroyed first.
  virtual void Send(Request request, Done done) = 0;
  // `handler` must outlive the returned Watch. Bookmarks are always asked for.
  virtual std::unique_ptr<Watch> StartWatch(WatchRequest request, WatchHandler& handler) = 0;
};

}  // namespace lockstep::kube
