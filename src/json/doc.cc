#include "json/doc.h"

#include <charconv>

namespace lockstep::json {

namespace {

// Whether brackets nest deeper than `limit`. Exact up to the first error of the text, where the parser stops
// anyway. Bounding the depth by the parser's own callback makes it twice as slow.
bool NestsDeeperThan(std::string_view text, int limit) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > limit) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

// nlohmann parses iteratively, but copies and destroys trees recursively, so depth is bounded before.
Result<Doc> ParseBounded(std::string_view text, Limits limits) {
  if (NestsDeeperThan(text, limits.max_depth)) {
    return Error{"nested deeper than " + std::to_string(limits.max_depth) + " levels"};
  }
  try {
    return Doc::parse(text.begin(), text.end());
  } catch (const Doc::parse_error& e) {
    return Error{"not JSON at byte " + std::to_string(e.byte) + ": " + e.what()};
  } catch (const Doc::exception& e) {
    return Error{std::string("not JSON: ") + e.what()};
  }
}

}  // namespace

Result<Doc> Parse(std::string_view text, Limits limits) {
  if (text.size() > limits.max_bytes) {
    return Error{"larger than " + std::to_string(limits.max_bytes) + " bytes"};
  }
  return ParseBounded(text, limits);
}

std::string Dump(const Doc& doc) { return doc.dump(-1, ' ', false, Doc::error_handler_t::replace); }

std::string DumpPretty(const Doc& doc) { return doc.dump(2, ' ', false, Doc::error_handler_t::replace); }

const Doc* Key(const Doc* doc, std::string_view key) {
  if (doc == nullptr) return nullptr;
  if (doc->is_object()) {
    auto found = doc->find(key);
    return found == doc->end() ? nullptr : &*found;
  }
  if (doc->is_array()) {
    size_t index = 0;
    auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (error != std::errc{} || end != key.data() + key.size() || index >= doc->size()) return nullptr;
    return &(*doc)[index];
  }
  return nullptr;
}

const Doc* Find(const Doc& doc, std::string_view path) {
  const Doc* at = &doc;
  while (at != nullptr && !path.empty()) {
    size_t dot = path.find('.');
    at = Key(at, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return at;
}

std::string GetString(const Doc& doc, std::string_view path, std::string_view fallback) {
  const Doc* found = Find(doc, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string(fallback);
}

int64_t GetInt(const Doc& doc, std::string_view path, int64_t fallback) {
  const Doc* found = Find(doc, path);
  return found != nullptr && found->is_number_integer() ? found->get<int64_t>() : fallback;
}

bool GetBool(const Doc& doc, std::string_view path, bool fallback) {
  const Doc* found = Find(doc, path);
  return found != nullptr && found->is_boolean() ? found->get<bool>() : fallback;
}

}  // namespace lockstep::json
