#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "kube/api/api.h"

namespace lockstep::kube {

// A Request as HTTP: what goes on the wire, apart from the server's address and credentials.
struct HttpCall {
  std::string method;
  std::string target;        // "/api/v1/namespaces/a/pods?limit=500"
  std::string content_type;  // empty: no body
  std::string body;
};

// `server_timeout`: how long the server may work on it, so that a request we gave up is not applied much
// later.
HttpCall BuildCall(const Request& request, std::string_view field_manager, Duration server_timeout);
// The target of a watch that the server ends after `timeout`.
std::string WatchTarget(const WatchRequest& request, Duration timeout);

// RFC 3986: everything but unreserved characters becomes %XX.
std::string PercentEncode(std::string_view text);

}  // namespace lockstep::kube
