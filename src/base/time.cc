#include "base/time.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace lockstep {
namespace {

using std::chrono::days;
using std::chrono::sys_days;

struct CivilTime {
  int year;
  unsigned month, day;
  int hour, minute, second, micros;
};

// Kubernetes can't read years outside 0000..9999, so times beyond are written as the nearest one it can.
WallTime ClampYears(WallTime time) {
  constexpr auto kFirst = sys_days{std::chrono::year{0} / 1 / 1};
  constexpr auto kEnd = sys_days{std::chrono::year{10000} / 1 / 1};
  const WallTime first{Duration{kFirst.time_since_epoch()}};
  const WallTime last{Duration{kEnd.time_since_epoch()} - Duration{1}};
  return std::min(std::max(time, first), last);
}

CivilTime ToCivil(WallTime time) {
  Duration since = ClampYears(time).time_since_epoch();
  auto day = std::chrono::floor<days>(since);
  std::chrono::year_month_day date{sys_days{day}};
  int64_t micros = (since - day).count();
  int64_t total_seconds = micros / 1000000;
  return {.year = static_cast<int>(date.year()),
          .month = static_cast<unsigned>(date.month()),
          .day = static_cast<unsigned>(date.day()),
          .hour = static_cast<int>(total_seconds / 3600),
          .minute = static_cast<int>(total_seconds / 60 % 60),
          .second = static_cast<int>(total_seconds % 60),
          .micros = static_cast<int>(micros % 1000000)};
}

// Reads fixed-width fields from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeDigits(size_t count, int& value) {
    if (rest_.size() < count) return false;
    value = 0;
    for (char c : rest_.substr(0, count)) {
      if (c < '0' || c > '9') return false;
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(count);
    return true;
  }
  // At least one digit; what follows the sixth is cut.
  bool TakeFraction(int& micros) {
    size_t count = 0;
    int weight = 100000;
    micros = 0;
    for (; count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9'; ++count, weight /= 10) {
      micros += (rest_[count] - '0') * weight;
    }
    rest_.remove_prefix(count);
    return count > 0;
  }
  bool AtEnd() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Minutes east of Greenwich.
bool TakeOffset(Scanner& scan, int& offset) {
  offset = 0;
  if (scan.Take('Z')) return true;
  int sign = scan.Take('+') ? 1 : scan.Take('-') ? -1 : 0;
  int hour = 0, minute = 0;
  if (sign == 0 || !scan.TakeDigits(2, hour) || !scan.Take(':') || !scan.TakeDigits(2, minute)) return false;
  offset = sign * (hour * 60 + minute);
  return hour < 24 && minute < 60;
}

bool TakeCivil(Scanner& scan, CivilTime& time) {
  int month = 0, day = 0;
  if (!scan.TakeDigits(4, time.year) || !scan.Take('-') || !scan.TakeDigits(2, month) || !scan.Take('-') ||
      !scan.TakeDigits(2, day) || !scan.Take('T') || !scan.TakeDigits(2, time.hour) || !scan.Take(':') ||
      !scan.TakeDigits(2, time.minute) || !scan.Take(':') || !scan.TakeDigits(2, time.second)) {
    return false;
  }
  time.month = static_cast<unsigned>(month);
  time.day = static_cast<unsigned>(day);
  time.micros = 0;
  if (scan.Take('.') && !scan.TakeFraction(time.micros)) return false;
  return time.hour < 24 && time.minute < 60 && time.second < 60;  // no leap seconds, as in Go
}

// Nanoseconds of a unit at the front of `text`, which is removed; 0 if there is none.
int64_t TakeUnit(std::string_view& text) {
  struct Unit {
    std::string_view name;
    int64_t nanos;
  };
  // Longer names first: "ms" is not "m" and an "s". Both spellings of the Greek letter are in use.
  static constexpr Unit kUnits[] = {{"\xc2\xb5s", 1000},   {"\xce\xbcs", 1000},    {"ns", 1},
                                    {"us", 1000},          {"ms", 1000000},        {"s", 1000000000},
                                    {"m", 60'000'000'000}, {"h", 3600'000'000'000}};
  for (const Unit& unit : kUnits) {
    if (text.starts_with(unit.name)) {
      text.remove_prefix(unit.name.size());
      return unit.nanos;
    }
  }
  return 0;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string FormatTime(WallTime time) {
  CivilTime t = ToCivil(time);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", t.year, t.month, t.day, t.hour, t.minute,
                t.second);
  return text;
}

std::string FormatMicroTime(WallTime time) {
  CivilTime t = ToCivil(time);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", t.year, t.month, t.day, t.hour,
                t.minute, t.second, t.micros);
  return text;
}

