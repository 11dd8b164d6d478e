// The measure of tools/compile_cost: standard headers that any unit of the core may include, and a little use
// of them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

int Count(std::span<const std::string> words, std::map<std::string, int>* counts) {
  for (const auto& word : words) ++(*counts)[word];
  return static_cast<int>(counts->size());
}
