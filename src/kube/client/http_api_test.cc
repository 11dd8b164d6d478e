// Requests against a server that fails in every way we know of. The watches are in watch_lane_test.cc.
#include "kube/client/http_api.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "kube/client/scripted_server.h"

namespace lockstep::kube {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kPod[] = R"({"kind":"Pod","metadata":{"name":"p"}})";

class HttpApiTest : public ScriptedServerTest {};

std::string StatusBody(int code, const std::string& reason) {
  return R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":")" + reason +
         R"(","code":)" + std::to_string(code) + "}";
}

TEST_F(HttpApiTest, SendsARequestAndBringsTheAnswerToTheLoop) {
  Serve([](const HttpRequest&, int) { return Json(201, kPod); });
  config_.token = "secret";

  Response response = Call({.verb = Verb::kCreate, .resource = &kPods, .ns = "a", .body = kPod});

  EXPECT_EQ(response.status.code, 201);
  EXPECT_EQ(response.body, kPod);
  HttpRequest seen = Requests().at(0);
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.Path(), "/api/v1/namespaces/a/pods");
  EXPECT_EQ(seen.body, kPod);
  EXPECT_EQ(seen.Header("Authorization"), "Bearer secret");
  EXPECT_EQ(seen.Header("Content-Type"), "application/json");
  EXPECT_THAT(std::string(seen.Header("User-Agent")), StartsWith("lockstep/"));
  EXPECT_EQ(seen.Header("Expect"), "");
}

TEST_F(HttpApiTest, SendsEveryVerbAndItsBody) {
  Serve([](const HttpRequest&, int) { return Json(200, "{}"); });
  Call({.verb = Verb::kUpdate, .resource = &kNodes, .name = "n", .body = R"({"u":1})"});
  Call({.verb = Verb::kPatch, .resource = &kNodes, .name = "n", .body = R"([1])", .patch = PatchType::kJson});
  Call({.verb = Verb::kDelete, .resource = &kNodes, .name = "n", .grace_seconds = 1});
  Call({.verb = Verb::kList, .resource = &kNodes});
  std::vector<HttpRequest> seen = Requests();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].method + seen[0].body, R"(PUT{"u":1})");
  EXPECT_EQ(seen[1].method + seen[1].body, "PATCH[1]");
  EXPECT_EQ(seen[1].Header("Content-Type"), "application/json-patch+json");
  EXPECT_EQ(seen[2].method, "DELETE");
  EXPECT_THAT(seen[2].body, HasSubstr(R"("gracePeriodSeconds":1)"));
  EXPECT_EQ(seen[3].method + seen[3].body, "GET");
  EXPECT_EQ(seen[3].Header("Content-Type"), "");
}

TEST_F(HttpApiTest, ABodyOfManyMegabytesGoesBothWays) {
  std::string big = "\"" + std::string(8 << 20, 'x') + "\"";
  Serve([](const HttpRequest& request, int) { return Json(200, request.body); });
  Response response = Call({.verb = Verb::kCreate, .resource = &kConfigMaps, .ns = "a", .body = big});
  EXPECT_TRUE(response.status.ok()) << response.status.message;
  EXPECT_EQ(response.body, big);
}

TEST_F(HttpApiTest, ErrorsComeWholeFromTheServer) {
  Serve([](const HttpRequest&, int) { return Json(409, StatusBody(409, "AlreadyExists")); });
  Response response = Create();
  EXPECT_TRUE(response.status.already_exists());
  EXPECT_EQ(response.status.message, "no");
}

TEST_F(HttpApiTest, ManyRequestsShareFewConnections) {
  options_.connections = 3;
  Serve([](const HttpRequest&, int) { return Json(200, "{}"); });
  int answers = 0;
  for (int i = 0; i < 200; ++i) {
    Api().Send({.resource = &kPods, .ns = "a", .name = std::to_string(i)}, [&](Response response) {
      EXPECT_TRUE(response.status.ok()) << response.status.message;
      ++answers;
    });
  }
  EXPECT_EQ(Api().waiting(), 200u);
  size_t most = 0;
  EXPECT_TRUE(WaitFor([&] {
    most = std::max(most, server_->connections());
    return answers == 200;
  }));
  EXPECT_LE(most, 3u);
  EXPECT_EQ(RequestCount(), 200u);
  EXPECT_EQ(Api().waiting(), 0u);
}

TEST_F(HttpApiTest, TooManyWaitingRequestsAreRefusedHere) {
  options_.max_waiting = 2;
  Serve([](const HttpRequest&, int) {
    HttpResponse response = Json(200, "{}");
    response.delay = milliseconds{20};
    return response;
  });
  std::vector<int> codes;
  for (int i = 0; i < 3; ++i) {
    Api().Send({.resource = &kNodes, .name = "n"},
               [&](Response response) { codes.push_back(response.status.code); });
  }
  EXPECT_TRUE(WaitFor([&] { return codes.size() == 3; }));
  EXPECT_THAT(codes, testing::ElementsAre(429, 200, 200));
  EXPECT_EQ(RequestCount(), 2u);
}

