#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "kube/client/kubeconfig.h"
#include "kube/client/options.h"
#include "kube/client/token_source.h"

namespace lockstep::kube {

// How to reach the server and prove who we are: the part of a transfer that is the same for requests and
// watches. Lives on the I/O thread.
class Connector {
 public:
  Connector(ClientConfig config, const HttpApiOptions& options);

  // One prepared transfer; keeps what curl only points to.
  struct Exchange {
    std::string url;
    std::string token;  // as sent
    std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers{nullptr, curl_slist_free_all};
    char error[CURL_ERROR_SIZE] = "";
  };

  // Address, credentials, trust, headers and connect time-out. The exchange must outlive the transfer.
  void Prepare(CURL* easy, const std::string& target, const std::string& content_type, Exchange& exchange,
               MonoTime now);
  // After a 401: true if asking again with another token makes sense.
  bool NewToken(const Exchange& refused, MonoTime now) { return token_.Reload(now, refused.token); }

  const std::string& server() const { return config_.server; }

 private:
  void PrepareTls(CURL* easy);
  void RenameServer();

  ClientConfig config_;
  const HttpApiOptions& options_;
  TokenSource token_;
  std::string base_url_;  // config.server, with the host replaced by tls_server_name
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> connect_to_{nullptr, curl_slist_free_all};
};

// What went wrong, for people: curl's own words where it has any.
std::string TransferError(CURLcode code, const Connector::Exchange& exchange);

}  // namespace lockstep::kube
