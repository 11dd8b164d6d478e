#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/real_loop.h"
#include "kube/client/http_api.h"
#include "net/certificate.h"
#include "net/http_server.h"

// For tests: an API server that answers whatever a script says, and a client of it.
namespace lockstep::kube {

// Answers the n-th request (from 1). Runs on the server's thread.
using Script = std::function<net::HttpResponse(const net::HttpRequest&, int n)>;

inline net::HttpResponse Json(int status, std::string body, std::vector<net::HttpHeader> headers = {}) {
  return {.status = status, .headers = std::move(headers), .body = std::move(body)};
}

inline net::HttpResponse Stream(std::function<void(net::BodyWriter)> write, int64_t length = -1) {
  net::HttpResponse response;
  response.stream = std::move(write);
  response.stream_length = length;
  return response;
}

inline std::string EventLine(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

// Keeps what a watch brings, in one readable line each.
class RecordingHandler final : public WatchHandler {
 public:
  void OnEvent(WatchEventType type, std::string object) override {
    events.emplace_back(type, std::move(object));
    if (on_event) on_event();
  }
  void OnEnd(Status status) override {
    EXPECT_FALSE(end.has_value()) << "ended twice";
    end = std::move(status);
  }
  std::vector<std::string> Objects() const {
    std::vector<std::string> objects;
    for (const auto& event : events) objects.push_back(event.second);
    return objects;
  }

  std::vector<std::pair<WatchEventType, std::string>> events;
  std::optional<Status> end;
  std::function<void()> on_event;
};

class ScriptedServerTest : public testing::Test {
 protected:
  static constexpr Duration kHang = seconds{60};  // a test that waits this long has failed

  static const net::CertificateAuthority& Authority() {
    static const auto authority = net::CertificateAuthority::Make("test authority");
    return *authority;
  }

  static net::ServerTls Tls(Duration life = net::kCertificateLife) {
    auto pair = Authority().IssueServer(
        {.common_name = "apiserver", .dns_names = {"kubernetes"}, .ip_addresses = {"127.0.0.1"}}, life);
    return {.key_pair = *pair, .client_ca_pem = Authority().certificate_pem()};
  }

  // HTTPS unless `tls` is empty.
  void Serve(Script script, std::optional<net::ServerTls> tls = Tls()) {
    auto started = net::HttpServer::Start({.tls = tls}, [this, script](const net::HttpRequest& request) {
      int n;
      {
        std::lock_guard lock(mutex_);
        requests_.push_back(request);
        n = static_cast<int>(requests_.size());
      }
      return script(request, n);
    });
    ASSERT_TRUE(started.ok()) << started.error().message;
    server_ = *std::move(started);
    config_.server = (tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(server_->port());
    if (tls) config_.ca_pem = Authority().certificate_pem();
  }

  HttpApi& Api() {
    if (!api_) {
      options_.retry.base = std::min<Duration>(options_.retry.base, milliseconds{2});
      options_.retry.max_delay = std::min<Duration>(options_.retry.max_delay, milliseconds{20});
      api_ = std::make_unique<HttpApi>(loop_, config_, options_);
    }
    return *api_;
  }

  bool WaitFor(const std::function<bool()>& fact) { return loop_.RunUntilTrue(fact, kHang); }

  Response Call(Request request) {
    std::optional<Response> answer;
    Api().Send(std::move(request), [&](Response response) { answer = std::move(response); });
    EXPECT_FALSE(answer.has_value()) << "answered from inside Send";
    EXPECT_TRUE(WaitFor([&] { return answer.has_value(); })) << "no answer";
    return answer.value_or(Response{});
  }
  Response Get() { return Call({.resource = &kPods, .ns = "a", .name = "p"}); }
  Response Create() { return Call({.verb = Verb::kCreate, .resource = &kPods, .ns = "a", .body = "{}"}); }

  // Runs a watch of pods to its end.
  RecordingHandler WatchToTheEnd() {
    RecordingHandler handler;
    auto watch = Api().StartWatch({.resource = &kPods, .resource_version = "1"}, handler);
    EXPECT_TRUE(WaitFor([&] { return handler.end.has_value(); })) << "the watch did not end";
    return handler;
  }

  std::vector<net::HttpRequest> Requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }
  size_t RequestCount() { return Requests().size(); }

  RealLoop loop_;
  ClientConfig config_;
  HttpApiOptions options_;
  std::mutex mutex_;
  std::vector<net::HttpRequest> requests_;  // guarded by mutex_
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<HttpApi> api_;  // goes first
};

}  // namespace lockstep::kube
