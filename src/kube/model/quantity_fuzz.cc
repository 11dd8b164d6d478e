#include "base/check.h"
#include "kube/model/quantity.h"

// What is read must be written in a form that is read as the same amount.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  Result<kube::Amount> amount =
      kube::ParseQuantity(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!amount.ok()) return 0;
  CHECK(*amount >= -kube::kMaxAmount) << "not saturated";
  for (bool binary : {false, true}) {
    std::string text = kube::FormatQuantity(*amount, binary);
    Result<kube::Amount> again = kube::ParseQuantity(text);
    CHECK(again.ok() && *again == *amount) << text;
  }
  return 0;
}
