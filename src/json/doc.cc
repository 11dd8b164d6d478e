#include "json/doc.h"

#include <charconv>

namespace lockstep::json {

namespace {

// nlohmann parses recursively-built trees from an iterative parser, but copies and destroys them recursively,
// so depth is bounded while parsing.
Result<Doc> ParseBounded(std::string_view text, Limits limits) {
  bool too_deep = false;
  Doc::parser_callback_t bound = [&](int depth, Doc::parse_event_t event, Doc&) {
    if ((event == Doc::parse_event_t::object_start || event == Doc::parse_event_t::array_start) &&
        depth >= limits.max_depth) {
      too_deep = true;
    }
    return !too_deep;
  };
  try {
    Doc doc = Doc::parse(text.begin(), text.end(), bound);
    if (too_deep) return Error{"nested deeper than " + std::to_string(limits.max_depth) + " levels"};
    return doc;
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
