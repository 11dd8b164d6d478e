#include "kube/client/kubeconfig.h"

#include <openssl/evp.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "json/doc.h"
#include "json/yaml.h"
#include "net/certificate.h"

namespace lockstep::kube {
namespace {

using json::Doc;
namespace fs = std::filesystem;

constexpr size_t kMaxFileBytes = 4 << 20;

Result<std::string> ReadFile(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) return Error{path + ": is a folder"};
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{path + ": can't be read"};
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (text.size() > kMaxFileBytes) return Error{path + ": larger than 4 MiB"};
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string clean;
  for (char c : text) {
    if (c != '\n' && c != '\r' && c != ' ' && c != '\t') clean += c;
  }
  if (clean.size() % 4 != 0) return std::nullopt;
  std::string out(clean.size() / 4 * 3, '\0');
  int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(clean.data()), static_cast<int>(clean.size()));
  if (size < 0) return std::nullopt;
  size_t padding = 0;  // EVP_DecodeBlock counts the padding as zero bytes
  while (padding < 2 && padding < clean.size() && clean[clean.size() - 1 - padding] == '=') ++padding;
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

// One cluster, user or context, with the file and the words that an error about it begins with.
struct Entry {
  Doc value;  // an object
  std::string file;
  std::string where;  // "/home/a/.kube/config: users[admin].user"