Result<WallTime> ParseTime(std::string_view text) {
  Scanner scan(text);
  CivilTime time{};
  int offset = 0;
  if (!TakeCivil(scan, time) || !TakeOffset(scan, offset) || !scan.AtEnd()) {
    return Error{"not an RFC 3339 time: \"" + std::string(text.substr(0, 64)) + "\""};
  }
  std::chrono::year_month_day date{std::chrono::year{time.year}, std::chrono::month{time.month},
                                   std::chrono::day{time.day}};
  if (!date.ok()) return Error{"no such day: \"" + std::string(text.substr(0, 64)) + "\""};
  Duration since = sys_days{date}.time_since_epoch() + hours{time.hour} + minutes{time.minute - offset} +
                   seconds{time.second} + Duration{time.micros};
  return WallTime{since};
}

Result<Duration> ParseDuration(std::string_view text) {
  auto fail = [&](std::string_view why) {
    return Error{"not a duration: \"" + std::string(text.substr(0, 64)) + "\": " + std::string(why)};
  };
  std::string_view rest = text;
  bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return Duration{0};
  if (rest.empty()) return fail("must be like 1h30m, 250ms or 0");

  __int128 nanos = 0;
  while (!rest.empty()) {
    int64_t whole = 0, fraction = 0, scale = 1;
    size_t digits = 0;
    for (; !rest.empty() && IsDigit(rest.front()); rest.remove_prefix(1), ++digits) {
      if (whole > (INT64_MAX - 9) / 10) return fail("too long");
      whole = whole * 10 + (rest.front() - '0');
    }
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      for (; !rest.empty() && IsDigit(rest.front()); rest.remove_prefix(1), ++digits) {
        if (scale > 100'000'000'000'000'000) continue;  // below a nanosecond in every unit
        fraction = fraction * 10 + (rest.front() - '0');
        scale *= 10;
      }
    }
    if (digits == 0) return fail("a number must come before a unit");
    int64_t unit = TakeUnit(rest);
    if (unit == 0) return fail("a unit (h, m, s, ms, us, ns) must follow a number");
    nanos += static_cast<__int128>(whole) * unit + static_cast<__int128>(fraction) * unit / scale;
    // Go's range, 292 years; within it, adding a duration to a time can't overflow.
    if (nanos > INT64_MAX) return fail("too long");
  }
  if (negative && nanos > 0) return fail("must not be negative");
  return Duration{static_cast<int64_t>(nanos / 1000)};
}

std::string FormatDuration(Duration duration) {
  if (duration.count() == 0) return "0s";
  std::string text = duration.count() < 0 ? "-" : "";
  uint64_t micros = duration.count() < 0 ? -static_cast<uint64_t>(duration.count())
                                         : static_cast<uint64_t>(duration.count());
  auto append_decimal = [&](uint64_t value, uint64_t unit, std::string_view name) {
    text += std::to_string(value / unit);
    if (uint64_t rest = value % unit; rest != 0) {
      std::string digits = std::to_string(unit + rest).substr(1);  // with leading zeros
      digits.erase(digits.find_last_not_of('0') + 1);
      text += "." + digits;
    }
    text += name;
  };
  if (micros < 1000) {
    append_decimal(micros, 1, "us");
  } else if (micros < 1000000) {
    append_decimal(micros, 1000, "ms");
  } else {
    uint64_t whole_minutes = micros / 60'000'000;
    if (whole_minutes / 60 > 0) text += std::to_string(whole_minutes / 60) + "h";
    if (whole_minutes % 60 > 0) text += std::to_string(whole_minutes % 60) + "m";
    if (micros % 60'000'000 > 0) append_decimal(micros % 60'000'000, 1'000'000, "s");
  }
  return text;
}

}  // namespace lockstep
