#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/doc.h"

namespace lockstep::kube {

// Reads typed fields of documents from outside and keeps the first error, which names the field's path. A
// null counts as a missing field, as in Kubernetes. After an error the reads go on and yield defaults, so a
// parser checks once, at its end.
class Reader {
 public:
  // `path` is that of `object`: "" for the root, "spec.containers[2]" for a container.
  std::string Text(const json::Doc& object, std::string_view path, std::string_view key);
  std::optional<int64_t> Int(const json::Doc& object, std::string_view path, std::string_view key);
  bool Bool(const json::Doc& object, std::string_view path, std::string_view key);
  // Null if missing or of another type.
  const json::Doc* Object(const json::Doc& object, std::string_view path, std::string_view key);
  // The elements, all of them objects; empty if missing.
  std::vector<const json::Doc*> Objects(const json::Doc& object, std::string_view path, std::string_view key);
  std::vector<std::string> Texts(const json::Doc& object, std::string_view path, std::string_view key);

  // The value, or a default value and the error is kept. `prefix` goes in front of the error's path.
  template <class T>
  T Take(Result<T> result, std::string_view prefix = "") {
    if (result) return *std::move(result);
    FailWith(std::string(prefix) + result.error().message);
    return T{};
  }
  void Fail(std::string_view path, std::string_view what);

  const Outcome& error() const { return error_; }

 private:
  const json::Doc* Field(const json::Doc& object, std::string_view key);
  void FailWith(std::string message);

  Outcome error_;
};

// "spec" + "containers" = "spec.containers"; + 2 = "spec.containers[2]".
std::string Join(std::string_view path, std::string_view key);
std::string Join(std::string_view path, size_t index);

}  // namespace lockstep::kube
