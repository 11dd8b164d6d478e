#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "json/doc.h"

namespace lockstep::audit {

// Who sent a write, as far as it can be told.
enum class Writer { kKubelet, kOther };

// One finished write of an API server's audit log (audit.k8s.io/v1 Event).
//
// Its effect lies somewhere between `received` and `done`: a judge who must not accuse wrongly takes the
// later of the two for a beginning and the earlier for an end.
struct Entry {
  std::string verb;  // create, update, patch, delete, deletecollection
  std::string group, resource, subresource, ns, name;
  std::string agent;  // the user agent up to its version: "kubectl", "lockstep"
  Writer writer = Writer::kOther;
  int code = 0;
  bool dry_run = false;
  WallTime received, done;
  // Null where the audit policy leaves them out.
  json::Doc request, response;

  bool ok() const { return code >= 200 && code < 300; }
};

// A line of the log. Nothing for what is not a finished write (reads, watches, earlier stages); an error for
// what is no audit event at all. `resource` of pods/binding is "pods", its `subresource` "binding".
Result<std::optional<Entry>> ParseEntry(std::string_view line);

}  // namespace lockstep::audit
