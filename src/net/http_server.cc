// The one translation unit that includes Boost: it alone costs 15 to 30 seconds.
#include "net/http_server.h"

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <deque>
#include <optional>
#include <set>
#include <thread>

#include "base/log.h"

namespace lockstep::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

std::string Head(const HttpResponse& response, bool keep_alive) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head +=
      std::string_view(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status))));
  head += "\r\n";
  auto add = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  if (!response.content_type.empty()) add("Content-Type", response.content_type);
  for (const HttpHeader& header : response.headers) add(header.name, header.value);
  if (!response.stream) {
    add("Content-Length", std::to_string(response.body.size()));
  } else if (response.stream_length >= 0) {
    add("Content-Length", std::to_string(response.stream_length));
  } else {
    add("Transfer-Encoding", "chunked");
  }
  if (!keep_alive) add("Connection", "close");
  return head + "\r\n";
}

std::string Chunk(std::string_view piece) {
  char size[20];
  int digits = std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
  std::string chunk(size, static_cast<size_t>(digits));
  return chunk.append(piece).append("\r\n");
}

std::string CommonName(SSL* ssl) {
  X509* certificate = SSL_get1_peer_certificate(ssl);
  if (certificate == nullptr) return {};
  char name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  X509_free(certificate);
  return name;
}

using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

class AnyConnection {
 public:
  virtual ~AnyConnection() = default;
  // With `reset` the client sees RST, else what was sent and then the end.
  virtual void Close(bool reset) = 0;
};

// What every connection needs of the server. A connection lives from accept to Close() in `open`.
struct Shared {
  asio::io_context io{1};
  HttpHandler handler;
  ServerLimits limits;
  std::set<std::shared_ptr<AnyConnection>> open;  // only touched by the server's thread
  std::atomic<size_t> connections{0};             // their number, for other threads
};

}  // namespace

// The sending half of a connection that streams: a queue that only the server's thread touches.
struct BodyWriter::Stream {
  explicit Stream(std::shared_ptr<Shared> s, bool chunks) : shared(std::move(s)), chunked(chunks) {}
  virtual ~Stream() = default;

  virtual void Push(std::string bytes, bool last) = 0;  // on the server's thread
  virtual void Close(bool reset) = 0;                   // on the server's thread

  std::shared_ptr<Shared> shared;
  bool chunked;
  std::atomic<bool> ended{false};       // by the writer
  std::atomic<bool> broken{false};      // by the client, or by us
  std::atomic<size_t> unsent_bytes{0};  // not yet taken by the system

  // Only touched by the server's thread.
  std::vector<std::function<void()>> on_closed;
  std::vector<std::weak_ptr<asio::steady_timer>> timers;
};

namespace {

template <class AnyStream>
class Connection;

// Streams through a Connection and keeps it alive.
template <class AnyStream>
struct ConnectionStream final : BodyWriter::Stream {
  ConnectionStream(std::shared_ptr<Shared> s, bool chunks, std::shared_ptr<Connection<AnyStream>> c)
      : Stream(std::move(s), chunks), connection(std::move(c)) {}
  void Push(std::string bytes, bool last) override { connection->Push(std::move(bytes), last); }
  void Close(bool reset) override { connection->Close(reset); }
  std::shared_ptr<Connection<AnyStream>> connection;
};

// One client. Callbacks hold a shared_ptr too, so it goes when it is closed and the last of them is done.
template <class AnyStream>
class Connection final : public AnyConnection, public std::enable_shared_from_this<Connection<AnyStream>> {
 public:
  template <class... Args>
  explicit Connection(std::shared_ptr<Shared> shared, Args&&... args)
      : shared_(std::move(shared)), stream_(std::forward<Args>(args)...), delay_(shared_->io) {}

  void Begin() {
    shared_->open.insert(this->shared_from_this());
    shared_->connections = shared_->open.size();
    if constexpr (std::is_same_v<AnyStream, TlsStream>) {
      Lowest().expires_after(shared_->limits.request_timeout);
      stream_.async_handshake(asio::ssl::stream_base::server, Bound([](Connection& self, error_code failed) {
                                failed ? self.Close(false) : self.ReadRequest();
                              }));
    } else {
      ReadRequest();
    }
  }

