#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json/doc.h"

namespace lockstep::jobs {

// Reads typed fields of a user's manifest and lists every broken one: "path: what would be right, what is". A
// null counts as a missing field, as in Kubernetes. The list is bounded; what stands in messages is cut
// short.
class FieldErrors {
 public:
  void Add(std::string_view path, std::string_view what);
  // `what`, then "is <value>".
  void Add(std::string_view path, std::string_view what, const json::Doc& value);

  // The field, or null when it is missing, null or (an error) of another type.
  const json::Doc* Object(const json::Doc* parent, std::string_view path, std::string_view key);
  const json::Doc* Array(const json::Doc* parent, std::string_view path, std::string_view key);
  std::optional<std::string> Text(const json::Doc* parent, std::string_view path, std::string_view key);
  // As Text, but must be there and not empty; otherwise "" and one error.
  std::string RequiredText(const json::Doc* parent, std::string_view path, std::string_view key);
  std::optional<bool> Bool(const json::Doc* parent, std::string_view path, std::string_view key);
  // A whole number from `min` to `max`, both included.
  std::optional<int64_t> Int(const json::Doc* parent, std::string_view path, std::string_view key,
                             int64_t min, int64_t max);
  // One of `allowed`.
  std::optional<std::string> Word(const json::Doc* parent, std::string_view path, std::string_view key,
                                  std::initializer_list<std::string_view> allowed);
  // An object with nothing but strings in it, as labels are.
  void TextMap(const json::Doc* parent, std::string_view path, std::string_view key);

  // A whole "path: what" from elsewhere.
  void AddLine(std::string line);

  size_t size() const { return errors_.size() + left_out_; }
  bool empty() const { return errors_.empty(); }
  std::vector<std::string> Take();

 private:
  const json::Doc* Field(const json::Doc* parent, std::string_view key) const;

  std::vector<std::string> errors_;
  size_t left_out_ = 0;
};

// [a-z]([-a-z0-9]*[a-z0-9])?, at most 63 characters: names of services. Source: RFC 1035 as Kubernetes reads
// it.
bool IsDns1035Label(std::string_view text);
// As above, a digit may come first: names of containers.
bool IsDns1123Label(std::string_view text);

}  // namespace lockstep::jobs