  Error Wrong(const std::string& field, const std::string& message) const {
    return Error{where + "." + field + ": " + message};
  }
  // Missing, null and "" are the same to kubectl.
  Result<std::string> String(const char* field) const {
    auto found = value.find(field);
    if (found == value.end() || found->is_null()) return std::string();
    if (!found->is_string()) return Wrong(field, "must be a string");
    return found->get<std::string>();
  }
  bool Has(const char* field) const {
    auto found = value.find(field);
    return found != value.end() && !found->is_null() && !found->empty() && *found != Doc("");
  }
  std::string Path(const std::string& name) const {
    return (fs::path(file).parent_path() / name).string();  // an absolute name replaces the folder
  }
  // A PEM given inside the kubeconfig (`field`-data, which wins) or as a file (`field`).
  Result<std::string> Pem(const std::string& field) const {
    std::string data_field = field + "-data";
    Result<std::string> data = String(data_field.c_str());
    if (!data.ok() || !data->empty()) {
      if (!data.ok()) return data;
      std::optional<std::string> decoded = DecodeBase64(*data);
      if (!decoded) return Wrong(data_field, "must be base64");
      return *decoded;
    }
    Result<std::string> name = String(field.c_str());
    if (!name.ok() || name->empty()) return name;
    Result<std::string> text = ReadFile(Path(*name));
    if (!text.ok()) return Wrong(field, text.error().message);
    return text;
  }
};

struct File {
  std::string path;
  Doc doc;
};

Result<File> ReadKubeconfigFile(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text.error();
  Result<std::vector<Doc>> docs = json::ParseYaml(*text);
  if (!docs.ok()) return Error{path + ": " + docs.error().message};
  if (docs->size() > 1)
    return Error{path + ": must hold one document, holds " + std::to_string(docs->size())};
  Doc doc = docs->empty() ? Doc::object() : std::move((*docs)[0]);
  if (!doc.is_object()) return Error{path + ": must be a kubeconfig (kind: Config)"};
  if (std::string kind = json::GetString(doc, "kind", "Config"); kind != "Config") {
    return Error{path + ": kind: must be Config, is " + kind};
  }
  return File{path, std::move(doc)};
}

// The first entry of that name in any of the files.
Result<Entry> FindEntry(const std::vector<File>& files, const std::string& list, const std::string& member,
                        const std::string& name, const std::string& asked_by) {
  for (const File& file : files) {
    const Doc* entries = json::Find(file.doc, list);
    if (entries == nullptr || entries->is_null()) continue;
    if (!entries->is_array()) return Error{file.path + ": " + list + ": must be a list"};
    for (const Doc& entry : *entries) {
      if (!entry.is_object() || json::GetString(entry, "name") != name) continue;
      std::string where = file.path + ": " + list + "[" + name + "]." + member;
      const Doc* value = json::Find(entry, member);
      if (value == nullptr || value->is_null()) return Entry{Doc::object(), file.path, where};
      if (!value->is_object()) return Error{where + ": must be an object"};
      return Entry{*value, file.path, where};
    }
  }
  return Error{asked_by + ": '" + name + "' is not in " + list};
}

std::vector<std::string> KubeconfigPaths(const std::string& path) {
  if (!path.empty()) return {path};
  const char* listed = std::getenv("KUBECONFIG");
  if (listed == nullptr || *listed == '\0') {
    const char* home = std::getenv("HOME");
    return {std::string(home != nullptr ? home : "") + "/.kube/config"};
  }
  std::vector<std::string> paths;
  std::string_view rest = listed;
  while (!rest.empty()) {
    size_t end = std::min(rest.find(':'), rest.size());
    std::string one(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    // As kubectl: missing files of the list are left out, unless there is only one.
    if (!one.empty() && (fs::exists(one) || std::string_view(listed) == one)) paths.push_back(one);
  }
  return paths;
}

Outcome CheckServer(const std::string& server) {
  bool https = server.starts_with("https://"), http = server.starts_with("http://");
  if ((!https && !http) || server.size() <= (https ? 8u : 7u) ||
      server.find_first_of(" \r\n\t@?#") != server.npos) {
    return Error{"must be like https://host:6443, is '" + server + "'"};
  }
  return std::nullopt;
}

// The value of a Result, or out of the function with its error.
#define LOCKSTEP_ASSIGN_OR_RETURN(target, expression) \
  do {                                                \
    auto result_ = (expression);                      \
    if (!result_.ok()) return Error{result_.error()}; \
    target = *std::move(result_);                     \
  } while (false)

Outcome ReadCluster(const Entry& cluster, ClientConfig& config) {
  LOCKSTEP_ASSIGN_OR_RETURN(config.server, cluster.String("server"));
  if (Outcome wrong = CheckServer(config.server)) return cluster.Wrong("server", wrong->message);
  while (config.server.ends_with('/')) config.server.pop_back();
  if (cluster.Has("proxy-url")) return cluster.Wrong("proxy-url", "proxies are not supported");
  LOCKSTEP_ASSIGN_OR_RETURN(config.ca_pem, cluster.Pem("certificate-authority"));
  if (!config.ca_pem.empty()) {
    if (Outcome wrong = net::CheckCertificates(config.ca_pem)) {
      return cluster.Wrong("certificate-authority", wrong->message);
    }
  }
  LOCKSTEP_ASSIGN_OR_RETURN(config.tls_server_name, cluster.String("tls-server-name"));
  if (cluster.Has("insecure-skip-tls-verify")) {
    const Doc& skip = cluster.value["insecure-skip-tls-verify"];
    if (!skip.is_boolean()) return cluster.Wrong("insecure-skip-tls-verify", "must be true or false");
    config.insecure_skip_tls_verify = skip.get<bool>();
  }
  if (config.insecure_skip_tls_verify && !config.ca_pem.empty()) {
    return cluster.Wrong("insecure-skip-tls-verify", "can't be used together with a certificate authority");
  }
  return std::nullopt;
}

Outcome ReadUser(const Entry& user, ClientConfig& config) {
  if (user.Has("exec")) {
    return user.Wrong(
        "exec", "credential plugins are not supported; use a token, a token file or a client certificate");
  }
  if (user.Has("auth-provider"))
    return user.Wrong("auth-provider", "is not supported (Kubernetes 1.26 removed it)");
  if (user.Has("username"))
    return user.Wrong("username", "passwords are not supported (Kubernetes 1.19 removed them)");
  for (const char* field : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    if (user.Has(field)) return user.Wrong(field, "impersonation is not supported");
  }
  LOCKSTEP_ASSIGN_OR_RETURN(config.certificate_pem, user.Pem("client-certificate"));
  LOCKSTEP_ASSIGN_OR_RETURN(config.key_pem, user.Pem("client-key"));
  if (config.certificate_pem.empty() != config.key_pem.empty()) {
    return user.Wrong(config.key_pem.empty() ? "client-key" : "client-certificate",
                      "is missing: a certificate and its key come together");
  }
  if (!config.key_pem.empty()) {
    if (Outcome wrong = net::CheckKeyPair(config.certificate_pem, config.key_pem)) {
      return user.Wrong("client-certificate", wrong->message);
    }
  }
  LOCKSTEP_ASSIGN_OR_RETURN(config.token, user.String("token"));
  if (config.token.find_first_of("\r\n") != std::string::npos) return user.Wrong("token", "must be one line");
  LOCKSTEP_ASSIGN_OR_RETURN(config.token_file, user.String("tokenFile"));
  if (!config.token_file.empty()) {
    config.token_file = user.Path(config.token_file);
    if (Result<std::string> text = ReadFile(config.token_file); !text.ok()) {
      return user.Wrong("tokenFile", text.error().message);
    }
  }
  return std::nullopt;
}

}  // namespace

Result<ClientConfig> LoadKubeconfig(const std::string& path, const std::string& context) {
  std::vector<File> files;
  for (const std::string& name : KubeconfigPaths(path)) {
    Result<File> file = ReadKubeconfigFile(name);
    if (!file.ok()) return file.error();
    files.push_back(*std::move(file));
  }
  if (files.empty()) return Error{"$KUBECONFIG: names no file that exists"};

  std::string chosen = context, asked_by = "context";
  for (size_t i = 0; i < files.size() && chosen.empty(); ++i) {
    chosen = json::GetString(files[i].doc, "current-context");
    asked_by = files[i].path + ": current-context";
  }
  if (chosen.empty())
    return Error{files[0].path + ": current-context: is missing, and no context was asked for"};

  Result<Entry> in_context = FindEntry(files, "contexts", "context", chosen, asked_by);
  if (!in_context.ok()) return in_context.error();
  ClientConfig config;
  std::string cluster_name, user_name, ns;
  LOCKSTEP_ASSIGN_OR_RETURN(cluster_name, in_context->String("cluster"));
  LOCKSTEP_ASSIGN_OR_RETURN(user_name, in_context->String("user"));
  LOCKSTEP_ASSIGN_OR_RETURN(ns, in_context->String("namespace"));
  if (!ns.empty()) config.ns = ns;

  Result<Entry> cluster =
      FindEntry(files, "clusters", "cluster", cluster_name, in_context->where + ".cluster");
  if (!cluster.ok()) return cluster.error();
  if (Outcome wrong = ReadCluster(*cluster, config)) return *wrong;
  if (user_name.empty()) return config;
  Result<Entry> user = FindEntry(files, "users", "user", user_name, in_context->where + ".user");
  if (!user.ok()) return user.error();
  if (Outcome wrong = ReadUser(*user, config)) return *wrong;
  return config;
}

Result<ClientConfig> InClusterConfig(const std::string& folder) {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr || *host == '\0' || *port == '\0') {
    return Error{"not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set"};
  }
  ClientConfig config;
  bool ipv6 = std::string_view(host).find(':') != std::string_view::npos;
  config.server = std::string("https://") + (ipv6 ? "[" : "") + host + (ipv6 ? "]" : "") + ":" + port;
  config.token_file = folder + "/token";
  if (Result<std::string> token = ReadFile(config.token_file); !token.ok()) return token.error();
  LOCKSTEP_ASSIGN_OR_RETURN(config.ca_pem, ReadFile(folder + "/ca.crt"));
  if (Outcome wrong = net::CheckCertificates(config.ca_pem))
    return Error{folder + "/ca.crt: " + wrong->message};
  if (Result<std::string> ns = ReadFile(folder + "/namespace"); ns.ok() && !ns->empty()) {
    config.ns = ns->substr(0, ns->find_first_of(" \r\n"));
  }
  return config;
}

}  // namespace lockstep::kube
