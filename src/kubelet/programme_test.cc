#include "kubelet/programme.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Programme> Parse(std::map<std::string, std::string> annotations) {
  kube::Labels labels;
  for (const auto& [name, value] : annotations) labels["hollow.lockstep.dev/" + name] = value;
  return ParseProgramme(labels, {.run_time = seconds(7), .start_delay = seconds(1)});
}

TEST(ParseProgramme, WithoutAnnotationsTheDefaultsHold) {
  Programme programme = *Parse({});
  EXPECT_EQ(programme.run_time, seconds(7));
  EXPECT_EQ(programme.start_delay, seconds(1));
  EXPECT_EQ(programme.ExitCode(0), 0);
  EXPECT_FALSE(programme.rendezvous.has_value());
}

TEST(ParseProgramme, ReadsEveryAnnotation) {
  Programme programme = *Parse({{"run-time", "1m30s"},
                                {"exit-code", "1,1,0"},
                                {"rendezvous", "job/with/slash/8"},
                                {"start-delay", "250ms"},
                                {"start-error", "ImagePullBackOff"},
                                {"ignore-term", "true"},
                                {"term-exit-code", "143"},
                                {"hang-terminating", "true"}});
  EXPECT_EQ(programme.run_time, seconds(90));
  EXPECT_THAT(programme.exit_codes, ElementsAre(1, 1, 0));
  EXPECT_EQ(programme.rendezvous, (Programme::Rendezvous{"job/with/slash", 8}));
  EXPECT_EQ(programme.start_delay, milliseconds(250));
  EXPECT_EQ(programme.start_error, "ImagePullBackOff");
  EXPECT_TRUE(programme.ignore_term);
  EXPECT_EQ(programme.term_exit_code, 143);
  EXPECT_TRUE(programme.hang_terminating);
}

TEST(ParseProgramme, ForeverIsARunTime) {
  EXPECT_EQ(Parse({{"run-time", "forever"}})->run_time, std::nullopt);
}

TEST(ParseProgramme, TheLastExitCodeStays) {
  Programme programme = *Parse({{"exit-code", "3,4"}});
  EXPECT_EQ(programme.ExitCode(0), 3);
  EXPECT_EQ(programme.ExitCode(1), 4);
  EXPECT_EQ(programme.ExitCode(99), 4);
}

TEST(ParseProgramme, AnErrorNamesTheAnnotation) {
  std::vector<std::pair<std::string, std::string>> wrong = {
      {"run-time", "fast"},
      {"run-time", "-1s"},
      {"run-time", ""},
      {"exit-code", ""},
      {"exit-code", "1,"},
      {"exit-code", "256"},
      {"exit-code", "-1"},
      {"exit-code", "0x1"},
      {"exit-code", std::string(1 << 20, ',')},
      {"rendezvous", "8"},
      {"rendezvous", "/8"},
      {"rendezvous", "g/0"},
      {"rendezvous", "g/8x"},
      {"rendezvous", "g/99999999999999999999"},
      {"start-delay", "soon"},
      {"start-error", ""},
      {"ignore-term", "yes"},
      {"term-exit-code", "999"},
      {"hang-terminating", ""},
  };
  for (const auto& [name, value] : wrong) {
    Result<Programme> programme = Parse({{name, value}});
    ASSERT_FALSE(programme.ok()) << name << "=" << value.substr(0, 40);
    EXPECT_THAT(programme.error().message, HasSubstr("hollow.lockstep.dev/" + name));
    EXPECT_LT(programme.error().message.size(), 300u);
  }
}

}  // namespace
}  // namespace lockstep::kubelet
