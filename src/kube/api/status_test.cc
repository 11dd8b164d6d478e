#include "kube/api/status.h"

#include <gtest/gtest.h>

namespace lockstep::kube {
namespace {

TEST(Status, AnAlreadyExistsIsReadWhole) {
  Status status = ParseStatus(409, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
      "message":"pods \"a\" already exists","reason":"AlreadyExists",
      "details":{"name":"a","kind":"pods"},"code":409})");

  EXPECT_TRUE(status.already_exists());
  EXPECT_FALSE(status.conflict());
  EXPECT_FALSE(status.transient());
  EXPECT_EQ(status.message, "pods \"a\" already exists");
  EXPECT_EQ(status.name, "a");
  EXPECT_EQ(status.kind, "pods");
}

TEST(Status, AnInvalidNamesEveryField) {
  Status status = ParseStatus(422, R"({"kind":"Status","status":"Failure","reason":"Invalid","code":422,
      "details":{"name":"a","kind":"Pod","causes":[
        {"reason":"FieldValueRequired","message":"Required value","field":"spec.containers"},
        {"reason":"FieldValueInvalid","message":"Invalid value: -1","field":"spec.priority"}]}})");

  ASSERT_EQ(status.causes.size(), 2u);
  EXPECT_EQ(status.causes[0].field, "spec.containers");
  EXPECT_EQ(status.causes[1].reason, "FieldValueInvalid");
  EXPECT_FALSE(status.transient());
}

TEST(Status, RetryAfterComesFromTheDetailsAndIsBounded) {
  Status busy = ParseStatus(429, R"({"kind":"Status","status":"Failure","reason":"TooManyRequests","code":429,
      "details":{"retryAfterSeconds":7}})");
  EXPECT_EQ(busy.retry_after, seconds(7));
  EXPECT_TRUE(busy.transient());

  Status absurd = ParseStatus(429, R"({"kind":"Status","status":"Failure","code":429,
      "details":{"retryAfterSeconds":9000000000000000000}})");
  EXPECT_EQ(absurd.retry_after, hours(24));
}

TEST(Status, AProxysPageKeepsTheCodeAndItsFirstWords) {
  Status status = ParseStatus(502, "<html>\nbad gateway\x01\n</html>\n" + std::string(5000, 'x'));

  EXPECT_EQ(status.code, 502);
  EXPECT_EQ(status.reason, "InternalError");
  EXPECT_TRUE(status.message.starts_with("<html> bad gateway"));
  EXPECT_LT(status.message.size(), 250u);
  EXPECT_TRUE(status.transient());
}

TEST(Status, HalfADocumentIsNotAStatus) {
  Status status = ParseStatus(404, R"({"kind":"Status","status":"Fail)");
  EXPECT_TRUE(status.not_found());
  EXPECT_EQ(status.reason, "NotFound");
}

TEST(Status, AnErrorEventCountsMoreThanTheCodeOfItsWatch) {
  const char* expired = R"j({"kind":"Status","status":"Failure","reason":"Expired","code":410,
      "message":"too old resource version: 1 (2)"})j";
  EXPECT_TRUE(ParseStatus(200, expired).gone());
  EXPECT_TRUE(ParseStatus(0, expired).gone());
  // A failure that doesn't say its code must not read as a success or as "no answer".
  EXPECT_EQ(ParseStatus(200, R"({"kind":"Status","status":"Failure"})").code, 500);
}

TEST(Status, SuccessIsOkWhateverTheObjectSays) {
  EXPECT_TRUE(ParseStatus(200, R"({"kind":"Pod","status":{"phase":"Failed","reason":"Failure"}})").ok());
  EXPECT_TRUE(ParseStatus(201, "").ok());
  EXPECT_EQ(ParseStatus(201, "").code, 201);
  EXPECT_TRUE(ParseStatus(200, R"({"kind":"Status","status":"Success","details":{"name":"a"}})").ok());
}

TEST(Status, TransientIsWhatMaySucceedUnchanged) {
  EXPECT_TRUE(NoAnswer("connection reset").transient());
  EXPECT_TRUE(NoAnswer("connection reset").unknown());
  EXPECT_TRUE(ErrorStatus(503, "ServiceUnavailable", "").transient());
  EXPECT_TRUE(ErrorStatus(500, "InternalError", "failed calling webhook \"a\"").transient());
  EXPECT_FALSE(ErrorStatus(501, "NotImplemented", "").transient());
  EXPECT_FALSE(ErrorStatus(403, "Forbidden", "exceeded quota: q").transient());
  EXPECT_TRUE(
      ErrorStatus(409, "Conflict",
                  "Operation cannot be fulfilled on resourcequotas \"q\": the object has been modified")
          .transient());
  EXPECT_FALSE(
      ErrorStatus(409, "Conflict", "Operation cannot be fulfilled on pods \"a\": the object").transient());
}

TEST(Status, WrittenAndReadBackIsTheSame) {
  Status status = ErrorStatus(429, "TooManyRequests", "slow down");
  status.causes = {{"R", "m", "spec.f"}};
  status.retry_after = milliseconds(1500);
  status.name = "n";
  status.group = "g";
  status.kind = "k";
  status.uid = "u";

  Status back = ParseStatus(429, json::Dump(StatusDoc(status)));

  EXPECT_EQ(back.code, 429);
  EXPECT_EQ(back.reason, status.reason);
  EXPECT_EQ(back.message, status.message);
  ASSERT_EQ(back.causes.size(), 1u);
  EXPECT_EQ(back.causes[0].field, "spec.f");
  EXPECT_EQ(back.retry_after, seconds(2));  // the wire has whole seconds; waiting longer is the safe side
  EXPECT_EQ(back.name + back.group + back.kind + back.uid, "ngku");
  EXPECT_EQ(StatusDoc(OkStatus())["status"], "Success");
}

}  // namespace
}  // namespace lockstep::kube
