#pragma once

#include <sstream>
#include <string>

// CHECK(condition) << "what": a broken invariant is our own mistake, so the program stops with a message.
// Errors of the environment are values (result.h); they never reach a CHECK.
namespace lockstep::internal {

class CheckFailure {
 public:
  CheckFailure(const char* condition, const char* file, int line);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};

struct Voidify {
  void operator&(std::ostream&) const {}
};

}  // namespace lockstep::internal

#define CHECK(condition)                          \
  (condition) ? (void)0                           \
              : ::lockstep::internal::Voidify{} & \
                    ::lockstep::internal::CheckFailure(#condition, __FILE__, __LINE__).stream()
