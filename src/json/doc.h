#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep::json {

// A JSON document as a tree. Keys are sorted, so equal documents print alike. Trees cost about eight times
// their text: keep bytes for what is only stored, and share templates as DocPtr.
using Doc = nlohmann::json;
using DocPtr = std::shared_ptr<const Doc>;

// Text from outside is bounded before it becomes a tree.
struct Limits {
  size_t max_bytes = 32 << 20;
  int max_depth = 512;  // copying or destroying a deeper nlohmann tree could exhaust the stack
};

// One whole JSON value, nothing after it. Errors name the byte offset. Duplicate keys: the last one wins.
Result<Doc> Parse(std::string_view text, Limits limits = {});
std::string Dump(const Doc& doc);
std::string DumpPretty(const Doc& doc);  // two spaces, for people

// The value at `path` ("spec.template.spec"; a number indexes an array), or null when a step is missing or
// not a container. Keys that hold a dot are reached with Get(Get(doc, "metadata.labels"), ...) and Key().
const Doc* Find(const Doc& doc, std::string_view path);
const Doc* Key(const Doc* doc, std::string_view key);

// Typed reads with a default for "missing or of another type".
std::string GetString(const Doc& doc, std::string_view path, std::string_view fallback = "");
int64_t GetInt(const Doc& doc, std::string_view path, int64_t fallback = 0);
bool GetBool(const Doc& doc, std::string_view path, bool fallback = false);

}  // namespace lockstep::json
