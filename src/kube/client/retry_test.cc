#include "kube/client/retry.h"

#include <gtest/gtest.h>

namespace lockstep::kube {
namespace {

constexpr RetryPolicy kPolicy{};

Status With(int code, std::optional<Duration> retry_after = std::nullopt) {
  Status status = code == 0 ? NoAnswer("lost") : ErrorStatus(code, "", "");
  status.retry_after = retry_after;
  return status;
}

bool Retries(Verb verb, const Status& status, int tries = 1) {
  return RetryDelay(kPolicy, verb, status, tries, "x").has_value();
}

TEST(Retry, ReadsAreRepeatedAfterTransientFailuresOnly) {
  for (int code : {0, 429, 500, 502, 503, 504}) EXPECT_TRUE(Retries(Verb::kGet, With(code))) << code;
  for (int code : {200, 400, 401, 403, 404, 409, 410, 422, 501})
    EXPECT_FALSE(Retries(Verb::kList, With(code))) << code;
}

TEST(Retry, WritesAreRepeatedOnlyWhenTheServerNamesATime) {
  for (Verb verb : {Verb::kCreate, Verb::kUpdate, Verb::kPatch, Verb::kDelete}) {
    for (int code : {0, 409, 429, 500, 502, 503, 504}) EXPECT_FALSE(Retries(verb, With(code))) << code;
    EXPECT_TRUE(Retries(verb, With(429, seconds{1})));
    EXPECT_TRUE(Retries(verb, With(503, seconds{1})));
    EXPECT_FALSE(Retries(verb, With(500, seconds{1}))) << "the server may have done half of it";
    EXPECT_FALSE(Retries(verb, With(0, seconds{1})));
  }
}

TEST(Retry, TriesAreCounted) {
  EXPECT_TRUE(Retries(Verb::kGet, With(500), kPolicy.max_retries));
  EXPECT_FALSE(Retries(Verb::kGet, With(500), kPolicy.max_retries + 1));
  EXPECT_TRUE(Retries(Verb::kCreate, With(429, seconds{1}), kPolicy.max_write_retries));
  EXPECT_FALSE(Retries(Verb::kCreate, With(429, seconds{1}), kPolicy.max_write_retries + 1));
}

TEST(Retry, BackOffDoublesWithinJitterUpToItsLimit) {
  RetryPolicy policy{.max_retries = 100, .base = milliseconds{100}, .max_delay = milliseconds{1000}};
  Duration full = milliseconds{100};
  for (int tries = 1; tries < 60; ++tries) {
    Duration delay = *RetryDelay(policy, Verb::kGet, With(500), tries, "x");
    EXPECT_GE(delay, full / 2) << tries;
    EXPECT_LE(delay, full) << tries;
    full = std::min<Duration>(full * 2, policy.max_delay);
  }
  EXPECT_NE(RetryDelay(policy, Verb::kGet, With(500), 1, "x"),
            RetryDelay(policy, Verb::kGet, With(500), 1, "y"));
}

TEST(Retry, TheServersTimeIsHonouredUpToTheLimit) {
  Duration told = *RetryDelay(kPolicy, Verb::kCreate, With(429, seconds{3}), 1, "x");
  EXPECT_GE(told, seconds{3});
  EXPECT_LE(told, seconds{3} + kPolicy.base / 4);
  EXPECT_LE(*RetryDelay(kPolicy, Verb::kGet, With(503, hours{5}), 1, "x"),
            kPolicy.max_delay + kPolicy.base / 4);
}

}  // namespace
}  // namespace lockstep::kube
