#include "base/check.h"
#include "json/doc.h"

// What is read and written again must be the same document.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  Result<json::Doc> doc = json::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!doc.ok()) {
    CHECK(!doc.error().message.empty()) << "an error without a message";
    return 0;
  }
  Result<json::Doc> again = json::Parse(json::Dump(*doc));
  CHECK(again.ok() && *again == *doc) << json::Dump(*doc);
  return 0;
}
