#include "json/yaml_scalar.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace lockstep::json {
namespace {

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  for (std::string_view word : words) {
    if (text == word) return true;
  }
  return false;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::optional<Doc> ResolveWord(std::string_view text) {
  if (IsOneOf(text, {"", "~", "null", "Null", "NULL"})) return Doc();
  if (IsOneOf(text, {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}))
    return Doc(true);
  if (IsOneOf(text, {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})) {
    return Doc(false);
  }
  if (IsOneOf(text, {".nan", ".NaN", ".NAN"})) return Doc(std::numeric_limits<double>::quiet_NaN());
  if (IsOneOf(text, {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"})) return Doc(HUGE_VAL);
  if (IsOneOf(text, {"-.inf", "-.Inf", "-.INF"})) return Doc(-HUGE_VAL);
  return std::nullopt;
}

// strconv.ParseInt and ParseUint with base 0.
std::optional<Doc> ResolveInteger(std::string_view text) {
  bool negative = text.starts_with('-');
  bool sign = negative || text.starts_with('+');
  std::string_view digits = text.substr(sign ? 1 : 0);
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    char mark = static_cast<char>(digits[1] | 0x20);  // to lower case
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    digits.remove_prefix(mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1);
  }
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  if (negative) {
    if (value > kHalf) return std::nullopt;
    return Doc(static_cast<int64_t>(-value));
  }
  if (value >= kHalf && sign) return std::nullopt;  // an unsigned number has no sign
  return value < kHalf ? Doc(static_cast<int64_t>(value)) : Doc(value);
}

// ^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$
bool LooksLikeFloat(std::string_view text) {
  auto skip_digits = [&] {
    size_t count = 0;
    while (count < text.size() && IsDigit(text[count])) ++count;
    text.remove_prefix(count);
    return count;
  };
  auto skip_sign = [&] {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  };
  skip_sign();
  size_t whole = skip_digits(), fraction = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = skip_digits();
  }
  if (whole + fraction == 0) return false;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    skip_sign();
    if (skip_digits() == 0) return false;
  }
  return text.empty();
}

std::optional<Doc> ResolveFloat(std::string_view text) {
  if (!LooksLikeFloat(text)) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;  // out of range: stays a string, as in Go
  if (value == std::floor(value) && std::abs(value) < 9.2e18) return Doc(static_cast<int64_t>(value));
  return Doc(value);
}

}  // namespace

Doc ResolvePlainScalar(std::string_view text) {
  if (std::optional<Doc> word = ResolveWord(text)) return *std::move(word);
  char first = text.front();
  if (first == '.') {
    if (std::optional<Doc> number = ResolveFloat(text)) return *std::move(number);
  } else if (IsDigit(first) || first == '-' || first == '+') {
    std::string plain(text);
    std::erase(plain, '_');
    if (std::optional<Doc> number = ResolveInteger(plain)) return *std::move(number);
    if (std::optional<Doc> number = ResolveFloat(plain)) return *std::move(number);
  }
  return Doc(text);
}

}  // namespace lockstep::json
