#include "base/check.h"
#include "json/patch.h"

// The input is an array [target, patch]; every patch kind is tried, and a refused one must change nothing.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  Result<json::Doc> input = json::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!input.ok() || !input->is_array() || input->size() != 2) return 0;
  const json::Doc &target = (*input)[0], &patch = (*input)[1];

  json::Doc by_operations = target;
  if (json::JsonPatch(by_operations, patch)) CHECK(by_operations == target) << "refused, but changed";
  json::Doc strategic = target;
  if (json::StrategicMergePatch(strategic, patch)) CHECK(strategic == target) << "refused, but changed";

  json::Doc merged = target;
  json::MergePatch(merged, patch);
  json::Doc twice = merged;
  json::MergePatch(twice, patch);
  CHECK(twice == merged) << "a merge patch is idempotent";
  CHECK(json::MergeDiff(merged, merged) == json::Doc::object()) << "equal documents differ";
  return 0;
}
