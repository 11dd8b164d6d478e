#include "kube/client/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "kube/client/token_source.h"
#include "net/certificate.h"

namespace lockstep::kube {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

std::string Base64(const std::string& text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

// Files in a folder of their own, and environment variables that are put back.
class KubeconfigTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "kubeconfig-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    fs::remove_all(folder_);
    for (const char* name : {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"})
      unsetenv(name);
  }
  std::string Write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  // A kubeconfig with one context, whose cluster and user have these fields.
  std::string Config(const std::string& cluster, const std::string& user) {
    return Write("config",
                 "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
                 "contexts:\n- name: here\n  context: {cluster: c, user: u}\n"
                 "clusters:\n- name: c\n  cluster: {" +
                     cluster +
                     "}\n"
                     "users:\n- name: u\n  user: {" +
                     user + "}\n");
  }
  std::string ErrorOf(const std::string& cluster, const std::string& user) {
    Result<ClientConfig> config = LoadKubeconfig(Config(cluster, user));
    return config.ok() ? "no error" : config.error().message;
  }
  const net::CertificateAuthority& Authority() {
    static const auto authority = net::CertificateAuthority::Make("test");
    return *authority;
  }
  net::KeyPair Client() { return *Authority().IssueClient({.common_name = "ann"}); }

  fs::path folder_;
};

TEST_F(KubeconfigTest, ReadsCertificatesFromDataAndFromFiles) {
  net::KeyPair client = Client();
  Write("pki/ann.crt", client.certificate_pem);
  Write("pki/ann.key", client.key_pem);

  Result<ClientConfig> config =
      LoadKubeconfig(Config("server: 'https://10.0.0.1:6443/', certificate-authority-data: " +
                                Base64(Authority().certificate_pem()) + ", tls-server-name: kubernetes",
                            "client-certificate: pki/ann.crt, client-key: pki/ann.key"));

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "https://10.0.0.1:6443");
  EXPECT_EQ(config->ca_pem, Authority().certificate_pem());
  EXPECT_EQ(config->tls_server_name, "kubernetes");
  EXPECT_EQ(config->certificate_pem, client.certificate_pem) << "the file is beside the kubeconfig";
  EXPECT_EQ(config->key_pem, client.key_pem);
  EXPECT_EQ(config->ns, "default");
}

TEST_F(KubeconfigTest, ChoosesTheContext) {
  std::string path = Write("two", R"({"kind": "Config", "current-context": "a",
    "contexts": [{"name": "a", "context": {"cluster": "one"}},
                 {"name": "b", "context": {"cluster": "two", "user": "u", "namespace": "training"}}],
    "clusters": [{"name": "one", "cluster": {"server": "http://one"}},
                 {"name": "two", "cluster": {"server": "https://two", "insecure-skip-tls-verify": true}}],
    "users": [{"name": "u", "user": {"token": "secret"}}]})");

  EXPECT_EQ(LoadKubeconfig(path)->server, "http://one");
  Result<ClientConfig> other = LoadKubeconfig(path, "b");
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(other->server, "https://two");
  EXPECT_TRUE(other->insecure_skip_tls_verify);
  EXPECT_EQ(other->token, "secret");
  EXPECT_EQ(other->ns, "training");
  EXPECT_EQ(LoadKubeconfig(path, "c").error().message, "context: 'c' is not in contexts");
}

TEST_F(KubeconfigTest, MergesTheFilesOfTheEnvironmentFirstOneWins) {
  std::string first =
      Write("first", "current-context: x\nclusters: [{name: c, cluster: {server: 'http://first'}}]\n");
  std::string second = Write("second",
                             "contexts: [{name: x, context: {cluster: c}}]\n"
                             "clusters: [{name: c, cluster: {server: 'http://second'}}]\n");
  setenv("KUBECONFIG", (first + ":" + (folder_ / "missing").string() + ":" + second).c_str(), 1);
  Result<ClientConfig> config = LoadKubeconfig();
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "http://first");
}

TEST_F(KubeconfigTest, ErrorsNameFileAndField) {
  std::string file = (folder_ / "config").string();
  EXPECT_EQ(ErrorOf("server: ''", ""),
            file + ": clusters[c].cluster.server: must be like https://host:6443, is ''");
  EXPECT_THAT(ErrorOf("server: 'host:6443'", ""), HasSubstr("is 'host:6443'"));
  EXPECT_THAT(ErrorOf("server: 'https://h', certificate-authority-data: '#'", ""),
              EndsWith("clusters[c].cluster.certificate-authority-data: must be base64"));
  EXPECT_THAT(ErrorOf("server: 'https://h', certificate-authority-data: " + Base64("no pem"), ""),
              HasSubstr("certificate-authority: must be PEM"));
  EXPECT_THAT(ErrorOf("server: 'https://h', certificate-authority: nowhere.crt", ""),
              AllOf(HasSubstr("certificate-authority: "), EndsWith("nowhere.crt: can't be read")));
  EXPECT_THAT(ErrorOf("server: 'https://h', proxy-url: 'http://p'", ""),
              EndsWith("proxies are not supported"));
  EXPECT_THAT(ErrorOf("server: 'https://h'", "token: [1]"),
              EndsWith("users[u].user.token: must be a string"));
  EXPECT_THAT(ErrorOf("server: 'https://h'", "token: \"a\\nHost: b\""), EndsWith("token: must be one line"));
  EXPECT_THAT(ErrorOf("server: 'https://h'", "tokenFile: nowhere"), HasSubstr("users[u].user.tokenFile: "));
}