TEST_F(HttpApiTest, MetricsSeeEveryAnswer) {
  Serve([](const HttpRequest&, int) { return Json(404, StatusBody(404, "NotFound")); });
  std::vector<std::string> seen;
  options_.on_answer = [&](Verb, const Resource& resource, const Status& status, Duration took) {
    EXPECT_GT(took, Duration{0});
    seen.push_back(std::string(resource.plural) + " " + std::to_string(status.code));
  };
  Get();
  EXPECT_THAT(seen, testing::ElementsAre("pods 404"));
}

// --- TLS ---

TEST_F(HttpApiTest, ShowsItsClientCertificateFromMemory) {
  net::ServerTls tls = Tls();
  tls.require_client_certificate = true;
  Serve([](const HttpRequest& request, int) { return Json(200, "\"" + request.client_name + "\""); }, tls);
  auto pair = Authority().IssueClient({.common_name = "lockstep-operator"});
  config_.certificate_pem = pair->certificate_pem;
  config_.key_pem = pair->key_pem;
  EXPECT_EQ(Get().body, "\"lockstep-operator\"");
}

TEST_F(HttpApiTest, WithoutTheDemandedCertificateNothingIsAnswered) {
  net::ServerTls tls = Tls();
  tls.require_client_certificate = true;
  Serve([](const HttpRequest&, int) { return Json(200, "{}"); }, tls);
  EXPECT_TRUE(Create().status.unknown());
  EXPECT_EQ(RequestCount(), 0u);
}

TEST_F(HttpApiTest, RefusesAServerOfAnotherAuthority) {
  Serve([](const HttpRequest&, int) { return Json(200, "{}"); });
  auto other = net::CertificateAuthority::Make("other");
  config_.ca_pem = other->certificate_pem();
  Response response = Create();
  EXPECT_TRUE(response.status.unknown());
  EXPECT_THAT(response.status.message,
              AllOf(StartsWith("POST https://127.0.0.1:"), HasSubstr("not sent"), HasSubstr("certificate")));
  EXPECT_EQ(RequestCount(), 0u);
}

TEST_F(HttpApiTest, RefusesAnExpiredServerCertificate) {
  Serve([](const HttpRequest&, int) { return Json(200, "{}"); }, Tls(-hours{1}));
  EXPECT_THAT(Create().status.message, HasSubstr("expired"));
}

TEST_F(HttpApiTest, ChecksTheServersNameOrTheOneItIsTold) {
  Serve([](const HttpRequest&, int) { return Json(200, "{}"); });
  config_.tls_server_name = "kubernetes";
  EXPECT_TRUE(Get().status.ok());
  EXPECT_THAT(std::string(Requests().at(0).Header("Host")), StartsWith("kubernetes"));
  api_.reset();
  config_.tls_server_name = "somebody-else";
  EXPECT_TRUE(Create().status.unknown());
  EXPECT_EQ(RequestCount(), 1u);
}

TEST_F(HttpApiTest, ChecksNothingWhenToldSo) {
  Serve([](const HttpRequest&, int) { return Json(200, "{}"); }, Tls(-hours{1}));
  config_.ca_pem.clear();
  config_.insecure_skip_tls_verify = true;
  EXPECT_TRUE(Get().status.ok());
}

// --- failures ---

TEST_F(HttpApiTest, AServerThatIsDownIsNoAnswer) {
  Serve([](const HttpRequest&, int) { return Json(200, "{}"); });
  server_.reset();
  EXPECT_THAT(Create().status.message, HasSubstr("not sent"));
  EXPECT_TRUE(Get().status.unknown()) << "after all retries";
}

TEST_F(HttpApiTest, AReadOutlastsAFewFailures) {
  Serve([](const HttpRequest&, int n) {
    if (n == 1) return Json(500, StatusBody(500, "InternalError"));
    if (n == 2) return HttpResponse{.reset = true};
    if (n == 3) return Json(200, R"({"half a docum)");
    if (n == 4) return Json(503, "<html>try later</html>");
    return Json(200, kPod);
  });
  EXPECT_EQ(Get().body, kPod);
  EXPECT_EQ(RequestCount(), 5u);
}

TEST_F(HttpApiTest, AReadThatFailsForEverEndsWithTheLastFailure) {
  Serve([](const HttpRequest&, int) { return Json(500, "boom"); });
  Response response = Get();
  EXPECT_EQ(response.status.code, 500);
  EXPECT_THAT(response.status.message, HasSubstr("boom"));
  EXPECT_EQ(RequestCount(), static_cast<size_t>(1 + options_.retry.max_retries));
}