  void Push(std::string bytes, bool last) {
    if (closed_) return;
    unsent_.push_back(std::move(bytes));
    last_queued_ = last_queued_ || last;
    if (!sending_) SendNext();
  }

  void Close(bool reset) override {
    if (std::exchange(closed_, true)) return;
    auto self = this->shared_from_this();
    error_code ignored;
    if (reset) Lowest().socket().set_option(asio::socket_base::linger(true, 0), ignored);
    Lowest().socket().close(ignored);
    delay_.cancel();
    EndStream();
    shared_->open.erase(self);
    shared_->connections = shared_->open.size();
  }

 private:
  beast::tcp_stream& Lowest() { return beast::get_lowest_layer(stream_); }

  // A completion handler that keeps the connection alive and drops everything once it is closed.
  template <class Callback>
  auto Bound(const Callback& callback) {
    return [self = this->shared_from_this(), callback](error_code failed, auto&&... rest) {
      if (!self->closed_) callback(*self, failed, rest...);
    };
  }

  void ReadRequest() {
    parser_.emplace();
    parser_->header_limit(shared_->limits.max_header_bytes);
    parser_->body_limit(shared_->limits.max_body_bytes);
    Lowest().expires_after(buffer_.size() == 0 ? shared_->limits.idle_timeout
                                               : shared_->limits.request_timeout);
    http::async_read_some(stream_, buffer_, *parser_,
                          Bound([](Connection& self, error_code failed, size_t) { self.OnRead(failed); }));
  }

  void OnRead(error_code failed) {
    if (failed) return OnBadRequest(failed);
    if (parser_->is_done()) return Answer();
    if (!std::exchange(request_begun_, true)) Lowest().expires_after(shared_->limits.request_timeout);
    http::async_read_some(stream_, buffer_, *parser_,
                          Bound([](Connection& self, error_code again, size_t) { self.OnRead(again); }));
  }

  void OnBadRequest(error_code failed) {
    HttpResponse response;
    response.content_type = "text/plain";
    response.body = failed.message() + "\n";
    if (failed == http::error::body_limit) {
      response.status = 413;
    } else if (failed == http::error::header_limit) {
      response.status = 431;
    } else if (failed.category() == make_error_code(http::error::bad_method).category() &&
               failed != http::error::end_of_stream && failed != http::error::partial_message) {
      response.status = 400;
    } else {
      return Close(false);  // gone, or silent for too long
    }
    Respond(response, false);
  }

  void Answer() {
    request_begun_ = false;
    auto message = parser_->release();
    HttpRequest request;
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    for (const auto& field : message) {
      request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
    }
    request.body = std::move(message.body());
    if constexpr (std::is_same_v<AnyStream, TlsStream>)
      request.client_name = CommonName(stream_.native_handle());
    bool keep_alive = message.keep_alive();
    auto response = std::make_shared<HttpResponse>(shared_->handler(request));
    if (response->reset) return Close(true);
    if (response->delay <= Duration{0}) return Respond(*response, keep_alive);
    Lowest().expires_never();
    delay_.expires_after(response->delay);
    delay_.async_wait(Bound([response, keep_alive](Connection& self, error_code failed) {
      if (!failed) self.Respond(*response, keep_alive);
    }));
  }

  void Respond(const HttpResponse& response, bool keep_alive) {
    keep_alive_ = keep_alive && !response.stream;
    std::string bytes = Head(response, keep_alive_);
    if (!response.stream) {
      Push(std::move(bytes.append(response.body)), true);
      return;
    }
    auto streaming = std::make_shared<ConnectionStream<AnyStream>>(shared_, response.stream_length < 0,
                                                                   this->shared_from_this());
    streaming_ = streaming;
    Push(std::move(bytes), false);
    Lowest().expires_never();  // for the read; the write has begun and keeps its limit
    WatchForClose();
    response.stream(BodyWriter(AbortedWithItsLastCopy(std::move(streaming))));
  }

  static std::shared_ptr<BodyWriter::Stream> AbortedWithItsLastCopy(
      std::shared_ptr<BodyWriter::Stream> real) {
    BodyWriter::Stream* pointer = real.get();
    return std::shared_ptr<BodyWriter::Stream>(pointer, [real = std::move(real)](BodyWriter::Stream*) {
      if (real->ended || real->broken) return;
      asio::post(real->shared->io, [real] { real->Close(true); });
    });
  }

