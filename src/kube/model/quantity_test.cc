#include "kube/model/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::kube {
namespace {

using ::testing::HasSubstr;

constexpr Amount kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024;
constexpr Amount kMax = kMaxAmount;

struct Case {
  const char* text;
  Amount thousandths;
};

void ExpectAll(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    Result<Amount> amount = ParseQuantity(c.text);
    ASSERT_TRUE(amount.ok()) << amount.error().message;
    EXPECT_EQ(*amount, c.thousandths) << c.text;
  }
}

// The expected values of these tables are those of k8s.io/apimachinery v0.34.4, MilliValue() of
// ParseQuantity(), where that does not overflow.
TEST(ParseQuantity, Decimals) {
  ExpectAll({{"0", 0},
             {"8", 8000},
             {"00012", 12000},
             {"1.5", 1500},
             {".5", 500},
             {"00.5", 500},
             {"5.", 5000},
             {"+1", 1000},
             {"-1.5", -1500},
             {"-.5", -500},
             {"-0", 0},
             {"0.000", 0},
             {"0.001", 1},
             {"0.010", 10},
             {"000000000000000000000000000000000000000000000000001", 1000}});
}

TEST(ParseQuantity, Suffixes) {
  ExpectAll({{"500m", 500},
             {"1n", 1},
             {"1u", 1},
             {"1000000n", 1},
             {"1000u", 1},
             {"1k", 1000'000},
             {"1M", 1000'000'000},
             {"1G", 1000'000'000'000},
             {"1T", 1000'000'000'000'000},
             {"1P", 1000'000'000'000'000'000},
             {"0.001P", 1000'000'000'000'000},
             {"1Ki", 1000 * kKi},
             {"1Mi", 1000 * kMi},
             {"1Gi", 1000 * kGi},
             {"1Ti", 1000 * kTi},
             {"1Pi", 1024 * 1000 * kTi},
             {"0.5Gi", 500 * kGi},
             {"1.5Gi", 1500 * kGi},
             {"+.5Mi", 500 * kMi},
             {"0.3Ki", 307200},
             {"-1Ki", -1000 * kKi},
             {"0Ki", 0},
             {"1.k", 1000'000}});
}

TEST(ParseQuantity, Exponents) {
  ExpectAll({{"1e3", 1000'000},
             {"1E3", 1000'000},
             {"1.5e3", 1500'000},
             {"1.e3", 1000'000},
             {"1e+5", 100'000'000},
             {"1E-3", 1},
             {"1e0003", 1000'000},
             {"15e-1", 1500},
             {"1e0", 1000},
             {"0e99", 0},
             {"2e15", 2000'000'000'000'000'000},
             {"0.000001e6", 1000}});
}

TEST(ParseQuantity, WhatIsTooFineIsRoundedAwayFromZero) {
  ExpectAll({{"0.0001", 1},
             {"0.1n", 1},
             {"999u", 1},
             {"1001u", 2},
             {"1.0001", 1001},
             {"-0.1m", -1},
             {"-1.0001", -1001},
             {"1e-9", 1},
             {"1e-20", 1},
             {"0.000000000000000000000000000001", 1},
             {"3.0000001k", 3000'001},
             {"0.0000001Ki", 1},
             {"1e-99999999999999999999", 1},
             {"0e-5", 0}});
}

TEST(ParseQuantity, WhatIsTooLargeSaturates) {
  ExpectAll({{"9223372036854775807m", kMax},
             {"9223372036854775.807", kMax},
             {"9223372036854775808m", kMax},
             {"9223372036854775", 9223372036854775000},
             {"9223372036854776", kMax},
             {"12345678901234567890", kMax},
             {"1e99", kMax},
             {"-1e99", -kMax},
             {"1E", kMax},
             {"9.3P", kMax},
             {"1Ei", kMax},
             {"8Ei", kMax},
             {"100Ei", kMax},
             {"-100Ei", -kMax},
             {"1e18", kMax},
             {"1e2147483648", kMax},
             {"1e9999999999999999999999", kMax},
             {"-9223372036854775808m", -kMax},
             {"999999999999999999999999999999999999999999999999999999999Ei", kMax},
             {"9223372036854775806.1m", kMax},
             {"9223372036854775806m", kMax - 1}});
}

// Kubernetes takes a missing number for zero, and so do we: what it accepts must not make a job unreadable.
TEST(ParseQuantity, AMissingNumberIsZero) {
  ExpectAll({{"+", 0}, {"-", 0}, {".", 0}, {"m", 0}, {"Ki", 0}, {"e5", 0}, {".e3", 0}, {"-.Mi", 0}});
}

TEST(ParseQuantity, RefusesEverythingElse) {
  const char* wrong[] = {"",      " ",     " 1",       "1 ",        "1 Gi",   "\t1",     "--1",      "++1",
                         "+-1",   "1-",    "1+",       "1.1.M",     "1+1.0M", "1..5",    "0x10",     "1_000",
                         "1,000", "1,5",   "aoeu",     "ten",       "1K",     "1KI",     "1ki",      "1mi",
                         "1MI",   "1i",    ".5i",      "-3.01i",    "1Zi",    "1Yi",     "1g",       "1gi",
                         "1b",    "1GB",   "1Gib",     "1mm",       "1mk",    "1e3m",    "1Mi3",     "1e",
                         "1Ee5",  "1e1.5", "1e--3",    "1e+",       "1e3e3",  "-3.01e-", "Infinity", "inf",
                         "NaN",   "null",  "\xD9\xA1", "1\xC2\xA0", "1\n",    "$1",      "1%"};
  for (const char* text : wrong) EXPECT_FALSE(ParseQuantity(text).ok()) << text;
  EXPECT_FALSE(ParseQuantity(std::string_view("1\0", 2)).ok());
  EXPECT_EQ(ParseQuantity("ten").error().message,
            "not a quantity: \"ten\": must be a number with a suffix like m, k, Mi or e3");
}

TEST(ParseQuantity, BoundsItsInput) {
  EXPECT_TRUE(ParseQuantity(std::string(64, '0')).ok());
  std::string error = ParseQuantity(std::string(1 << 20, '1')).error().message;
  EXPECT_THAT(error, HasSubstr("longer than 64 characters"));
  EXPECT_LT(error.size(), 150u);
}

TEST(ParseQuantity, ReadsDocuments) {
  EXPECT_EQ(*ParseQuantity(json::Doc(8)), 8000);
  EXPECT_EQ(*ParseQuantity(json::Doc(0.5)), 500);
  EXPECT_EQ(*ParseQuantity(json::Doc(1e99)), kMax);
  EXPECT_EQ(*ParseQuantity(json::Doc(1e-7)), 1);
  EXPECT_EQ(*ParseQuantity(json::Doc(-3)), -3000);
  EXPECT_EQ(*ParseQuantity(json::Doc(UINT64_MAX)), kMax);
  EXPECT_EQ(*ParseQuantity(json::Doc("20Mi")), 20 * kMi * 1000);
  EXPECT_EQ(*ParseQuantity(json::Doc(" 20Mi\n")), 20 * kMi * 1000);  // the API server trims too
  EXPECT_EQ(*ParseQuantity(json::Doc()), 0);
  for (const json::Doc& wrong :
       {json::Doc(true), json::Doc::array({1}), json::Doc::object(), json::Doc(""), json::Doc("  ")}) {
    EXPECT_FALSE(ParseQuantity(wrong).ok()) << wrong;
  }
  EXPECT_EQ(ParseQuantity(json::Doc(true)).error().message,
            "not a quantity: must be a string or a number, is boolean");
}

TEST(FormatQuantity, IsCanonical) {
  EXPECT_EQ(FormatQuantity(0), "0");
  EXPECT_EQ(FormatQuantity(8000), "8");
  EXPECT_EQ(FormatQuantity(500), "500m");
  EXPECT_EQ(FormatQuantity(1500), "1500m");
  EXPECT_EQ(FormatQuantity(-500), "-500m");
  EXPECT_EQ(FormatQuantity(12000'000), "12k");
  EXPECT_EQ(FormatQuantity(1001'000), "1001");
  EXPECT_EQ(FormatQuantity(20 * kMi * 1000, /*binary=*/true), "20Mi");
  EXPECT_EQ(FormatQuantity(20 * kMi * 1000), "20971520");
  EXPECT_EQ(FormatQuantity(1536'000, /*binary=*/true), "1536");
  EXPECT_EQ(FormatQuantity(1000'000, /*binary=*/true), "1k");
  EXPECT_EQ(FormatQuantity(-kTi * 1000, /*binary=*/true), "-1Ti");
  EXPECT_EQ(FormatQuantity(kMax), "9223372036854775807m");
}

RC_GTEST_PROP(FormatQuantity, IsReadBack, (int64_t amount, bool binary)) {
  amount = std::max(amount, -kMax);
  RC_ASSERT(*ParseQuantity(FormatQuantity(amount, binary)) == amount);
  Amount whole = amount / 1000'000 * 1000;
  RC_ASSERT(*ParseQuantity(FormatQuantity(whole, binary)) == whole);
}

// An independent reading of plain decimals, in exact integers.
RC_GTEST_PROP(ParseQuantity, AgreesWithIntegerArithmetic, ()) {
  int64_t whole = *rc::gen::inRange<int64_t>(0, 1'000'000), micros = *rc::gen::inRange<int64_t>(0, 1'000'000);
  int64_t thousandths = (whole * 1'000'000 + micros + 999) / 1000;
  std::string digits = std::to_string(1'000'000 + micros).substr(1);
  std::string text = std::to_string(whole) + "." + digits;
  RC_ASSERT(*ParseQuantity(text) == thousandths);
  RC_ASSERT(*ParseQuantity("-" + text) == -thousandths);
  RC_ASSERT(*ParseQuantity(std::to_string(whole) + digits + "u") == thousandths);
  RC_ASSERT(*ParseQuantity(std::to_string(whole) + digits + "e-6") == thousandths);
  RC_ASSERT(*ParseQuantity(text + "Mi") == (whole * 1'000'000 + micros) * kMi / 1000 +
                                               ((whole * 1'000'000 + micros) * kMi % 1000 != 0 ? 1 : 0));
}

RC_GTEST_PROP(ParseQuantity, NeverCrashes, (const std::string& text)) {
  Result<Amount> amount = ParseQuantity(text);
  if (amount.ok()) RC_ASSERT(*amount >= -kMax);
}

TEST(Amounts, Saturate) {
  EXPECT_EQ(AddAmounts(1, 2), 3);
  EXPECT_EQ(AddAmounts(kMax, 1), kMax);
  EXPECT_EQ(AddAmounts(kMax, -1), kMax - 1);
  EXPECT_EQ(AddAmounts(-kMax, -1), -kMax);
  EXPECT_EQ(AddAmounts(-kMax, kMax), 0);
  EXPECT_EQ(MultiplyAmount(3, 4), 12);
  EXPECT_EQ(MultiplyAmount(kMax, 2), kMax);
  EXPECT_EQ(MultiplyAmount(kMax, -2), -kMax);
  EXPECT_EQ(MultiplyAmount(-kMax, 2), -kMax);
  EXPECT_EQ(MultiplyAmount(kMax, 0), 0);
  EXPECT_EQ(MultiplyAmount(-kMax, INT64_MIN), kMax);
}

TEST(ParseResources, ReadsNamesAndAmounts) {
  json::Doc doc = {{"cpu", "500m"}, {"memory", "1Gi"}, {"nvidia.com/gpu", 8}, {"none", nullptr}};
  EXPECT_EQ(*ParseResources(&doc, "x"),
            (Resources{{"cpu", 500}, {"memory", 1000 * kGi}, {"nvidia.com/gpu", 8000}, {"none", 0}}));
  EXPECT_EQ(*ParseResources(nullptr, "x"), Resources{});
  json::Doc null;
  EXPECT_EQ(*ParseResources(&null, "x"), Resources{});
}

TEST(ParseResources, ErrorsNameThePath) {
  auto error = [](json::Doc doc) { return ParseResources(&doc, "resources.requests").error().message; };
  EXPECT_EQ(error({{"cpu", 1}, {"nvidia.com/gpu", "lots"}}),
            "resources.requests.nvidia.com/gpu: not a quantity: \"lots\": must be a number with a suffix "
            "like m, k, "
            "Mi or e3");
  EXPECT_EQ(error({{"cpu", "-1"}}), "resources.requests.cpu: must not be negative, is \"-1\"");
  EXPECT_EQ(error(json::Doc::array()), "resources.requests: must be an object, is array");
}

TEST(Resources, AddAndMax) {
  Resources sum = {{"cpu", 1000}};
  AddTo(sum, {{"cpu", 500}, {"gpu", kMax}});
  AddTo(sum, {{"gpu", 1}});
  EXPECT_EQ(sum, (Resources{{"cpu", 1500}, {"gpu", kMax}}));
  Resources peak = {{"cpu", 1000}, {"memory", 5}};
  MaxInto(peak, {{"cpu", 2000}, {"memory", 4}, {"gpu", 0}});
  EXPECT_EQ(peak, (Resources{{"cpu", 2000}, {"memory", 5}, {"gpu", 0}}));
}

}  // namespace
}  // namespace lockstep::kube
