#include "sim/words.h"

#include <charconv>

namespace lockstep::sim {

Result<Words> Words::Split(std::string_view line) {
  Words words;
  size_t i = 0;
  while (true) {
    while (i < line.size() && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r')) ++i;
    if (i == line.size() || line[i] == '#') return words;
    std::string word;
    bool quoted = line[i] == '"';
    size_t equals = std::string::npos;
    for (; i < line.size() && line[i] != ' ' && line[i] != '\t' && line[i] != '\r'; ++i) {
      if (line[i] == '=' && equals == std::string::npos) equals = word.size();
      if (line[i] != '"') {
        word += line[i];
        continue;
      }
      size_t end = line.find('"', i + 1);
      if (end == std::string_view::npos)
        return Error{"a quote is not closed: " + std::string(line.substr(i))};
      word += line.substr(i + 1, end - i - 1);
      i = end;
    }
    if (quoted || equals == std::string::npos || equals == 0) {
      words.plain_.push_back(std::move(word));
    } else {
      words.options_.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
  }
}

bool Words::TakeIf(std::string_view word) {
  if (empty() || plain_[next_] != word) return false;
  ++next_;
  return true;
}

std::vector<std::string> Words::TakeRest() {
  std::vector<std::string> rest(plain_.begin() + static_cast<std::ptrdiff_t>(next_), plain_.end());
  next_ = plain_.size();
  return rest;
}

std::optional<std::string> Words::TakeOption(const std::string& key) {
  auto found = options_.find(key);
  if (found == options_.end()) return std::nullopt;
  std::string value = std::move(found->second);
  options_.erase(found);
  return value;
}

namespace {

// "job-{1..3}" into its members; anything without braces is itself.
Outcome Expand(std::string_view name, std::vector<std::string>& names) {
  size_t open = name.find('{');
  if (open == std::string_view::npos) {
    names.emplace_back(name);
    return {};
  }
  Error wrong{"must be like job-{1..20}, is \"" + std::string(name) + "\""};
  size_t close = name.find('}', open), dots = name.find("..", open);
  if (close == std::string_view::npos || dots == std::string_view::npos || dots > close) return wrong;
  Result<int64_t> first = ParseCount(name.substr(open + 1, dots - open - 1), 0, 100000);
  Result<int64_t> last = ParseCount(name.substr(dots + 2, close - dots - 2), 0, 100000);
  if (!first.ok() || !last.ok() || *first > *last) return wrong;
  for (int64_t i = *first; i <= *last; ++i) {
    names.push_back(std::string(name.substr(0, open)) + std::to_string(i) +
                    std::string(name.substr(close + 1)));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> ParseNames(std::string_view text) {
  std::vector<std::string> names;
  while (true) {
    size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    if (name.empty()) return Error{"a name is missing"};
    if (Outcome error = Expand(name, names)) return *error;
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

Result<int64_t> ParseCount(std::string_view text, int64_t lowest, int64_t highest) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || number < lowest ||
      number > highest) {
    return Error{"must be a number from " + std::to_string(lowest) + " to " + std::to_string(highest) +
                 ", is \"" + std::string(text) + "\""};
  }
  return number;
}

}  // namespace lockstep::sim
