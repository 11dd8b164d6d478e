#include "web/ops_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lockstep::web {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string Get(uint16_t port, const std::string& path) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    std::string request = "GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
      char piece[4096];
      for (ssize_t size; (size = recv(fd, piece, sizeof piece, 0)) > 0;) {
        answer.append(piece, static_cast<size_t>(size));
      }
    }
  }
  close(fd);
  return answer;
}

TEST(OpsServer, ReadinessFollowsItsOwner) {
  Metrics metrics("0.1.0");
  std::string wrong = "pods: the first list has not come yet";
  OpsServerOptions options{.ready = [&] { return wrong; }};
  auto ready = [&] { return AnswerOps(options, metrics, {.method = "GET", .target = "/readyz?verbose"}); };
  EXPECT_EQ(ready().status, 503);
  EXPECT_EQ(ready().body, "pods: the first list has not come yet\n");
  EXPECT_EQ(AnswerOps(options, metrics, {.method = "GET", .target = "/healthz"}).status, 200)
      << "alive even while not ready";
  wrong.clear();
  EXPECT_EQ(ready().status, 200);
  EXPECT_EQ(AnswerOps(options, metrics, {.method = "POST", .target = "/healthz"}).status, 405);
}

TEST(OpsServer, ServesProbesAndMetricsOverHttp) {
  Metrics metrics("0.1.0");
  metrics.SetLeader(true);
  auto server = OpsServer::Start({.ready = [] { return "starting"; }}, metrics);
  ASSERT_TRUE(server.ok()) << server.error().message;
  uint16_t port = (*server)->port();
  EXPECT_THAT(Get(port, "/healthz"), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("ok\n")));
  EXPECT_THAT(Get(port, "/readyz"), AllOf(StartsWith("HTTP/1.1 503 "), EndsWith("starting\n")));
  EXPECT_THAT(Get(port, "/metrics"), AllOf(HasSubstr("version=0.0.4"), HasSubstr("lockstep_leader 1\n")));
  EXPECT_THAT(Get(port, "/"), StartsWith("HTTP/1.1 404 "));
}

TEST(OpsServer, SaysWhyItCannotListen) {
  Metrics metrics("0.1.0");
  auto first = OpsServer::Start({}, metrics);
  ASSERT_TRUE(first.ok());
  auto second = OpsServer::Start({.port = (*first)->port()}, metrics);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, StartsWith("health and metrics: can't listen on 127.0.0.1:"));
}

}  // namespace
}  // namespace lockstep::web
