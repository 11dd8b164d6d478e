#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace lockstep {

// An error of the environment (bad input, a missing file, a refused connection). The message names the
// thing, the field and what would be right: "spec.replicas: must be at least 1, is 0".
struct Error {
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

// A value or the error that stands in its place.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& { return CheckOk(), std::get<0>(state_); }
  T& value() & { return CheckOk(), std::get<0>(state_); }
  T&& value() && { return CheckOk(), std::get<0>(std::move(state_)); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const E& error() const {
    CHECK(!ok()) << "error() of a Result that holds a value";
    return std::get<1>(state_);
  }

 private:
  void CheckOk() const { CHECK(ok()) << "value() of a Result that holds an error"; }

  std::variant<T, E> state_;
};

// The result of a call that yields nothing but may fail.
using Outcome = std::optional<Error>;

}  // namespace lockstep
