#include "jobs/kind.h"

#include <algorithm>
#include <cctype>

#include "base/ascii.h"

namespace lockstep::jobs {

std::string_view TypeOf(const Kind& kind, std::string_view key) {
  for (std::string_view type : kind.types) {
    if (key == type || (kind.any_case && AsciiLower(key) == AsciiLower(type))) return type;
  }
  return "";
}

const json::Doc* RoleSpecs(const Kind& kind, const json::Doc& object) {
  const json::Doc* spec = json::Key(&object, "spec");
  const json::Doc* roles = spec != nullptr && spec->is_object() ? json::Key(spec, kind.role_specs) : nullptr;
  return roles != nullptr && roles->is_object() ? roles : nullptr;
}

}  // namespace lockstep::jobs
