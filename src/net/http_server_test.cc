#include "net/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <mutex>
#include <optional>

namespace lockstep::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A client that sends exactly the bytes it is told to.
class RawClient {
 public:
  explicit RawClient(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { Leave(); }
  RawClient(const RawClient&) = delete;

  void Leave() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // Reads until `text` has come, or the end. With `reset_` set the connection ended with RST.
  std::string ReadUntil(std::string_view text) {
    while (read_.find(text) == std::string::npos) {
      char piece[4096];
      ssize_t size = recv(fd_, piece, sizeof piece, 0);
      if (size < 0 && errno == ECONNRESET) reset_ = true;
      if (size <= 0) {
        ended_ = true;
        return std::exchange(read_, {});
      }
      read_.append(piece, static_cast<size_t>(size));
    }
    size_t end = read_.find(text) + text.size();
    std::string taken = read_.substr(0, end);
    read_.erase(0, end);
    return taken;
  }
  std::string ReadAll() { return ReadUntil("\x01never\x01"); }
  bool ended() const { return ended_; }
  bool reset() const { return reset_; }

 private:
  int fd_;
  bool connected_ = false;
  bool ended_ = false;
  bool reset_ = false;
  std::string read_;
};

std::unique_ptr<HttpServer> Serve(HttpHandler handler, ServerLimits limits = {}) {
  Result<std::unique_ptr<HttpServer>> server = HttpServer::Start({.limits = limits}, std::move(handler));
  EXPECT_TRUE(server.ok()) << server.error().message;
  return *std::move(server);
}

HttpResponse Text(std::string body) { return {.content_type = "text/plain", .body = std::move(body)}; }

TEST(HttpServer, AnswersSeveralRequestsOnOneConnection) {
  auto server = Serve([](const HttpRequest& request) {
    return Text(request.method + " " + std::string(request.Path()) + " " + std::string(request.Query()) +
                " " + std::string(request.Header("x-color")) + " " + request.body);
  });
  RawClient client(server->port());
  client.Send("GET /a?b=c HTTP/1.1\r\nHost: h\r\nX-Color: red\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("red "),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("GET /a b=c red ")));
  // Two at once: the second waits in the buffer.
  client.Send(
      "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbodyGET /q HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("body"), EndsWith("POST /p   body"));
  EXPECT_THAT(client.ReadUntil("GET /q"), HasSubstr("200 OK"));
}

TEST(HttpServer, ReadsARequestThatComesByteByByte) {
  auto server = Serve([](const HttpRequest& request) { return Text("<" + request.body + ">"); });
  RawClient client(server->port());
  for (char c : std::string("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                            "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")) {
    client.Send({&c, 1});
  }
  EXPECT_THAT(client.ReadUntil("<abcde>"), HasSubstr("Content-Length: 7"));
}

TEST(HttpServer, RefusesWhatIsTooLargeOrNoHttp) {
  auto server = Serve([](const HttpRequest&) { return Text("fine"); },
                      {.max_header_bytes = 1000, .max_body_bytes = 1000});
  RawClient header(server->port());
  header.Send("GET / HTTP/1.1\r\nX: " + std::string(2000, 'x') + "\r\n\r\n");
  EXPECT_THAT(header.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 431 "));
  RawClient body(server->port());
  body.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
  EXPECT_THAT(body.ReadAll(), StartsWith("HTTP/1.1 413 "));
  RawClient garbage(server->port());
  garbage.Send("hello\r\n\r\n");
  EXPECT_THAT(garbage.ReadAll(), StartsWith("HTTP/1.1 400 "));
}

TEST(HttpServer, ClosesClientsThatSayNothing) {
  auto server = Serve([](const HttpRequest&) { return Text("fine"); },
                      {.idle_timeout = milliseconds{30}, .request_timeout = milliseconds{30}});
  RawClient silent(server->port());
  EXPECT_EQ(silent.ReadAll(), "");
  RawClient half(server->port());
  half.Send("GET / HTTP/1.1\r\nHo");
  EXPECT_EQ(half.ReadAll(), "");
  EXPECT_TRUE(half.ended());
}

TEST(HttpServer, ClosesConnectionsOverTheLimit) {
  auto server = Serve([](const HttpRequest&) { return Text("fine"); }, {.max_connections = 1});
  RawClient first(server->port());
  first.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  first.ReadUntil("fine");
  RawClient second(server->port());
  second.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(second.ReadAll(), "");
  EXPECT_EQ(server->connections(), 1u);
}

TEST(HttpServer, StreamsChunksWhileOtherClientsAreServed) {
  std::promise<BodyWriter> promised;
  auto server = Serve([&](const HttpRequest& request) {
    if (request.Path() != "/stream") return Text("quick");
    HttpResponse response;
    response.stream = [&](BodyWriter writer) { promised.set_value(writer); };
    return response;
  });
  RawClient watcher(server->port());
  watcher.Send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  BodyWriter writer = promised.get_future().get();
  EXPECT_TRUE(writer.Write("one"));
  EXPECT_THAT(watcher.ReadUntil("3\r\none\r\n"), HasSubstr("Transfer-Encoding: chunked"));
  RawClient other(server->port());
  other.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  other.ReadUntil("quick");
  EXPECT_TRUE(writer.Write("two"));
  writer.Finish();
  EXPECT_EQ(watcher.ReadAll(), "3\r\ntwo\r\n0\r\n\r\n");
  EXPECT_FALSE(watcher.reset());
}

TEST(HttpServer, CutsAndResetsStreamsOnDemand) {
  auto server = Serve([](const HttpRequest& request) {
    HttpResponse response;
    bool cut = request.Path() == "/cut";
    response.stream_length = 10;
    response.stream = [cut](BodyWriter writer) {
      writer.Write("half");
      if (cut) return writer.Cut();
      writer.After(milliseconds{1}, [writer] { writer.Abort(); });
    };
    return response;
  });
  RawClient cut(server->port());
  cut.Send("GET /cut HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(cut.ReadAll(), AllOf(HasSubstr("Content-Length: 10"), EndsWith("half")));
  EXPECT_FALSE(cut.reset());
  RawClient aborted(server->port());
  aborted.Send("GET /abort HTTP/1.1\r\nHost: h\r\n\r\n");
  aborted.ReadAll();
  EXPECT_TRUE(aborted.reset());
}

TEST(HttpServer, AForgottenStreamIsAborted) {
  auto server = Serve([](const HttpRequest&) {
    HttpResponse response;
    response.stream = [](BodyWriter) {};
    return response;
  });
  RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.ReadAll();
  EXPECT_TRUE(client.ended());
}

TEST(HttpServer, AWriterLearnsThatItsClientLeft) {
  std::promise<BodyWriter> promised;
  auto server = Serve([&](const HttpRequest&) {
    HttpResponse response;
    response.stream = [&](BodyWriter writer) { promised.set_value(writer); };
    return response;
  });
  RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.ReadUntil("\r\n\r\n");
  BodyWriter writer = promised.get_future().get();
  std::promise<void> left;
  writer.OnClosed([&] { left.set_value(); });
  client.Leave();
  left.get_future().get();
  EXPECT_FALSE(writer.Write("too late"));
}

TEST(HttpServer, AReaderThatNeverReadsIsCutOff) {
  std::promise<void> cut_off;
  auto server = Serve(
      [&](const HttpRequest&) {
        HttpResponse response;
        response.stream = [&](BodyWriter writer) {
          while (writer.Write(std::string(64 << 10, 'x'))) {
          }
          cut_off.set_value();
        };
        return response;
      },
      {.max_unsent_bytes = 1 << 20});
  RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  cut_off.get_future().get();
  client.ReadAll();
  EXPECT_TRUE(client.ended());
}

TEST(HttpServer, DelaysOneAnswerOnly) {
  auto server = Serve([](const HttpRequest& request) {
    HttpResponse response = Text(std::string(request.Path()));
    if (request.Path() == "/slow") response.delay = milliseconds{50};
    return response;
  });
  RawClient slow(server->port()), quick(server->port());
  slow.Send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
  quick.Send("GET /quick HTTP/1.1\r\nHost: h\r\n\r\n");
  quick.ReadUntil("/quick");
  EXPECT_THAT(slow.ReadUntil("/slow"), HasSubstr("200 OK"));
}

TEST(HttpServer, EndsWithOpenStreamsAndPendingDelays) {
  std::optional<BodyWriter> kept;
  std::promise<void> begun;
  auto server = Serve([&](const HttpRequest& request) {
    HttpResponse response = Text("late");
    if (request.Path() == "/stream") {
      response.stream = [&](BodyWriter writer) {
        kept.emplace(writer);
        writer.After(hours{1}, [] { FAIL() << "an hour passed"; });
        begun.set_value();
      };
    } else {
      response.delay = hours{1};
    }
    return response;
  });
  RawClient stream(server->port()), slow(server->port()), idle(server->port());
  slow.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  stream.Send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  begun.get_future().get();
  server.reset();
  EXPECT_FALSE(kept->Write("the server is gone"));
  stream.ReadAll();
  slow.ReadAll();
  EXPECT_TRUE(stream.ended() && slow.ended());
}

TEST(HttpServer, SaysWhyItCannotListen) {
  auto server = Serve([](const HttpRequest&) { return Text(""); });
  auto fine = [](const HttpRequest&) { return HttpResponse{}; };
  EXPECT_EQ(HttpServer::Start({.address = "localhost"}, fine).error().message,
            "'localhost' is not an IP address");
  EXPECT_THAT(HttpServer::Start({.port = server->port()}, fine).error().message,
              HasSubstr("can't listen on 127.0.0.1:"));
  EXPECT_THAT(HttpServer::Start({.tls = ServerTls{.key_pair = {"x", "y"}}}, fine).error().message,
              HasSubstr("the server's certificate or key"));
}

}  // namespace
}  // namespace lockstep::net