TEST_F(KubeconfigTest, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(ErrorOf("server: 'https://h'", "exec: {command: aws}"), HasSubstr("exec: credential plugins"));
  EXPECT_THAT(ErrorOf("server: 'https://h'", "auth-provider: {name: gcp}"), HasSubstr("auth-provider: "));
  EXPECT_THAT(ErrorOf("server: 'https://h'", "username: a, password: b"), HasSubstr("passwords"));
  EXPECT_THAT(ErrorOf("server: 'https://h'", "as: root"), HasSubstr("impersonation"));
}

TEST_F(KubeconfigTest, RefusesACertificateWithoutItsKey) {
  net::KeyPair client = Client(), other = Client();
  std::string certificate = "client-certificate-data: " + Base64(client.certificate_pem);
  EXPECT_THAT(ErrorOf("server: 'https://h'", certificate), HasSubstr("users[u].user.client-key: is missing"));
  EXPECT_THAT(ErrorOf("server: 'https://h'", certificate + ", client-key-data: " + Base64(other.key_pem)),
              HasSubstr("the key does not belong to the certificate"));
}

TEST_F(KubeconfigTest, BrokenFilesAreErrors) {
  EXPECT_THAT(LoadKubeconfig((folder_ / "none").string()).error().message, EndsWith("none: can't be read"));
  EXPECT_THAT(LoadKubeconfig(folder_.string()).error().message, EndsWith("is a folder"));
  EXPECT_THAT(LoadKubeconfig(Write("list", "[1, 2]")).error().message, HasSubstr("must be a kubeconfig"));
  EXPECT_THAT(LoadKubeconfig(Write("pod", "kind: Pod")).error().message,
              HasSubstr("kind: must be Config, is Pod"));
  EXPECT_THAT(LoadKubeconfig(Write("syntax", "a: [")).error().message, StartsWith(folder_.string()));
  EXPECT_THAT(LoadKubeconfig(Write("empty", "")).error().message, HasSubstr("current-context: is missing"));
  EXPECT_THAT(
      LoadKubeconfig(Write("clusters", "current-context: a\ncontexts: [{name: a, context: {cluster: b}}]"))
          .error()
          .message,
      HasSubstr("contexts[a].context.cluster: 'b' is not in clusters"));
}

TEST_F(KubeconfigTest, AnyPrefixOfAFileIsAnErrorOrAConfig) {
  std::string whole =
      Write("whole", R"({"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "c"}}],
    "clusters": [{"name": "c", "cluster": {"server": "http://h"}}]})");
  std::ifstream in(whole);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  ASSERT_TRUE(LoadKubeconfig(whole).ok());
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_FALSE(LoadKubeconfig(Write("prefix", text.substr(0, size))).ok()) << size;
  }
}

TEST_F(KubeconfigTest, InClusterReadsTheServiceAccount) {
  EXPECT_THAT(InClusterConfig(folder_.string()).error().message, HasSubstr("KUBERNETES_SERVICE_HOST"));
  setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1);
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  EXPECT_THAT(InClusterConfig(folder_.string()).error().message, EndsWith("token: can't be read"));
  Write("token", "first\n");
  Write("ca.crt", Authority().certificate_pem());
  Write("namespace", "lockstep-system");
  Result<ClientConfig> config = InClusterConfig(folder_.string());
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "https://10.96.0.1:443");
  EXPECT_EQ(config->ns, "lockstep-system");
  EXPECT_EQ(config->token_file, (folder_ / "token").string());
  setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  EXPECT_EQ(InClusterConfig(folder_.string())->server, "https://[fd00::1]:443");
}

TEST_F(KubeconfigTest, TokensAreReadAgainEveryMinuteAndAfterARefusal) {
  std::string path = Write("token", "first\n");
  TokenSource source("fallback", path);
  MonoTime start{hours{1}};
  EXPECT_EQ(source.Get(start), "first");
  Write("token", "second\n");
  EXPECT_EQ(source.Get(start + seconds{59}), "first");
  EXPECT_EQ(source.Get(start + seconds{60}), "second");
  EXPECT_FALSE(source.Reload(start + seconds{61}, "second")) << "nothing new: asking again is useless";
  Write("token", "third");
  EXPECT_TRUE(source.Reload(start + seconds{62}, "second"));
  EXPECT_EQ(source.Get(start + seconds{62}), "third");
}

TEST_F(KubeconfigTest, AnUnusableTokenFileKeepsTheLastToken) {
  std::string path = Write("token", "good");
  TokenSource source("", path);
  MonoTime start{hours{1}};
  EXPECT_EQ(source.Get(start), "good");
  for (const char* bad : {"", "\n", "two\nlines", "a b"}) {
    Write("token", bad);
    start += minutes{2};
    EXPECT_EQ(source.Get(start), "good") << bad;
  }
  fs::remove(path);
  EXPECT_EQ(source.Get(start + minutes{2}), "good");
}

TEST(TokenSource, AFixedTokenStays) {
  TokenSource source("fixed", "");
  EXPECT_EQ(source.Get(MonoTime{}), "fixed");
  EXPECT_FALSE(source.Reload(MonoTime{}, "fixed"));
}

}  // namespace
}  // namespace lockstep::kube
