#include "base/check.h"
#include "json/yaml.h"

// What is read and written again must be the same document.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  // Less than yaml-cpp's own bound, so that what was read can be read again inside one more level.
  json::Limits limits{.max_bytes = 1 << 16, .max_depth = 100};
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Result<std::vector<json::Doc>> documents = json::ParseYaml(text, limits);
  if (!documents.ok()) {
    CHECK(!documents.error().message.empty()) << "an error without a message";
    return 0;
  }
  for (const json::Doc& doc : *documents) {
    Result<std::vector<json::Doc>> again = json::ParseYaml(json::DumpYaml(doc));
    CHECK(again.ok()) << again.error().message << "\n" << json::DumpYaml(doc);
    CHECK(again->size() == 1 && again->front() == doc) << json::DumpYaml(doc);
  }
  return 0;
}
