#include "kube/model/quantity.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace lockstep::kube {
namespace {

constexpr size_t kMaxText = 64;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// value = digits x 10^exponent10 x 1024^exponent1024
struct Scale {
  int exponent10 = 0;
  int exponent1024 = 0;
};

// "e3", "E-3": any exponent that could matter within kMaxText digits; larger ones are cut to ±1000.
std::optional<int> ParseExponent(std::string_view text) {
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !std::ranges::all_of(text, IsDigit)) return std::nullopt;
  int exponent = 0;
  for (char c : text) exponent = std::min(1000, exponent * 10 + (c - '0'));
  return negative ? -exponent : exponent;
}

std::optional<Scale> ParseSuffix(std::string_view suffix) {
  static constexpr std::string_view kUp = "kMGTPE", kBinary = "KMGTPE", kDown = "mun";
  if (suffix.empty()) return Scale{};
  if (suffix.size() == 1) {
    if (size_t at = kUp.find(suffix[0]); at != kUp.npos) return Scale{.exponent10 = 3 * (int(at) + 1)};
    if (size_t at = kDown.find(suffix[0]); at != kDown.npos) return Scale{.exponent10 = -3 * (int(at) + 1)};
    return std::nullopt;
  }
  if (suffix.size() == 2 && suffix[1] == 'i') {
    size_t at = kBinary.find(suffix[0]);
    return at == kBinary.npos ? std::nullopt : std::optional(Scale{.exponent1024 = int(at) + 1});
  }
  if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
  std::optional<int> exponent = ParseExponent(suffix.substr(1));
  return exponent ? std::optional(Scale{.exponent10 = *exponent}) : std::nullopt;
}

void MultiplyBy1024(std::string& digits) {
  int carry = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    carry += (*digit - '0') * 1024;
    *digit = static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  if (carry > 0) digits.insert(0, std::to_string(carry));
}

// digits x 10^exponent, rounded up, saturated.
Amount ToAmount(std::string digits, int exponent) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return 0;
  bool round_up = false;
  if (exponent < 0) {
    size_t keep = digits.size() - std::min<size_t>(digits.size(), static_cast<size_t>(-exponent));
    round_up = digits.find_first_not_of('0', keep) != digits.npos;
    digits.erase(keep);
  } else if (digits.size() + static_cast<size_t>(exponent) > 19) {
    return kMaxAmount;
  } else {
    digits.append(static_cast<size_t>(exponent), '0');
  }
  Amount amount = 0;
  if (!digits.empty()) {
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), amount);
    if (error == std::errc::result_out_of_range) return kMaxAmount;
  }
  return AddAmounts(amount, round_up ? 1 : 0);
}

// Kubernetes trims white space inside a JSON string before it parses the quantity.
std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

Result<Amount> ParseQuantity(std::string_view text) {
  auto fail = [&](std::string_view why) {
    return Error{"not a quantity: \"" + std::string(text.substr(0, kMaxText)) + "\": " + std::string(why)};
  };
  if (text.empty()) return fail("must not be empty");
  if (text.size() > kMaxText) return fail("longer than 64 characters");
  std::string_view rest = text;
  bool negative = rest.front() == '-';
  if (negative || rest.front() == '+') rest.remove_prefix(1);

  std::string digits;
  auto take_digits = [&] {
    size_t count = 0;
    while (count < rest.size() && IsDigit(rest[count])) ++count;
    digits += rest.substr(0, count);
    rest.remove_prefix(count);
    return count;
  };
  take_digits();
  int fraction = 0;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = static_cast<int>(take_digits());
  }
  std::optional<Scale> scale = ParseSuffix(rest);
  if (!scale) return fail("must be a number with a suffix like m, k, Mi or e3");
  for (int i = 0; i < scale->exponent1024; ++i) MultiplyBy1024(digits);
  Amount amount = ToAmount(std::move(digits), scale->exponent10 - fraction + 3);
  return negative ? -amount : amount;
}

Result<Amount> ParseQuantity(const json::Doc& value) {
  if (value.is_null()) return Amount{0};
  if (value.is_string()) return ParseQuantity(Trim(value.get_ref<const std::string&>()));
  if (value.is_number()) return ParseQuantity(std::string_view(json::Dump(value)));
  return Error{std::string("not a quantity: must be a string or a number, is ") + value.type_name()};
}

bool HasHugeExponent(const json::Doc& value) {
  if (!value.is_string()) return false;
  std::string_view text = Trim(value.get_ref<const std::string&>());
  size_t mark = text.find_first_of("eE");
  if (mark == text.npos || !ParseExponent(text.substr(mark + 1))) return false;
  return std::abs(*ParseExponent(text.substr(mark + 1))) >= 1000;
}

std::string FormatQuantity(Amount amount, bool binary) {
  if (amount % 1000 != 0) return std::to_string(amount) + "m";
  Amount value = amount / 1000;
  bool use_binary = binary && (value >= 1024 || value <= -1024);
  Amount base = use_binary ? 1024 : 1000;
  static constexpr std::string_view kBinary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  static constexpr std::string_view kDecimal[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t suffix = 0;
  for (; value != 0 && value % base == 0 && suffix < 6; ++suffix) value /= base;
  return std::to_string(value).append(use_binary ? kBinary[suffix] : kDecimal[suffix]);
}

Amount AddAmounts(Amount a, Amount b) {
  Amount sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a > 0 ? kMaxAmount : -kMaxAmount;
  return std::max(sum, -kMaxAmount);
}

Amount MultiplyAmount(Amount a, int64_t times) {
  Amount product = 0;
  if (__builtin_mul_overflow(a, times, &product)) return (a > 0) == (times > 0) ? kMaxAmount : -kMaxAmount;
  return std::max(product, -kMaxAmount);
}

Result<Resources> ParseResources(const json::Doc* doc, std::string_view path) {
  Resources resources;
  if (doc == nullptr || doc->is_null()) return resources;
  if (!doc->is_object()) return Error{std::string(path) + ": must be an object, is " + doc->type_name()};
  for (const auto& [name, value] : doc->items()) {
    std::string field = std::string(path) + "." + name;
    Result<Amount> amount = ParseQuantity(value);
    if (!amount) return Error{field + ": " + amount.error().message};
    if (*amount < 0) return Error{field + ": must not be negative, is " + json::Dump(value)};
    resources.emplace_hint(resources.end(), name, *amount);
  }
  return resources;
}

void AddTo(Resources& sum, const Resources& more) {
  for (const auto& [name, amount] : more) {
    Amount& total = sum[name];
    total = AddAmounts(total, amount);
  }
}

void MaxInto(Resources& peak, const Resources& other) {
  for (const auto& [name, amount] : other) {
    auto [found, inserted] = peak.emplace(name, amount);
    if (!inserted) found->second = std::max(found->second, amount);
  }
}

}  // namespace lockstep::kube
