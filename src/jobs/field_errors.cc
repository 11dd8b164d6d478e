#include "jobs/field_errors.h"

#include "kube/model/reader.h"

namespace lockstep::jobs {

namespace {

constexpr size_t kMaxErrors = 50;
constexpr size_t kMaxValue = 80;
constexpr size_t kMaxPath = 256;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The start of a text, never cut within a UTF-8 sequence.
std::string Shortened(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

std::string ValueText(const json::Doc& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return Shortened(json::Dump(value), kMaxValue);
}

}  // namespace

void FieldErrors::Add(std::string_view path, std::string_view what) {
  AddLine(Shortened(std::string(path), kMaxPath) + ": " + std::string(what));
}

void FieldErrors::AddLine(std::string line) {
  if (errors_.size() < kMaxErrors) {
    errors_.push_back(std::move(line));
  } else {
    ++left_out_;
  }
}

void FieldErrors::Add(std::string_view path, std::string_view what, const json::Doc& value) {
  Add(path, std::string(what) + ", is " + ValueText(value));
}

const json::Doc* FieldErrors::Field(const json::Doc* parent, std::string_view key) const {
  const json::Doc* value = parent != nullptr && parent->is_object() ? json::Key(parent, key) : nullptr;
  return value != nullptr && value->is_null() ? nullptr : value;
}

const json::Doc* FieldErrors::Object(const json::Doc* parent, std::string_view path, std::string_view key) {
  const json::Doc* value = Field(parent, key);
  if (value == nullptr || value->is_object()) return value;
  Add(kube::Join(path, key), "must be an object", *value);
  return nullptr;
}

const json::Doc* FieldErrors::Array(const json::Doc* parent, std::string_view path, std::string_view key) {
  const json::Doc* value = Field(parent, key);
  if (value == nullptr || value->is_array()) return value;
  Add(kube::Join(path, key), "must be a list", *value);
  return nullptr;
}

std::optional<std::string> FieldErrors::Text(const json::Doc* parent, std::string_view path,
                                             std::string_view key) {
  const json::Doc* value = Field(parent, key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  Add(kube::Join(path, key), "must be a string", *value);
  return std::nullopt;
}

std::string FieldErrors::RequiredText(const json::Doc* parent, std::string_view path, std::string_view key) {
  size_t before = size();
  std::string text = Text(parent, path, key).value_or("");
  if (text.empty() && size() == before) Add(kube::Join(path, key), "must be set");
  return text;
}

std::optional<bool> FieldErrors::Bool(const json::Doc* parent, std::string_view path, std::string_view key) {
  const json::Doc* value = Field(parent, key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  Add(kube::Join(path, key), "must be true or false", *value);
  return std::nullopt;
}

std::optional<int64_t> FieldErrors::Int(const json::Doc* parent, std::string_view path, std::string_view key,
                                        int64_t min, int64_t max) {
  const json::Doc* value = Field(parent, key);
  if (value == nullptr) return std::nullopt;
  bool whole = value->is_number_integer();
  // An unsigned value above INT64_MAX would turn negative in a signed read.
  if (whole && value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    Add(kube::Join(path, key), "must be at most " + std::to_string(max), *value);
    return std::nullopt;
  }
  std::string_view broken = !whole                        ? "a whole number"
                            : value->get<int64_t>() < min ? "at least"
                            : value->get<int64_t>() > max ? "at most"
                                                          : "";
  if (broken.empty()) return value->get<int64_t>();
  std::string bound = !whole ? "" : " " + std::to_string(broken == "at least" ? min : max);
  Add(kube::Join(path, key), "must be " + std::string(broken) + bound, *value);
  return std::nullopt;
}

std::optional<std::string> FieldErrors::Word(const json::Doc* parent, std::string_view path,
                                             std::string_view key,
                                             std::initializer_list<std::string_view> allowed) {
  std::optional<std::string> text = Text(parent, path, key);
  if (!text || std::ranges::find(allowed, *text) != allowed.end()) return text;
  std::string list;
  for (std::string_view word : allowed) {
    if (word.empty()) continue;
    if (!list.empty()) list += ", ";
    list += word;
  }
  Add(kube::Join(path, key), "must be one of " + list, json::Doc(*text));
  return std::nullopt;
}

void FieldErrors::TextMap(const json::Doc* parent, std::string_view path, std::string_view key) {
  const json::Doc* map = Object(parent, path, key);
  if (map == nullptr) return;
  for (const auto& [name, value] : map->items()) {
    if (!value.is_string())
      Add(kube::Join(kube::Join(path, key), Shortened(name, kMaxValue)), "must be a string", value);
  }
}

std::vector<std::string> FieldErrors::Take() {
  if (left_out_ > 0) errors_.push_back("and " + std::to_string(left_out_) + " more");
  left_out_ = 0;
  return std::move(errors_);
}

bool IsDns1123Label(std::string_view text) {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  return std::ranges::all_of(text, [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; });
}

bool IsDns1035Label(std::string_view text) { return IsDns1123Label(text) && IsLower(text.front()); }

}  // namespace lockstep::jobs
