#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/certificate.h"

namespace lockstep::net {

struct HttpHeader {
  std::string name, value;
};

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // as sent: path and query, still percent-encoded
  std::vector<HttpHeader> headers;
  std::string body;
  std::string client_name;  // common name of the client's verified certificate; empty without one

  // The first header of that name, in any case; empty if there is none.
  std::string_view Header(std::string_view name) const;
  std::string_view Path() const;   // "/api/v1/pods"
  std::string_view Query() const;  // "limit=5&watch=1", without the question mark
};

// One connection's streamed body. Copies share the stream; every member may be called from any thread and
// none waits. When the last copy goes without Finish(), the body is cut off in the middle as by Abort().
class BodyWriter {
 public:
  // Sends a piece, as one chunk unless the response fixed its length. False once the client is gone or
  // has left more than ServerLimits::max_unsent_bytes untaken: nothing is sent any more.
  bool Write(std::string_view piece) const;
  // Ends the body properly.
  void Finish() const;
  // Resets the connection at once (TCP RST), whatever was written before.
  void Abort() const;
  // Closes the connection without the end of the body, after what was written has gone out.
  void Cut() const;
  // Runs `task` on the server's thread after `delay`, unless the connection closes before.
  void After(Duration delay, std::function<void()> task) const;
  // Runs `task` on the server's thread once, when the client goes away.
  void OnClosed(std::function<void()> task) const;

  struct Stream;
  explicit BodyWriter(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}

 private:
  std::shared_ptr<Stream> stream_;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<HttpHeader> headers;
  std::string body;

  // Instead of `body`: called on the server's thread once the head is under way; may keep the writer. The
  // connection is closed afterwards.
  std::function<void(BodyWriter)> stream;
  // The Content-Length of a streamed body; negative: chunks. It is not checked against what is written.
  int64_t stream_length = -1;
  // Waits this long before the first byte, other connections go on.
  Duration delay{0};
  // No answer at all: the connection is reset.
  bool reset = false;
};

// Runs on the server's thread, so it must not wait.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct ServerLimits {
  uint32_t max_header_bytes = 64 << 10;
  uint64_t max_body_bytes = 16 << 20;
  size_t max_connections = 1024;  // more are closed at once
  size_t max_unsent_bytes = size_t{64} << 20;
  Duration idle_timeout = seconds{120};    // between requests
  Duration request_timeout = seconds{30};  // from the first byte of a request to its last, TLS handshake too
  Duration write_timeout = seconds{30};    // no progress while sending
};

struct ServerTls {
  KeyPair key_pair;
  std::string client_ca_pem;  // clients may show a certificate of this authority
  bool require_client_certificate = false;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free one, see HttpServer::port()
  std::optional<ServerTls> tls;
  ServerLimits limits;
};

// HTTP/1.1 on a thread of its own, with keep-alive, for health checks and metrics and for tests.
class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> Start(ServerOptions options, HttpHandler handler);
  // Closes every connection and waits for the thread.
  ~HttpServer();

  uint16_t port() const;
  // Open connections now.
  size_t connections() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::net
