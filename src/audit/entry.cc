#include "audit/entry.h"

#include <algorithm>

namespace lockstep::audit {

namespace {

bool IsWrite(std::string_view verb) {
  return verb == "create" || verb == "update" || verb == "patch" || verb == "delete" ||
         verb == "deletecollection";
}

bool InGroup(const json::Doc& event, std::string_view group) {
  const json::Doc* groups = json::Find(event, "user.groups");
  if (groups == nullptr || !groups->is_array()) return false;
  return std::ranges::any_of(*groups,
                             [&](const json::Doc& name) { return name.is_string() && name == group; });
}

// A real kubelet is known by its user; pretended nodes by their user agent. Where both say nothing, by what
// only a kubelet writes.
Writer WriterOf(const json::Doc& event, const Entry& entry) {
  if (InGroup(event, "system:nodes") || entry.agent == "kubelet" || entry.agent == "lockstep-hollow") {
    return Writer::kKubelet;
  }
  bool status =
      entry.resource == "pods" && entry.subresource == "status" && entry.agent.starts_with("lockstep");
  return status || entry.ns == "kube-node-lease" ? Writer::kKubelet : Writer::kOther;
}

bool IsDryRun(const json::Doc& event, const Entry& entry) {
  if (json::GetString(event, "requestURI").find("dryRun=All") != std::string::npos) return true;
  const json::Doc* option = json::Key(&entry.request, "dryRun");  // of DeleteOptions
  return option != nullptr && option->is_array() && !option->empty();
}

json::Doc Take(json::Doc& event, const char* key) {
  auto found = event.find(key);
  return found == event.end() ? json::Doc() : std::move(*found);
}

Result<WallTime> Time(const json::Doc& event, std::string_view key) {
  Result<WallTime> time = ParseTime(json::GetString(event, key));
  if (!time.ok()) return Error{std::string(key) + ": " + time.error().message};
  return time;
}

}  // namespace

Result<std::optional<Entry>> ParseEntry(std::string_view line) {
  Result<json::Doc> parsed = json::Parse(line);
  if (!parsed.ok()) return parsed.error();
  json::Doc& event = *parsed;
  if (!event.is_object() || json::GetString(event, "kind") != "Event" ||
      !json::GetString(event, "apiVersion").starts_with("audit.k8s.io/")) {
    return Error{"kind: must be Event of audit.k8s.io"};
  }
  Entry entry;
  entry.verb = json::GetString(event, "verb");
  if (json::GetString(event, "stage") != "ResponseComplete" || !IsWrite(entry.verb))
    return std::optional<Entry>();
  Result<WallTime> received = Time(event, "requestReceivedTimestamp");
  if (!received.ok()) return received.error();
  Result<WallTime> done = Time(event, "stageTimestamp");
  if (!done.ok()) return done.error();
  entry.received = *received;
  entry.done = std::max(*done, *received);
  entry.group = json::GetString(event, "objectRef.apiGroup");
  entry.resource = json::GetString(event, "objectRef.resource");
  entry.subresource = json::GetString(event, "objectRef.subresource");
  entry.ns = json::GetString(event, "objectRef.namespace");
  entry.name = json::GetString(event, "objectRef.name");
  entry.code = static_cast<int>(std::clamp<int64_t>(json::GetInt(event, "responseStatus.code"), 0, 999));
  std::string agent = json::GetString(event, "userAgent");
  entry.agent = agent.substr(0, agent.find_first_of("/ "));
  entry.request = Take(event, "requestObject");
  entry.response = Take(event, "responseObject");
  entry.writer = WriterOf(event, entry);
  entry.dry_run = IsDryRun(event, entry);
  return std::optional<Entry>(std::move(entry));
}

}  // namespace lockstep::audit
