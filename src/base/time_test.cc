#include "base/time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep {
namespace {

WallTime At(int64_t micros) { return WallTime{Duration{micros}}; }

TEST(FormatTime, WritesAsKubernetesDoes) {
  EXPECT_EQ(FormatTime(At(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatTime(At(1772366400'999999)), "2026-03-01T12:00:00Z");
  EXPECT_EQ(FormatMicroTime(At(1772366400'000001)), "2026-03-01T12:00:00.000001Z");
  EXPECT_EQ(FormatMicroTime(At(-1)), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(FormatTime(At(951782400'000000)), "2000-02-29T00:00:00Z");
}

TEST(FormatTime, StaysWithinTheYearsThatCanBeReadBack) {
  EXPECT_EQ(FormatTime(WallTime::max()), "9999-12-31T23:59:59Z");
  EXPECT_EQ(FormatMicroTime(WallTime::max()), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(FormatTime(WallTime::min()), "0000-01-01T00:00:00Z");
}

TEST(ParseTime, ReadsAnyOffsetAndFraction) {
  const int64_t noon = 1772366400'000000;
  EXPECT_EQ(*ParseTime("2026-03-01T12:00:00Z"), At(noon));
  EXPECT_EQ(*ParseTime("2026-03-01T12:00:00.000000Z"), At(noon));
  EXPECT_EQ(*ParseTime("2026-03-01T13:30:00+01:30"), At(noon));
  EXPECT_EQ(*ParseTime("2026-02-28T20:00:00-16:00"), At(noon));
  EXPECT_EQ(*ParseTime("2026-03-01T12:00:00.5Z"), At(noon + 500000));
  EXPECT_EQ(*ParseTime("2026-03-01T12:00:00.1234569Z"), At(noon + 123456));
  EXPECT_EQ(*ParseTime("2026-03-01T12:00:00.123456789123456789Z"), At(noon + 123456));
  EXPECT_EQ(*ParseTime("2024-02-29T00:00:00Z"), At(1709164800'000000));
}

TEST(ParseTime, RefusesEverythingElse) {
  const char* wrong[] = {"",
                         "now",
                         "2026-03-01",
                         "2026-03-01T12:00:00",
                         "2026-03-01 12:00:00Z",
                         "2026-03-01T12:00Z",
                         "2026-3-1T12:00:00Z",
                         "2026-13-01T12:00:00Z",
                         "2026-00-01T12:00:00Z",
                         "2026-02-29T12:00:00Z",
                         "2026-04-31T12:00:00Z",
                         "2026-03-00T12:00:00Z",
                         "2026-03-01T24:00:00Z",
                         "2026-03-01T12:60:00Z",
                         "2026-03-01T12:00:60Z",
                         "2026-03-01T12:00:00.Z",
                         "2026-03-01T12:00:00z",
                         "2026-03-01T12:00:00Zx",
                         "2026-03-01T12:00:00+1:00",
                         "2026-03-01T12:00:00+24:00",
                         "2026-03-01T12:00:00+01:60",
                         "-026-03-01T12:00:00Z",
                         "12026-03-01T12:00:00Z",
                         " 2026-03-01T12:00:00Z"};
  for (const char* text : wrong) EXPECT_FALSE(ParseTime(text).ok()) << text;
  EXPECT_EQ(ParseTime("soon").error().message, "not an RFC 3339 time: \"soon\"");
  EXPECT_EQ(ParseTime("2026-02-30T12:00:00Z").error().message, "no such day: \"2026-02-30T12:00:00Z\"");
}

RC_GTEST_PROP(ParseTime, ReadsBackWhatWasWritten, ()) {
  int64_t micros = *rc::gen::inRange<int64_t>(-62167219200'000000, 253402300800'000000);
  RC_ASSERT(*ParseTime(FormatMicroTime(At(micros))) == At(micros));
  Duration cut = At(micros) - *ParseTime(FormatTime(At(micros)));
  RC_ASSERT(cut >= Duration{0} && cut < Duration{1000000});
}

RC_GTEST_PROP(ParseTime, NeverCrashes, (const std::string& text)) {
  Result<WallTime> time = ParseTime(text);
  if (!time.ok()) RC_ASSERT(!time.error().message.empty());
}

TEST(ParseDuration, ReadsGoDurations) {
  struct Case {
    const char* text;
    int64_t micros;
  };
  const Case cases[] = {{"0", 0},
                        {"+0", 0},
                        {"-0", 0},
                        {"0s", 0},
                        {"10s", 10'000'000},
                        {"+5s", 5'000'000},
                        {"250ms", 250'000},
                        {"1h30m", 5400'000'000},
                        {"1h1m1s1ms1us", 3661'001'001},
                        {"1.5h", 5400'000'000},
                        {".5s", 500'000},
                        {"5.s", 5'000'000},
                        {"7us", 7},
                        {"7\xc2\xb5s", 7},
                        {"7\xce\xbcs", 7},
                        {"1500ns", 1},
                        {"999ns", 0},
                        {"500ns500ns", 1},
                        {"1s1s", 2'000'000},
                        {"2m1h", 3720'000'000},
                        {"0.1234567890123456789s", 123'456},
                        {"2562047h47m16.854775807s", 9223372036854775}};
  for (const Case& c : cases) {
    ASSERT_TRUE(ParseDuration(c.text).ok()) << c.text << ": " << ParseDuration(c.text).error().message;
    EXPECT_EQ(ParseDuration(c.text)->count(), c.micros) << c.text;
  }
}

TEST(ParseDuration, RefusesEverythingElse) {
  const char* wrong[] = {"",
                         "+",
                         "-",
                         "3",
                         "3.5",
                         "s",
                         ".s",
                         "1d",
                         "1 s",
                         " 1s",
                         "1s ",
                         "1h-1m",
                         "--1s",
                         "-1s",
                         "1S",
                         "1e3s",
                         "0x1s",
                         "1.2.3s",
                         "2562047h47m16.854775808s",
                         "9999999h",
                         "99999999999999999999s",
                         "1,5s"};
  for (const char* text : wrong) EXPECT_FALSE(ParseDuration(text).ok()) << text;
  EXPECT_EQ(ParseDuration("-1s").error().message, "not a duration: \"-1s\": must not be negative");
  EXPECT_EQ(ParseDuration("10").error().message,
            "not a duration: \"10\": a unit (h, m, s, ms, us, ns) must follow a number");
}

TEST(FormatDuration, IsShort) {
  EXPECT_EQ(FormatDuration(Duration{0}), "0s");
  EXPECT_EQ(FormatDuration(seconds{90}), "1m30s");
  EXPECT_EQ(FormatDuration(milliseconds{2500}), "2.5s");
  EXPECT_EQ(FormatDuration(milliseconds{250}), "250ms");
  EXPECT_EQ(FormatDuration(Duration{1500}), "1.5ms");
  EXPECT_EQ(FormatDuration(Duration{7}), "7us");
  EXPECT_EQ(FormatDuration(hours{3}), "3h");
  EXPECT_EQ(FormatDuration(hours{3} + seconds{1}), "3h1s");
  EXPECT_EQ(FormatDuration(seconds{1} + Duration{1}), "1.000001s");
  EXPECT_EQ(FormatDuration(-seconds{90}), "-1m30s");
  EXPECT_EQ(FormatDuration(Duration::min()), "-2562047788h54.775808s");
}

RC_GTEST_PROP(FormatDuration, IsReadBack, ()) {
  Duration duration{*rc::gen::inRange<int64_t>(0, 9223372036854775)};
  RC_ASSERT(*ParseDuration(FormatDuration(duration)) == duration);
  Duration small{*rc::gen::inRange<int64_t>(0, 200'000'000)};
  RC_ASSERT(*ParseDuration(FormatDuration(small)) == small);
}

RC_GTEST_PROP(ParseDuration, NeverCrashes, (const std::string& text)) {
  Result<Duration> duration = ParseDuration(text);
  if (duration.ok()) RC_ASSERT(*duration >= Duration{0});
}

}  // namespace
}  // namespace lockstep
