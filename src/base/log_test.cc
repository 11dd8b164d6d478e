#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// What `write` puts on standard error.
std::string Captured(LogLevel lowest, LogFormat format, const std::function<void()>& write) {
  testing::internal::CaptureStderr();
  SetLog(lowest, format);
  write();
  SetLog(LogLevel::kInfo, LogFormat::kText);
  return testing::internal::GetCapturedStderr();
}

TEST(LogLine, ReadsWellAsText) {
  std::string line = Captured(LogLevel::kInfo, LogFormat::kText, [] {
    LogLine(LogLevel::kInfo, "gang placed", {{"gang", "default/a"}, {"attempt", 2}, {"why", "two words"}});
  });
  EXPECT_THAT(line, MatchesRegex("[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3} I gang placed "
                                 "gang=default/a attempt=2 why=\"two words\"\n"));
}

TEST(LogLine, IsOneJsonObjectALine) {
  std::string line = Captured(LogLevel::kInfo, LogFormat::kJson, [] {
    LogLine(LogLevel::kWarning, "a \"quoted\"\nword",
            {{"size", size_t{7}}, {"delta", int64_t{-1}}, {"to", ""}});
  });
  EXPECT_THAT(
      line,
      MatchesRegex("\\{\"time\":\"20[0-9-]+T[0-9:]+\\.[0-9]{6}Z\",\"level\":\"warning\","
                   "\"msg\":\"a \\\\\"quoted\\\\\"\\\\nword\",\"size\":7,\"delta\":-1,\"to\":\"\"\\}\n"));
}

TEST(LogLine, LeavesOutLowerLevels) {
  std::string lines = Captured(LogLevel::kWarning, LogFormat::kText, [] {
    LogLine(LogLevel::kDebug, "first");
    LogLine(LogLevel::kInfo, "second");
    LogLine(LogLevel::kWarning, "third");
    LogLine(LogLevel::kError, "fourth");
  });
  EXPECT_THAT(lines, Not(HasSubstr("first")));
  EXPECT_THAT(lines, Not(HasSubstr("second")));
  EXPECT_THAT(lines, HasSubstr(" W third\n"));
  EXPECT_THAT(lines, HasSubstr(" E fourth\n"));
}

TEST(LogLine, AHostileNameCannotForgeALine) {
  std::string lines = Captured(LogLevel::kInfo, LogFormat::kText, [] {
    LogLine(LogLevel::kInfo, "job seen", {{"job", "x\n12:00:00.000 E stolen\x1b[2J"}, {"a", "b=c"}});
  });
  EXPECT_EQ(std::ranges::count(lines, '\n'), 1);
  EXPECT_THAT(lines, HasSubstr("job=\"x\\n12:00:00.000 E stolen\\u001b[2J\" a=\"b=c\""));
}

TEST(LogLine, MendsTextThatIsNotUtf8) {
  const char* broken[] = {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82", "\xf5\x80\x80\x80", "\x80"};
  for (const char* text : broken) {
    std::string line =
        Captured(LogLevel::kInfo, LogFormat::kJson, [&] { LogLine(LogLevel::kInfo, "m", {{"v", text}}); });
    EXPECT_THAT(line, HasSubstr("\"v\":\"\xEF\xBF\xBD"));
    EXPECT_THAT(line, Not(HasSubstr(text)));
  }
  std::string good = Captured(LogLevel::kInfo, LogFormat::kJson,
                              [] { LogLine(LogLevel::kInfo, "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80"); });
  EXPECT_THAT(good, HasSubstr("\"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80\""));
}

TEST(LogLine, CutsHugeValues) {
  std::string line = Captured(LogLevel::kInfo, LogFormat::kText,
                              [] { LogLine(LogLevel::kInfo, "big", {{"v", std::string(1 << 20, 'x')}}); });
  EXPECT_LT(line.size(), 5000u);
  EXPECT_THAT(line, HasSubstr("xxx..."));
}

TEST(LogLine, ThreadsDoNotTearLines) {
  std::string lines = Captured(LogLevel::kInfo, LogFormat::kText, [] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 50; ++i) LogLine(LogLevel::kInfo, "whole line", {{"end", 1}});
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  size_t whole = 0;
  for (size_t at = lines.find(" I whole line end=1\n"); at != lines.npos; ++whole) {
    at = lines.find(" I whole line end=1\n", at + 1);
  }
  EXPECT_EQ(whole, 200u);
  EXPECT_EQ(std::ranges::count(lines, '\n'), 200);
}

}  // namespace
}  // namespace lockstep
