#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep {

// Microseconds everywhere: exact enough for first-in first-out, and Kubernetes' MicroTime has the same unit.
using Duration = std::chrono::microseconds;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace internal {
struct WallClock {};
struct MonoClock {};
}  // namespace internal

// Time since the Unix epoch. Only wall times are stored in objects.
using WallTime = std::chrono::time_point<internal::WallClock, Duration>;
// Time since an arbitrary start that never jumps (CLOCK_BOOTTIME on Linux). Never stored.
using MonoTime = std::chrono::time_point<internal::MonoClock, Duration>;

// Both clocks, read once per step. Pure code takes this instead of asking a clock.
struct Now {
  MonoTime mono;
  WallTime wall;
};

// RFC 3339 as Kubernetes writes it: metav1.Time has whole seconds ("2026-03-01T12:00:00Z"),
// metav1.MicroTime has six digits ("2026-03-01T12:00:00.000000Z").
std::string FormatTime(WallTime time);
std::string FormatMicroTime(WallTime time);
// Accepts any number of fraction digits (cut to microseconds) and any offset. Years 0000 to 9999.
Result<WallTime> ParseTime(std::string_view text);

// Go's duration grammar as users of Kubernetes write it: "1h30m", "250ms", "10s", "0". Not negative.
Result<Duration> ParseDuration(std::string_view text);
// The shortest text that ParseDuration reads back: "1m30s", "2.5s", "0s".
std::string FormatDuration(Duration duration);

}  // namespace lockstep
