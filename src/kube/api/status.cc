#include "kube/api/status.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep::kube {

namespace {

// What a body that is not a metav1.Status contributes to a message: enough to recognise a proxy's page.
constexpr size_t kShortBody = 200;
// A Status is small; a longer 2xx body is an object or a list and isn't parsed just to look for a failure.
constexpr size_t kLongestStatus = 64 << 10;

// Source: k8s.io/apimachinery/pkg/api/errors NewGenericServerResponse.
std::string_view ReasonFor(int code) {
  static constexpr std::array<std::pair<int, std::string_view>, 14> kReasons{{{400, "BadRequest"},
                                                                              {401, "Unauthorized"},
                                                                              {403, "Forbidden"},
                                                                              {404, "NotFound"},
                                                                              {405, "MethodNotAllowed"},
                                                                              {406, "NotAcceptable"},
                                                                              {409, "Conflict"},
                                                                              {410, "Gone"},
                                                                              {413, "RequestEntityTooLarge"},
                                                                              {415, "UnsupportedMediaType"},
                                                                              {422, "Invalid"},
                                                                              {429, "TooManyRequests"},
                                                                              {503, "ServiceUnavailable"},
                                                                              {504, "Timeout"}}};
  for (const auto& [known, reason] : kReasons) {
    if (known == code) return reason;
  }
  return code >= 500 ? "InternalError" : "";
}

// One line of printable ASCII, cut short.
std::string ShortForm(std::string_view body) {
  std::string text(body.substr(0, kShortBody));
  std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  if (body.size() > kShortBody) text += "...";
  return text;
}

void ReadDetails(const json::Doc& details, Status& status) {
  status.name = json::GetString(details, "name");
  status.group = json::GetString(details, "group");
  status.kind = json::GetString(details, "kind");
  status.uid = json::GetString(details, "uid");
  // A day is far more than any server asks for and keeps the sum of times in range.
  int64_t wait = std::clamp<int64_t>(json::GetInt(details, "retryAfterSeconds"), 0, 86400);
  if (wait > 0) status.retry_after = seconds(wait);
  const json::Doc* causes = json::Find(details, "causes");
  if (causes == nullptr || !causes->is_array()) return;
  for (const json::Doc& cause : *causes) {
    status.causes.push_back({json::GetString(cause, "reason"), json::GetString(cause, "message"),
                             json::GetString(cause, "field")});
  }
}

Status FromFailure(int code, const json::Doc& doc) {
  Status status;
  int64_t told = json::GetInt(doc, "code");
  status.code = told >= 300 && told <= 599 ? static_cast<int>(told) : code;
  if (status.ok() || status.unknown()) status.code = 500;  // a failure without a usable code
  status.reason = json::GetString(doc, "reason", ReasonFor(status.code));
  status.message = json::GetString(doc, "message");
  if (const json::Doc* details = json::Find(doc, "details")) ReadDetails(*details, status);
  return status;
}

json::Doc DetailsDoc(const Status& status) {
  json::Doc details = json::Doc::object();
  if (!status.name.empty()) details["name"] = status.name;
  if (!status.group.empty()) details["group"] = status.group;
  if (!status.kind.empty()) details["kind"] = status.kind;
  if (!status.uid.empty()) details["uid"] = status.uid;
  if (status.retry_after) {
    details["retryAfterSeconds"] = std::chrono::ceil<seconds>(*status.retry_after).count();
  }
  for (const Status::Cause& cause : status.causes) {
    json::Doc item = json::Doc::object();
    if (!cause.reason.empty()) item["reason"] = cause.reason;
    if (!cause.message.empty()) item["message"] = cause.message;
    if (!cause.field.empty()) item["field"] = cause.field;
    details["causes"].push_back(std::move(item));
  }
  return details;
}

}  // namespace

bool Status::transient() const {
  if (code == 0 || code == 429) return true;
  if (code >= 500) return code != 501 && code != 505;
  // The quota controller's own write lost a race; the object of the request was never looked at.
  if (conflict() && message.find("resourcequotas") != std::string::npos) return true;
  return message.find("failed calling webhook") != std::string::npos;
}

bool Status::exceeds_quota() const {
  return code == 403 && (message.find("exceeded quota: ") != std::string::npos ||
                         message.find("status unknown for quota: ") != std::string::npos);
}

Status OkStatus(int code) {
  Status status;
  status.code = code;
  return status;
}

Status ErrorStatus(int code, std::string reason, std::string message) {
  Status status;
  status.code = code;
  status.reason = std::move(reason);
  status.message = std::move(message);
  return status;
}

Status NoAnswer(std::string message) { return ErrorStatus(0, "", std::move(message)); }

Status ParseStatus(int code, std::string_view body) {
  bool success = code >= 200 && code < 300;
  bool worth_parsing =
      body.size() <= kLongestStatus && (!success || body.find("Failure") != std::string_view::npos);
  if (worth_parsing) {
    Result<json::Doc> doc = json::Parse(body);
    if (doc.ok() && json::GetString(*doc, "kind") == "Status") {
      if (json::GetString(*doc, "status") != "Success") return FromFailure(code, *doc);
      return OkStatus(success ? code : static_cast<int>(json::GetInt(*doc, "code", 200)));
    }
  }
  if (success) return OkStatus(code);
  return ErrorStatus(code, std::string(ReasonFor(code)), ShortForm(body));
}

json::Doc StatusDoc(const Status& status) {
  json::Doc doc = {{"kind", "Status"},
                   {"apiVersion", "v1"},
                   {"metadata", json::Doc::object()},
                   {"status", status.ok() ? "Success" : "Failure"}};
  if (!status.message.empty()) doc["message"] = status.message;
  if (!status.reason.empty()) doc["reason"] = status.reason;
  if (json::Doc details = DetailsDoc(status); !details.empty()) doc["details"] = std::move(details);
  // metav1.Status leaves the code out of a success.
  if (!status.ok()) doc["code"] = status.code;
  return doc;
}

}  // namespace lockstep::kube
