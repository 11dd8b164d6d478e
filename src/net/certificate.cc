#include "net/certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <utility>

namespace lockstep::net {
namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

enum class Use { kAuthority, kServer, kClient };

Error OpenSslError(const std::string& what) {
  char text[256] = "unknown error";
  if (unsigned long code = ERR_peek_last_error(); code != 0) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return Error{what + ": " + text};
}

Bio Reader(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::string Text(BIO* bio) {
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

// OpenSSL asks at the terminal for the password of an encrypted key unless it is given a callback.
int NoPassword(char*, int, int, void*) { return -1; }

Certificate ReadCertificate(std::string_view pem) {
  Bio bio = Reader(pem);
  return Certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
}

Key ReadKey(std::string_view pem) {
  Bio bio = Reader(pem);
  return Key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

std::string AlternativeNames(const CertificateSubject& subject) {
  std::string names;
  auto add = [&](const char* kind, const std::string& name) {
    if (!names.empty()) names += ",";
    names += kind + name;
  };
  for (const std::string& name : subject.dns_names) add("DNS:", name);
  for (const std::string& address : subject.ip_addresses) add("IP:", address);
  return names;
}

bool SetName(X509_NAME* name, const CertificateSubject& subject) {
  auto add = [name](const char* field, const std::string& value) {
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(value.data()),
                                      static_cast<int>(value.size()), -1, 0) == 1;
  };
  for (const std::string& organization : subject.organizations) {
    if (!add("O", organization)) return false;
  }
  return add("CN", subject.common_name);
}

bool SetExtensions(X509* certificate, X509* issuer, Use use, const CertificateSubject& subject) {
  if (use == Use::kAuthority) {
    return AddExtension(certificate, issuer, NID_basic_constraints, "critical,CA:TRUE") &&
           AddExtension(certificate, issuer, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           AddExtension(certificate, issuer, NID_subject_key_identifier, "hash");
  }
  std::string names = AlternativeNames(subject);
  return AddExtension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
         AddExtension(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
         AddExtension(certificate, issuer, NID_ext_key_usage,
                      use == Use::kServer ? "serverAuth" : "clientAuth") &&
         (names.empty() || AddExtension(certificate, issuer, NID_subject_alt_name, names));
}

bool SetSerialAndLife(X509* certificate, Duration life) {
  uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return false;
  long end = static_cast<long>(std::chrono::duration_cast<seconds>(life).count());
  long begin = (end < 0 ? end : 0) - 300;
  return X509_set_version(certificate, X509_VERSION_3) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), begin) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), end) != nullptr;
}

Result<KeyPair> ToPem(X509* certificate, EVP_PKEY* key) {
  Bio certificate_out(BIO_new(BIO_s_mem())), key_out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_out.get(), certificate) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_out.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpenSslError("writing a certificate");
  }
  return KeyPair{Text(certificate_out.get()), Text(key_out.get())};
}

// `issuer` null: signed by itself.
Result<KeyPair> Issue(Use use, const CertificateSubject& subject, Duration life, const KeyPair* issuer) {
  Key key(EVP_EC_gen("P-256"));
  Certificate certificate(X509_new());
  if (!key || !certificate) return OpenSslError("making a key");
  Certificate issuer_certificate;
  Key issuer_key;
  if (issuer != nullptr) {
    issuer_certificate = ReadCertificate(issuer->certificate_pem);
    issuer_key = ReadKey(issuer->key_pem);
    if (!issuer_certificate || !issuer_key) return OpenSslError("reading the authority");
  }
  X509* signer = issuer != nullptr ? issuer_certificate.get() : certificate.get();
  EVP_PKEY* signer_key = issuer != nullptr ? issuer_key.get() : key.get();

  X509* made = certificate.get();
  if (!SetSerialAndLife(made, life) || !SetName(X509_get_subject_name(made), subject) ||
      X509_set_issuer_name(made, X509_get_subject_name(signer)) != 1 ||
      X509_set_pubkey(made, key.get()) != 1 || !SetExtensions(made, signer, use, subject) ||
      X509_sign(made, signer_key, EVP_sha256()) == 0) {
    return OpenSslError("making the certificate of '" + subject.common_name + "'");
  }
  return ToPem(made, key.get());
}

}  // namespace

Result<CertificateAuthority> CertificateAuthority::Make(const std::string& common_name, Duration life) {
  Result<KeyPair> pair = Issue(Use::kAuthority, {.common_name = common_name}, life, nullptr);
  if (!pair.ok()) return pair.error();
  return CertificateAuthority(*std::move(pair));
}

Result<KeyPair> CertificateAuthority::IssueServer(const CertificateSubject& subject, Duration life) const {
  return Issue(Use::kServer, subject, life, &pair_);
}

Result<KeyPair> CertificateAuthority::IssueClient(const CertificateSubject& subject, Duration life) const {
  return Issue(Use::kClient, subject, life, &pair_);
}

Outcome CheckCertificates(std::string_view pem) {
  Bio bio = Reader(pem);
  int count = 0;
  while (Certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr))) ++count;
  // The end of the text reads as "no start line"; anything else is a broken certificate.
  bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end) return OpenSslError("broken PEM certificate");
  ERR_clear_error();
  if (count == 0) return Error{"must be PEM and hold at least one certificate"};
  return std::nullopt;
}

Outcome CheckKeyPair(std::string_view certificate_pem, std::string_view key_pem) {
  Certificate certificate = ReadCertificate(certificate_pem);
  if (!certificate) return OpenSslError("the certificate must be PEM");
  Key key = ReadKey(key_pem);
  if (!key) return OpenSslError("the key must be PEM, and not encrypted");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return Error{"the key does not belong to the certificate"};
  }
  return std::nullopt;
}

}  // namespace lockstep::net