  void SendNext() {
    sending_ = true;
    Lowest().expires_after(shared_->limits.write_timeout);
    asio::async_write(stream_, asio::buffer(unsent_.front()),
                      Bound([](Connection& self, error_code failed, size_t) { self.OnSent(failed); }));
  }

  void OnSent(error_code failed) {
    sending_ = false;
    if (failed) return Close(false);
    if (auto streaming = streaming_.lock()) {
      size_t size = unsent_.front().size();
      streaming->unsent_bytes -= std::min(size, streaming->unsent_bytes.load());
    }
    unsent_.pop_front();
    if (!unsent_.empty()) return SendNext();
    if (!last_queued_) return Lowest().expires_never();  // a stream may be silent for long
    last_queued_ = false;
    if (keep_alive_) return ReadRequest();
    GoodBye();
  }

  void GoodBye() {
    if constexpr (std::is_same_v<AnyStream, TlsStream>) {
      Lowest().expires_after(seconds{5});
      stream_.async_shutdown(Bound([](Connection& self, error_code) { self.Close(false); }));
    } else {
      error_code ignored;
      Lowest().socket().shutdown(tcp::socket::shutdown_send, ignored);
      Close(false);
    }
  }

  // A streaming connection reads only to learn that the client has left; what it sends is dropped.
  void WatchForClose() {
    stream_.async_read_some(asio::buffer(dropped_), Bound([](Connection& self, error_code failed, size_t) {
                              if (failed) return self.Close(false);
                              self.WatchForClose();
                            }));
  }

  void EndStream() {
    auto streaming = streaming_.lock();
    if (!streaming) return;
    streaming->broken = true;
    auto tasks = std::move(streaming->on_closed);
    streaming->on_closed.clear();
    for (auto& weak : streaming->timers) {
      if (auto timer = weak.lock()) timer->cancel();
    }
    for (auto& task : tasks) task();
  }

  std::shared_ptr<Shared> shared_;
  AnyStream stream_;
  asio::steady_timer delay_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::deque<std::string> unsent_;
  std::weak_ptr<BodyWriter::Stream> streaming_;
  std::array<char, 512> dropped_;
  bool request_begun_ = false;
  bool keep_alive_ = false;
  bool sending_ = false;
  bool last_queued_ = false;
  bool closed_ = false;
};

Result<std::shared_ptr<asio::ssl::context>> MakeTls(const ServerTls& tls) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code failed;
  context->set_options(
      asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1,
      failed);
  if (!failed) context->use_certificate_chain(asio::buffer(tls.key_pair.certificate_pem), failed);
  if (!failed) context->use_private_key(asio::buffer(tls.key_pair.key_pem), asio::ssl::context::pem, failed);
  if (failed) return Error{"the server's certificate or key: " + failed.message()};
  if (!tls.client_ca_pem.empty()) {
    context->add_certificate_authority(asio::buffer(tls.client_ca_pem), failed);
    if (failed) return Error{"the authority of clients: " + failed.message()};
    auto mode = asio::ssl::verify_peer;
    if (tls.require_client_certificate) mode |= asio::ssl::verify_fail_if_no_peer_cert;
    context->set_verify_mode(mode, failed);
  }
  // Sessions would need an id context once clients are verified; reconnects are rare.
  SSL_CTX_set_session_cache_mode(context->native_handle(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context->native_handle(), 0);
  return context;
}

}  // namespace

bool BodyWriter::Write(std::string_view piece) const {
  if (stream_->broken || stream_->ended || piece.empty()) return !stream_->broken;
  std::string bytes = stream_->chunked ? Chunk(piece) : std::string(piece);
  if (stream_->unsent_bytes + bytes.size() > stream_->shared->limits.max_unsent_bytes) {
    Abort();
    return false;
  }
  stream_->unsent_bytes += bytes.size();
  asio::post(stream_->shared->io, [stream = stream_, bytes = std::move(bytes)]() mutable {
    stream->Push(std::move(bytes), false);
  });
  return true;
}

void BodyWriter::Finish() const {
  if (stream_->ended.exchange(true) || stream_->broken) return;
  asio::post(stream_->shared->io,
             [stream = stream_] { stream->Push(stream->chunked ? "0\r\n\r\n" : std::string(), true); });
}

