#include <charconv>

#include "apiserver/server.h"

namespace lockstep::apiserver {

using kube::Response;
using kube::Status;

namespace {

constexpr std::string_view kContinueExpired =
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
    "the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were "
    "created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list.";

// Where a list goes on: after `key`, in the collection as it was at `revision`.
struct Continue {
  uint64_t revision = 0;
  std::string key;
};

std::string Token(const Continue& at) { return std::to_string(at.revision) + ":" + at.key; }

std::optional<Continue> ParseToken(const std::string& token) {
  size_t colon = token.find(':');
  Continue at;
  if (colon == std::string::npos || colon == 0 || !ParseRevision(token.substr(0, colon), at.revision)) {
    return std::nullopt;
  }
  at.key = token.substr(colon + 1);
  return at;
}

Status TooLarge(uint64_t asked, uint64_t current) {
  Status status = kube::ErrorStatus(
      504, "Timeout",
      "Too large resource version: " + std::to_string(asked) + ", current: " + std::to_string(current));
  status.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  status.retry_after = seconds(1);
  return status;
}

// One page of `collection` as the body of an answer.
std::string Page(const kube::Resource& resource, const Store::Collection& collection,
                 const Selection& selection, const Continue& from, int64_t limit) {
  std::string items;
  std::string next;
  std::string last;
  int64_t count = 0;
  int64_t remaining = 0;
  // The objects of one namespace are neighbours.
  std::string first = selection.ns.empty() ? "" : selection.ns + "/";
  auto at = from.key.empty() ? collection.lower_bound(first) : collection.upper_bound(from.key);
  for (; at != collection.end(); ++at) {
    if (!selection.ns.empty() && at->second->ns != selection.ns) break;
    if (!selection.Matches(*at->second)) continue;
    if (limit > 0 && count == limit) {
      if (remaining++ == 0) next = Token({from.revision, last});
      continue;
    }
    if (count++ > 0) items += ',';
    at->second->AppendItem(items);
    last = at->first;
  }
  std::string body = R"({"kind":")" + std::string(resource.kind) + R"(List","apiVersion":")" +
                     resource.ApiVersion() + R"(","metadata":{"resourceVersion":")" +
                     std::to_string(from.revision) + '"';
  if (!next.empty()) {
    body += R"(,"continue":)" + Quoted(next);
    // A server that must filter doesn't know how many are left.
    if (selection.fields.empty() && selection.labels.requirements.empty()) {
      body += R"(,"remainingItemCount":)" + std::to_string(remaining);
    }
  }
  body += R"(},"items":[)";
  body += items;
  body += "]}";
  return body;
}

}  // namespace

bool ParseRevision(std::string_view text, uint64_t& revision) {
  revision = 0;
  if (text.empty()) return true;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  return error == std::errc{} && end == text.data() + text.size();
}

Response Server::List(const Call& call) const {
  const kube::Request& request = call.request;
  Result<Selection, Status> selection =
      ParseSelection(call.resource, request.ns, request.label_selector, request.field_selector);
  if (!selection.ok()) return Refuse(selection.error());
  uint64_t at_least = 0;
  if (!ParseRevision(request.resource_version, at_least)) {
    return Refuse(BadRequest("Invalid value: " + Quoted(request.resource_version) +
                             ": a resource version is a number"));
  }
  if (at_least > revision()) return Refuse(TooLarge(at_least, revision()));
  if (request.continue_token.empty()) {
    return Answer(
        200, Page(call.resource, store_.All(call.resource), *selection, {revision(), ""}, request.limit));
  }
  std::optional<Continue> from = ParseToken(request.continue_token);
  if (!from || from->revision > revision()) {
    return Refuse(BadRequest("continue key is not valid: " + Quoted(request.continue_token)));
  }
  if (from->revision < store_.oldest(call.resource)) return Refuse(Expired(std::string(kContinueExpired)));
  return Answer(
      200, Page(call.resource, store_.At(call.resource, from->revision), *selection, *from, request.limit));
}

}  // namespace lockstep::apiserver
