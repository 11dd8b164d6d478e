#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "json/doc.h"

namespace lockstep::kube {

// metav1.Status, whole: what an API server says of a request. ok() is code 200 to 299.
// Code 0: no answer came (connection refused, reset, timed out); whether the request was applied is unknown.
struct Status {
  struct Cause {
    std::string reason, message, field;
  };

  int code = 200;
  std::string reason;  // "AlreadyExists", "Conflict", "Expired", ... as in metav1.StatusReason
  std::string message;
  std::vector<Cause> causes;            // details.causes
  std::optional<Duration> retry_after;  // Retry-After header or details.retryAfterSeconds
  // details: what it is about. `kind` is the plural of the resource in most answers, the Kind in Invalid
  // ones.
  std::string name, group, kind, uid;

  bool ok() const { return code >= 200 && code < 300; }
  bool unknown() const { return code == 0; }
  bool not_found() const { return code == 404; }
  bool already_exists() const { return code == 409 && reason == "AlreadyExists"; }
  bool conflict() const { return code == 409 && reason == "Conflict"; }
  // A quota has no room for it, or nobody has counted yet whether it has. Says nothing of the object itself.
  bool exceeds_quota() const;
  bool gone() const { return code == 410; }  // "Expired", "Gone": relist
  // May succeed unchanged later: 429, 5xx, a 409 on a quota, "failed calling webhook", no answer.
  bool transient() const;
};

Status OkStatus(int code = 200);
Status ErrorStatus(int code, std::string reason, std::string message);
Status NoAnswer(std::string message);

// From the body of an answer, or the object of a watch's ERROR event (then `code` is 0 or 200: a Failure in
// the body counts more). Anything that is not a metav1.Status keeps `code`, the reason that fits it and a
// short form of the body.
Status ParseStatus(int code, std::string_view body);
json::Doc StatusDoc(const Status& status);

}  // namespace lockstep::kube
