#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace lockstep::internal {

CheckFailure::CheckFailure(const char* condition, const char* file, int line) {
  text_ << file << ':' << line << ": CHECK failed: " << condition << ": ";
}

CheckFailure::~CheckFailure() {
  std::fprintf(stderr, "%s\n", text_.str().c_str());
  std::abort();
}

}  // namespace lockstep::internal