TEST_F(HttpApiTest, AWriteIsNotRepeatedOnAnInternalError) {
  Serve([](const HttpRequest&, int) { return Json(500, StatusBody(500, "InternalError")); });
  EXPECT_EQ(Create().status.code, 500);
  EXPECT_EQ(RequestCount(), 1u);
}

TEST_F(HttpApiTest, AWriteComesBackWhenTheServerSaysWhen) {
  Serve([](const HttpRequest&, int n) {
    if (n == 1) return Json(429, StatusBody(429, "TooManyRequests"), {{"Retry-After", "1"}});
    return Json(201, kPod);
  });
  EXPECT_EQ(Create().status.code, 201);
  EXPECT_EQ(RequestCount(), 2u);
}

TEST_F(HttpApiTest, AWriteRefusedForEverComesBackWithTheServersTime) {
  Serve([](const HttpRequest&, int) {
    return Json(429, StatusBody(429, "TooManyRequests"), {{"Retry-After", "7"}});
  });
  Response response = Create();
  EXPECT_EQ(response.status.code, 429);
  EXPECT_EQ(response.status.retry_after, Duration(seconds{7}));
  EXPECT_EQ(RequestCount(), static_cast<size_t>(1 + options_.retry.max_write_retries));
}

TEST_F(HttpApiTest, AWriteWhoseAnswerIsLostIsUnknownAndSentOnce) {
  Serve([](const HttpRequest& request, int) {
    return request.method == "POST" ? HttpResponse{.reset = true} : Json(200, "{}");
  });
  Response fresh = Create();
  EXPECT_TRUE(fresh.status.unknown());
  EXPECT_EQ(RequestCount(), 1u) << "on a new connection";
  // On a kept connection libcurl itself would send the request again.
  EXPECT_TRUE(Get().status.ok());
  Response reused = Create();
  EXPECT_TRUE(reused.status.unknown());
  EXPECT_EQ(RequestCount(), 3u) << "on a kept connection";
}

TEST_F(HttpApiTest, ARequestWhoseTimeHasPassedIsNotSent) {
  Serve([](const HttpRequest&, int) { return Json(201, kPod); });
  Request create{.verb = Verb::kCreate, .resource = &kPods, .ns = "a", .body = "{}"};
  create.not_after = loop_.now().mono;
  Response late = Call(create);
  EXPECT_TRUE(late.status.unknown());
  EXPECT_THAT(late.status.message, HasSubstr("not sent"));
  EXPECT_EQ(RequestCount(), 0u);
  create.not_after = loop_.now().mono + kHang;
  EXPECT_TRUE(Call(create).status.ok());
  EXPECT_EQ(RequestCount(), 1u);
}

TEST_F(HttpApiTest, ASlowAnswerIsUnknownInTimeAndStopsNobodyElse) {
  Serve([](const HttpRequest& request, int) {
    HttpResponse response = Json(200, "{}");
    if (request.method == "POST") response.delay = hours{1};
    return response;
  });
  options_.request_timeout = milliseconds{1000};
  options_.retry.max_retries = 0;
  std::optional<Response> slow;
  Api().Send({.verb = Verb::kCreate, .resource = &kPods, .ns = "a", .body = "{}"},
             [&](Response response) { slow = std::move(response); });
  EXPECT_TRUE(Get().status.ok());
  EXPECT_FALSE(slow.has_value());
  EXPECT_TRUE(WaitFor([&] { return slow.has_value(); }));
  EXPECT_TRUE(slow->status.unknown());
  EXPECT_THAT(slow->status.message, HasSubstr("timed out"));
}

TEST_F(HttpApiTest, ConnectionsFromBeforeALossAreNotUsedAgain) {
  Serve([](const HttpRequest& request, int) {
    HttpResponse response = Json(200, "{}");
    response.delay = request.method == "POST" ? Duration(hours{1}) : Duration(milliseconds{50});
    return response;
  });
  options_.request_timeout = milliseconds{2100};
  int answers = 0;
  for (int i = 0; i < 3; ++i) {
    Api().Send({.resource = &kNodes, .name = "n"},
               [&](Response response) { answers += response.status.ok(); });
  }
  EXPECT_TRUE(WaitFor([&] { return answers == 3; }));
  EXPECT_EQ(server_->connections(), 3u);
  EXPECT_TRUE(Create().status.unknown());
  EXPECT_TRUE(Get().status.ok());
  std::function<void()> turn = [&] { loop_.After(milliseconds{1}, turn); };
  turn();
  // The silent one, which this server never reads again, and the one that the last request opened.
  EXPECT_TRUE(WaitFor([&] { return server_->connections() == 2; })) << "the two idle ones are gone";
}

