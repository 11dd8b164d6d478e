#include "net/certificate.h"

#include <gtest/gtest.h>

namespace lockstep::net {
namespace {

TEST(Certificate, AuthorityIssuesPairsWhoseKeysBelong) {
  Result<CertificateAuthority> authority = CertificateAuthority::Make("test");
  ASSERT_TRUE(authority.ok()) << authority.error().message;
  Result<KeyPair> server = authority->IssueServer({.common_name = "server", .ip_addresses = {"127.0.0.1"}});
  Result<KeyPair> client = authority->IssueClient({.common_name = "ann", .organizations = {"dev", "ops"}});
  ASSERT_TRUE(server.ok()) << server.error().message;
  ASSERT_TRUE(client.ok()) << client.error().message;

  EXPECT_EQ(CheckCertificates(authority->certificate_pem()), std::nullopt);
  EXPECT_EQ(CheckKeyPair(server->certificate_pem, server->key_pem), std::nullopt);
  EXPECT_EQ(CheckKeyPair(client->certificate_pem, client->key_pem), std::nullopt);
  EXPECT_EQ(CheckKeyPair(client->certificate_pem, server->key_pem)->message,
            "the key does not belong to the certificate");
}

TEST(Certificate, RefusesANameThatIsNoAddress) {
  Result<CertificateAuthority> authority = CertificateAuthority::Make("test");
  ASSERT_TRUE(authority.ok());
  EXPECT_FALSE(authority->IssueServer({.common_name = "server", .ip_addresses = {"localhost"}}).ok());
}

TEST(Certificate, CheckSaysWhatIsWrongWithAPem) {
  Result<CertificateAuthority> authority = CertificateAuthority::Make("test");
  ASSERT_TRUE(authority.ok());
  std::string good = authority->certificate_pem();

  EXPECT_EQ(CheckCertificates(good + good), std::nullopt);
  EXPECT_TRUE(CheckCertificates("").has_value());
  EXPECT_TRUE(CheckCertificates("not a certificate").has_value());
  std::string broken = good;
  broken[broken.size() / 2] = '!';
  EXPECT_TRUE(CheckCertificates(good + broken).has_value()) << "a broken one after a good one";
  EXPECT_TRUE(CheckKeyPair(good, "").has_value());
  EXPECT_TRUE(CheckKeyPair("", good).has_value());
}

}  // namespace
}  // namespace lockstep::net