void BodyWriter::Cut() const {
  if (stream_->ended.exchange(true) || stream_->broken) return;
  asio::post(stream_->shared->io, [stream = stream_] { stream->Push(std::string(), true); });
}

void BodyWriter::Abort() const {
  stream_->ended = true;
  if (stream_->broken.exchange(true)) return;
  asio::post(stream_->shared->io, [stream = stream_] { stream->Close(true); });
}

void BodyWriter::After(Duration delay, std::function<void()> task) const {
  if (stream_->broken) return;
  asio::post(stream_->shared->io, [stream = stream_, delay, task = std::move(task)] {
    if (stream->broken) return;
    auto timer = std::make_shared<asio::steady_timer>(stream->shared->io, delay);
    std::erase_if(stream->timers, [](const auto& old) { return old.expired(); });
    stream->timers.push_back(timer);
    timer->async_wait([timer, task](error_code failed) {
      if (!failed) task();
    });
  });
}

void BodyWriter::OnClosed(std::function<void()> task) const {
  asio::post(stream_->shared->io, [stream = stream_, task = std::move(task)] {
    if (stream->broken) return task();
    stream->on_closed.push_back(task);
  });
}

class HttpServer::Impl {
 public:
  Impl(ServerOptions options, HttpHandler handler) : options_(std::move(options)) {
    shared_->handler = std::move(handler);
    shared_->limits = options_.limits;
  }

  Outcome Listen() {
    if (options_.tls) {
      auto tls = MakeTls(*options_.tls);
      if (!tls.ok()) return tls.error();
      tls_ = *std::move(tls);
    }
    error_code failed;
    auto address = asio::ip::make_address(options_.address, failed);
    if (failed) return Error{"'" + options_.address + "' is not an IP address"};
    tcp::endpoint endpoint(address, options_.port);
    std::string where = options_.address + ":" + std::to_string(options_.port);
    acceptor_.open(endpoint.protocol(), failed);
    if (!failed) acceptor_.set_option(asio::socket_base::reuse_address(true), failed);
    if (!failed) acceptor_.bind(endpoint, failed);
    if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
    if (failed) return Error{"can't listen on " + where + ": " + failed.message()};
    port_ = acceptor_.local_endpoint(failed).port();
    Accept();
    thread_ = std::thread([this] { shared_->io.run(); });
    return std::nullopt;
  }

  ~Impl() {
    // With everything closed the thread runs out of work and ends; no callback is left behind unrun.
    asio::post(shared_->io, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      retry_.cancel();
      while (!shared_->open.empty()) (*shared_->open.begin())->Close(true);
    });
    if (!thread_.joinable()) return;  // it never listened
    thread_.join();
    shared_->io.restart();  // for what other threads posted at the last moment
    shared_->io.poll();
  }

  uint16_t port() const { return port_; }
  size_t connections() const { return shared_->connections; }

 private:
  void Accept() {
    acceptor_.async_accept([this](error_code failed, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (failed) return AcceptLater(failed);
      Take(std::move(socket));
      Accept();
    });
  }

  // Out of file descriptors, most likely: trying again at once would spin.
  void AcceptLater(error_code failed) {
    LogLine(LogLevel::kWarning, "can't accept a connection", {{"error", failed.message()}});
    retry_.expires_after(milliseconds{100});
    retry_.async_wait([this](error_code stopped) {
      if (!stopped && acceptor_.is_open()) Accept();
    });
  }

  void Take(tcp::socket socket) {
    if (shared_->connections >= options_.limits.max_connections) return;  // closes it
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (tls_) {
      std::make_shared<Connection<TlsStream>>(shared_, std::move(socket), *tls_)->Begin();
    } else {
      std::make_shared<Connection<PlainStream>>(shared_, std::move(socket))->Begin();
    }
  }

  ServerOptions options_;
  std::shared_ptr<asio::ssl::context> tls_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  tcp::acceptor acceptor_{shared_->io};
  asio::steady_timer retry_{shared_->io};
  uint16_t port_ = 0;
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;
uint16_t HttpServer::port() const { return impl_->port(); }
size_t HttpServer::connections() const { return impl_->connections(); }

Result<std::unique_ptr<HttpServer>> HttpServer::Start(ServerOptions options, HttpHandler handler) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  if (Outcome failed = impl->Listen()) return *failed;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace lockstep::net
