#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace lockstep::net {

// A certificate and its private key, both PEM.
struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;
};

// What a certificate says. Kubernetes reads the user from the common name and the groups from the
// organizations.
struct CertificateSubject {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;     // subject alternative names of a server
  std::vector<std::string> ip_addresses;  // the same, "127.0.0.1"
};

// Begins five minutes ago, for clocks that differ. A negative time makes a certificate that has expired.
inline constexpr Duration kCertificateLife = hours{24 * 365};

// A certificate authority whose key lives in memory only: for tests and for a server that signs its own
// clients. Keys are ECDSA P-256.
class CertificateAuthority {
 public:
  static Result<CertificateAuthority> Make(const std::string& common_name, Duration life = kCertificateLife);

  const std::string& certificate_pem() const { return pair_.certificate_pem; }

  Result<KeyPair> IssueServer(const CertificateSubject& subject, Duration life = kCertificateLife) const;
  Result<KeyPair> IssueClient(const CertificateSubject& subject, Duration life = kCertificateLife) const;

 private:
  explicit CertificateAuthority(KeyPair pair) : pair_(std::move(pair)) {}

  KeyPair pair_;
};

// Nothing if `pem` holds at least one certificate, and no broken one.
Outcome CheckCertificates(std::string_view pem);
// Nothing if both are PEM and the key belongs to the (first) certificate.
Outcome CheckKeyPair(std::string_view certificate_pem, std::string_view key_pem);

}  // namespace lockstep::net