TEST_F(HttpApiTest, HalfADocumentIsUnknown) {
  struct Case {
    const char* what;
    std::function<HttpResponse()> answer;
  };
  for (const Case& half : {
           Case{"shorter than its Content-Length",
                [] { return Stream([](auto w) { w.Write("{}"), w.Cut(); }, 10); }},
           Case{"chunks without an end", [] { return Stream([](auto w) { w.Write("{}"), w.Cut(); }); }},
           Case{"reset in the body", [] { return Stream([](auto w) { w.Write("{"), w.Abort(); }); }},
           Case{"complete, but half a JSON document", [] { return Json(200, R"({"items":[{"metadata")"); }},
           Case{"empty", [] { return Json(200, ""); }},
           Case{"a page of a proxy", [] { return Json(200, "<html>welcome</html>"); }},
       }) {
    Serve([&](const HttpRequest&, int) { return half.answer(); });
    options_.retry.max_retries = 0;
    EXPECT_TRUE(Get().status.unknown()) << half.what;
    EXPECT_TRUE(Create().status.unknown()) << half.what;
    EXPECT_TRUE(Call({.verb = Verb::kList, .resource = &kPods}).status.unknown()) << half.what;
    api_.reset();
  }
}

TEST_F(HttpApiTest, AnAnswerWithoutEndIsGivenUp) {
  options_.max_body_bytes = 1000;
  options_.retry.max_retries = 0;
  Serve([](const HttpRequest&, int) { return Json(200, "\"" + std::string(2000, 'x') + "\""); });
  EXPECT_THAT(Get().status.message, HasSubstr("more than 1000 bytes"));
}

TEST_F(HttpApiTest, ARedirectIsAnErrorAndTheTokenStaysHere) {
  Serve([](const HttpRequest&, int) { return Json(302, "", {{"Location", "http://127.0.0.1:1/"}}); });
  config_.token = "secret";
  EXPECT_EQ(Get().status.code, 302);
}

// --- tokens ---

TEST_F(HttpApiTest, ARefreshedTokenFileIsReadAfter401) {
  std::string path =
      (std::filesystem::temp_directory_path() / ("token-" + std::to_string(getpid()))).string();
  std::ofstream(path) << "old";
  Serve([](const HttpRequest& request, int) {
    return request.Header("Authorization") == "Bearer new" ? Json(201, kPod)
                                                           : Json(401, StatusBody(401, "Unauthorized"));
  });
  config_.token_file = path;
  EXPECT_EQ(Create().status.code, 401);
  EXPECT_EQ(RequestCount(), 1u) << "the file still says the same: asking again is useless";
  std::ofstream(path) << "new\n";
  EXPECT_EQ(Create().status.code, 201) << "401 says that nothing was done, so a write may go again";
  EXPECT_EQ(RequestCount(), 3u);
  std::filesystem::remove(path);
}

// --- the end ---

TEST_F(HttpApiTest, NothingIsCalledOnceItIsDestroyed) {
  Serve([](const HttpRequest&, int) {
    HttpResponse response = Json(200, "{}");
    response.delay = milliseconds{5};
    return response;
  });
  auto token = std::make_shared<int>();
  for (int i = 0; i < 50; ++i) {
    Api().Send({.resource = &kNodes, .name = "n"}, [token](Response) { FAIL() << "called after the end"; });
  }
  api_.reset();
  EXPECT_EQ(token.use_count(), 1) << "the callbacks are gone too";
  bool later = false;
  loop_.After(milliseconds{20}, [&] { later = true; });
  EXPECT_TRUE(WaitFor([&] { return later; }));
}

TEST_F(HttpApiTest, AnAnswerMayDestroyTheApi) {
  Serve([](const HttpRequest&, int) { return Json(200, "{}"); });
  bool called = false;
  for (int i = 0; i < 5; ++i) {
    Api().Send({.resource = &kNodes, .name = "n"}, [&](Response) {
      EXPECT_FALSE(called);
      called = true;
      api_.reset();
    });
  }
  EXPECT_TRUE(WaitFor([&] { return called; }));
}

TEST_F(HttpApiTest, AnAnswerMaySendTheNextRequest) {
  Serve([](const HttpRequest&, int) { return Json(200, "{}"); });
  int left = 20;
  std::function<void(Response)> next = [&](Response response) {
    EXPECT_TRUE(response.status.ok());
    if (--left > 0) Api().Send({.resource = &kNodes, .name = "n"}, next);
  };
  Api().Send({.resource = &kNodes, .name = "n"}, next);
  EXPECT_TRUE(WaitFor([&] { return left == 0; }));
}

}  // namespace
}  // namespace lockstep::kube
