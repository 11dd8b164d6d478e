#include "jobs/kind.h"

#include <algorithm>
#include <cctype>

namespace lockstep::jobs {

namespace {

bool SameLetter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

}  // namespace

std::string_view TypeOf(const Kind& kind, std::string_view key) {
  for (std::string_view type : kind.types) {
    if (key == type || (kind.any_case && std::ranges::equal(key, type, SameLetter))) return type;
  }
  return "";
}

const json::Doc* RoleSpecs(const Kind& kind, const json::Doc& object) {
  const json::Doc* spec = json::Key(&object, "spec");
  const json::Doc* roles = spec != nullptr && spec->is_object() ? json::Key(spec, kind.role_specs) : nullptr;
  return roles != nullptr && roles->is_object() ? roles : nullptr;
}

}  // namespace lockstep::jobs
