#include "json/patch.h"

#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::json {
namespace {

// Bounds of a JSON Patch from outside. The copies are bounded like those of a kube-apiserver: "copy" doubles
// a document with each use.
constexpr size_t kMaxOperations = 10000;
constexpr size_t kMaxCopiedBytes = 3 << 20;
constexpr size_t kMaxDepth = 512;

using Steps = std::vector<std::string>;

// RFC 6901: "" is the whole document, "/a~1b/0" the element 0 of "a/b".
std::optional<Steps> ParsePointer(std::string_view text) {
  Steps steps;
  while (!text.empty()) {
    if (text.front() != '/') return std::nullopt;
    text.remove_prefix(1);
    std::string step;
    for (; !text.empty() && text.front() != '/'; text.remove_prefix(1)) {
      if (text.front() != '~') {
        step += text.front();
        continue;
      }
      text.remove_prefix(1);
      if (text.empty() || (text.front() != '0' && text.front() != '1')) return std::nullopt;
      step += text.front() == '0' ? '~' : '/';
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

// An array index without leading zeros.
std::optional<size_t> ParseIndex(std::string_view text) {
  size_t index = 0;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return index;
}

Doc* Child(Doc& parent, const std::string& step) {
  if (parent.is_object()) {
    auto found = parent.find(step);
    return found == parent.end() ? nullptr : &*found;
  }
  if (!parent.is_array()) return nullptr;
  std::optional<size_t> index = ParseIndex(step);
  return index && *index < parent.size() ? &parent[*index] : nullptr;
}

Doc* Walk(Doc& doc, const Steps& steps, size_t count) {
  Doc* at = &doc;
  for (size_t i = 0; i < count && at != nullptr; ++i) at = Child(*at, steps[i]);
  return at;
}

size_t Depth(const Doc& doc) {
  size_t depth = 0;
  if (doc.is_structured()) {
    for (const Doc& child : doc) depth = std::max(depth, Depth(child));
    ++depth;
  }
  return depth;
}

// Applies operations one by one. A problem is a text without the operation's place; "" is success.
class Patcher {
 public:
  explicit Patcher(Doc& target) : target_(target) {}

  std::string Apply(const Doc& operation) {
    if (!operation.is_object()) return "must be an object";
    std::string op = GetString(operation, "op");
    std::optional<Steps> path = Pointer(operation, "path");
    if (!path) return "path: must be a JSON pointer";
    if (op == "remove") return Remove(*path);
    if (op == "move" || op == "copy") {
      std::optional<Steps> from = Pointer(operation, "from");
      if (!from) return "from: must be a JSON pointer";
      return op == "move" ? Move(*from, *path) : Copy(*from, *path);
    }
    const Doc* value = Key(&operation, "value");
    if (op != "add" && op != "replace" && op != "test") return "op: not an operation: \"" + op + "\"";
    if (value == nullptr) return "value: must be there for " + op;
    if (op == "add") return Add(*path, *value);
    if (op == "replace") return Replace(*path, *value);
    Doc* found = Walk(target_, *path, path->size());
    if (found == nullptr) return Missing("path");
    return *found == *value ? "" : "test failed: the value is " + Dump(*found).substr(0, 200);
  }

 private:
  static std::optional<Steps> Pointer(const Doc& operation, std::string_view key) {
    const Doc* pointer = Key(&operation, key);
    if (pointer == nullptr || !pointer->is_string()) return std::nullopt;
    return ParsePointer(pointer->get_ref<const std::string&>());
  }
  static std::string Missing(std::string_view field) {
    std::string problem(field);
    return problem.append(": there is no such place");
  }

  std::string Add(const Steps& path, Doc value) {
    if (path.size() + Depth(value) > kMaxDepth) return "path: nested too deep";
    if (path.empty()) {
      target_ = std::move(value);
      return "";
    }
    Doc* parent = Walk(target_, path, path.size() - 1);
    if (parent == nullptr || !parent->is_structured()) return Missing("path");
    const std::string& last = path.back();
    if (parent->is_object()) {
      (*parent)[last] = std::move(value);
      return "";
    }
    std::optional<size_t> index = last == "-" ? parent->size() : ParseIndex(last);
    if (!index || *index > parent->size()) return Missing("path");
    parent->insert(parent->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
    return "";
  }

  std::string Replace(const Steps& path, const Doc& value) {
    if (path.size() + Depth(value) > kMaxDepth) return "path: nested too deep";
    Doc* found = Walk(target_, path, path.size());
    if (found == nullptr) return Missing("path");
    *found = value;
    return "";
  }

  std::string Remove(const Steps& path) {
    if (path.empty()) return "path: must not be the whole document";
    Doc* parent = Walk(target_, path, path.size() - 1);
    if (parent == nullptr || Child(*parent, path.back()) == nullptr) return Missing("path");
    if (parent->is_object()) {
      parent->erase(path.back());
    } else {
      parent->erase(*ParseIndex(path.back()));
    }
    return "";
  }

  std::string Move(const Steps& from, const Steps& path) {
    Doc* found = Walk(target_, from, from.size());
    if (found == nullptr) return Missing("from");
    if (from == path) return "";
    bool into_itself = from.size() < path.size() && std::equal(from.begin(), from.end(), path.begin());
    if (into_itself) return "path: must not be inside from";
    Doc value = std::move(*found);
    std::string problem = Remove(from);
    return problem.empty() ? Add(path, std::move(value)) : problem;
  }

  std::string Copy(const Steps& from, const Steps& path) {
    Doc* found = Walk(target_, from, from.size());
    if (found == nullptr) return Missing("from");
    copied_bytes_ += Dump(*found).size();
    if (copied_bytes_ > kMaxCopiedBytes)
      return "copies more than " + std::to_string(kMaxCopiedBytes) + " bytes";
    return Add(path, *found);
  }

  Doc& target_;
  size_t copied_bytes_ = 0;
};

}  // namespace

void MergePatch(Doc& target, const Doc& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Doc::object();
  for (const auto& [key, value] : patch.items()) {
    if (value.is_null()) {
      target.erase(key);
    } else {
      MergePatch(target[key], value);
    }
  }
}

Outcome JsonPatch(Doc& target, const Doc& operations) {
  if (!operations.is_array()) return Error{std::string("must be an array, is ") + operations.type_name()};
  if (operations.size() > kMaxOperations) {
    return Error{"more than " + std::to_string(kMaxOperations) + " operations"};
  }
  Doc patched = target;
  Patcher patcher(patched);
  for (size_t i = 0; i < operations.size(); ++i) {
    std::string problem = patcher.Apply(operations[i]);
    if (!problem.empty()) return Error{"[" + std::to_string(i) + "]." + problem};
  }
  target = std::move(patched);
  return std::nullopt;
}

Doc MergeDiff(const Doc& from, const Doc& to) {
  Doc diff = Doc::object();
  if (!from.is_object() || !to.is_object()) return from == to ? diff : to;
  for (const auto& [key, value] : from.items()) {
    if (!to.contains(key)) diff[key] = nullptr;
  }
  for (const auto& [key, value] : to.items()) {
    const Doc* old = Key(&from, key);
    if (old == nullptr) {
      diff[key] = value;
    } else if (*old != value) {
      diff[key] = MergeDiff(*old, value);
    }
  }
  return diff;
}

}  // namespace lockstep::json
