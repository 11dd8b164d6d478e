#include "kube/client/connector.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

#include "base/check.h"

namespace lockstep::kube {
namespace {

void Append(std::unique_ptr<curl_slist, void (*)(curl_slist*)>& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  CHECK(longer != nullptr) << "out of memory";
  (void)list.release();
  list.reset(longer);
}

// A peer that acknowledges nothing for this long is gone, be it our bytes or keep-alive probes. Without it
// Linux asks nine times and sends for a quarter of an hour.
int LimitSilence(void*, curl_socket_t fd, curlsocktype) {
  unsigned int milliseconds_without_ack = 45'000;
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds_without_ack, sizeof milliseconds_without_ack);
  return CURL_SOCKOPT_OK;  // a system without it has the other limits
}

// Points into the config, which outlives every transfer.
curl_blob Blob(const std::string& text) {
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
}

}  // namespace

Connector::Connector(ClientConfig config, const HttpApiOptions& options)
    : config_(std::move(config)),
      options_(options),
      token_(config_.token, config_.token_file),
      base_url_(config_.server) {
  if (!config_.tls_server_name.empty()) RenameServer();
}

// curl takes the name to check from the URL, so the URL gets that name and the connection goes to the host
// that the kubeconfig names.
void Connector::RenameServer() {
  CURLU* url = curl_url();
  char *host = nullptr, *port = nullptr, *renamed = nullptr;
  if (curl_url_set(url, CURLUPART_URL, config_.server.c_str(), 0) == CURLUE_OK &&
      curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
      curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
      curl_url_set(url, CURLUPART_HOST, config_.tls_server_name.c_str(), 0) == CURLUE_OK &&
      curl_url_get(url, CURLUPART_URL, &renamed, 0) == CURLUE_OK) {
    base_url_ = renamed;
    while (base_url_.ends_with('/')) base_url_.pop_back();
    Append(connect_to_, std::string("::") + host + ":" + port);
  }
  curl_free(host);
  curl_free(port);
  curl_free(renamed);
  curl_url_cleanup(url);
}

void Connector::Prepare(CURL* easy, const std::string& target, const std::string& content_type,
                        Exchange& exchange, MonoTime now) {
  exchange.url = base_url_ + target;
  exchange.token = token_.Get(now);
  exchange.headers.reset();
  Append(exchange.headers, "Accept: application/json");
  Append(exchange.headers, "Expect:");  // no pause before a large body
  if (!content_type.empty()) Append(exchange.headers, "Content-Type: " + content_type);
  if (!exchange.token.empty()) Append(exchange.headers, "Authorization: Bearer " + exchange.token);

  curl_easy_setopt(easy, CURLOPT_URL, exchange.url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, exchange.headers.get());
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options_.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange.error);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_PROXY, "");  // also none from the environment
  // HTTP/2 was measured slower for writes, and one stalled connection would stall all streams on it.
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 128L << 10);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, &LimitSilence);
  auto connect_ms = std::chrono::ceil<milliseconds>(options_.connect_timeout).count();
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect_ms));
  if (connect_to_) curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to_.get());
  PrepareTls(easy);
}

void Connector::PrepareTls(CURL* easy) {
  if (config_.insecure_skip_tls_verify) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!config_.ca_pem.empty()) {
    curl_blob ca = Blob(config_.ca_pem);
    curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &ca);
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);  // this authority alone
  }
  if (!config_.certificate_pem.empty()) {
    curl_blob certificate = Blob(config_.certificate_pem), key = Blob(config_.key_pem);
    curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
    curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
    curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &key);
  }
}

std::string TransferError(CURLcode code, const Connector::Exchange& exchange) {
  return exchange.error[0] != '\0' ? exchange.error : curl_easy_strerror(code);
}

}  // namespace lockstep::kube
