#include "base/check.h"
#include "kube/model/selector.h"

// A selector's text must be read as the same selector; a document must be read or refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  static const kube::Labels kLabels = {{"app", "x"}, {"tier", "7"}, {"example.com/gpu", ""}};
  if (Result<kube::LabelSelector> selector = kube::ParseLabelSelector(text); selector.ok()) {
    Result<kube::LabelSelector> again = kube::ParseLabelSelector(selector->text());
    CHECK(again.ok() && *again == *selector) << selector->text();
    CHECK(again->Matches(kLabels) == selector->Matches(kLabels)) << selector->text();
  }
  Result<json::Doc> doc = json::Parse(text);
  if (!doc.ok()) return 0;
  if (Result<kube::LabelSelector> selector = kube::ParseLabelSelector(*doc); selector.ok()) {
    (void)selector->Matches(kLabels);
  }
  if (Result<kube::NodeConstraint> nodes = kube::ParseNodeConstraint(*doc); nodes.ok()) {
    (void)nodes->Matches("node-a", kLabels);
  }
  return 0;
}
