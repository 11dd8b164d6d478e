// Sends the HTTP requests of a plan as fast as an API server takes them: the yardstick for what an operator
// adds.
//
//   raw_client --server URL --ca F --cert F --key F [--connections 32] PLAN
//
// PLAN has one JSON object a line: {"method", "path", "type", "body", "object"}. Requests with the same
// "object" are sent one after the other in the order of the plan; all others run side by side, one per
// connection. Prints one JSON line: {"requests", "failed", "seconds", "first_error"}.

#include <curl/curl.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace {

struct PlannedRequest {
  std::string method, path, type, body, object;
};

struct Options {
  std::string server, ca, cert, key, plan;
  int connections = 32;
};

struct Connection {
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  std::string answer;
  size_t request = 0;
};

size_t Collect(char* data, size_t size, size_t count, void* user) {
  static_cast<std::string*>(user)->append(data, size * count);
  return size * count;
}

std::vector<PlannedRequest> ReadPlan(const std::string& file) {
  std::vector<PlannedRequest> plan;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    nlohmann::json doc = nlohmann::json::parse(line);
    plan.push_back({doc.at("method"), doc.at("path"), doc.value("type", "application/json"),
                    doc.value("body", ""), doc.at("object")});
  }
  return plan;
}

class RawClient {
 public:
  RawClient(Options options, std::vector<PlannedRequest> plan)
      : options_(std::move(options)), plan_(std::move(plan)) {
    multi_ = curl_multi_init();
    curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(options_.connections));
    connections_.resize(static_cast<size_t>(options_.connections));
    for (Connection& c : connections_) Prepare(c);
    for (size_t i = 0; i < plan_.size(); ++i) waiting_.push_back(i);
  }

  ~RawClient() {
    for (Connection& c : connections_) {
      curl_slist_free_all(c.headers);
      curl_easy_cleanup(c.easy);
    }
    curl_multi_cleanup(multi_);
  }

  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void Run() {
    for (Connection& c : connections_) free_.push_back(&c);
    Fill();
    int running = 1;
    while (done_ < plan_.size()) {
      curl_multi_perform(multi_, &running);
      Reap();
      Fill();
      if (done_ < plan_.size()) curl_multi_poll(multi_, nullptr, 0, 100, nullptr);
    }
  }

  size_t failed() const { return failed_; }
  const std::string& first_error() const { return first_error_; }

 private:
  void Prepare(Connection& c) {
    c.easy = curl_easy_init();
    curl_easy_setopt(c.easy, CURLOPT_CAINFO, options_.ca.c_str());
    curl_easy_setopt(c.easy, CURLOPT_SSLCERT, options_.cert.c_str());
    curl_easy_setopt(c.easy, CURLOPT_SSLKEY, options_.key.c_str());
    curl_easy_setopt(c.easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c.easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(c.easy, CURLOPT_WRITEFUNCTION, Collect);
    curl_easy_setopt(c.easy, CURLOPT_WRITEDATA, &c.answer);
    curl_easy_setopt(c.easy, CURLOPT_PRIVATE, &c);
  }

  // The first waiting requests whose objects are not busy, within a window: the plan's order is kept per
  // object.
  void Fill() {
    std::unordered_set<std::string> passed;
    for (size_t at = 0; at < waiting_.size() && at < 2000 && !free_.empty();) {
      const std::string& object = plan_[waiting_[at]].object;
      if (busy_.contains(object) || passed.contains(object)) {
        passed.insert(object);
        ++at;
        continue;
      }
      size_t request = waiting_[at];
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
      Send(*free_.back(), request);
      free_.pop_back();
    }
  }

  void Send(Connection& c, size_t index) {
    const PlannedRequest& request = plan_[index];
    busy_.insert(request.object);
    c.request = index;
    c.answer.clear();
    curl_slist_free_all(c.headers);
    c.headers = curl_slist_append(nullptr, ("Content-Type: " + request.type).c_str());
    c.headers = curl_slist_append(c.headers, "Accept: application/json");
    c.headers = curl_slist_append(c.headers, "Expect:");
    curl_easy_setopt(c.easy, CURLOPT_URL, (options_.server + request.path).c_str());
    curl_easy_setopt(c.easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    curl_easy_setopt(c.easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    curl_easy_setopt(c.easy, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(c.easy, CURLOPT_HTTPHEADER, c.headers);
    curl_multi_add_handle(multi_, c.easy);
  }

  void Reap() {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      Connection* c = nullptr;
      long code = 0;
      CURLcode result = message->data.result;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &c);
      curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &code);
      curl_multi_remove_handle(multi_, c->easy);
      if (result != CURLE_OK || code >= 300) Fail(*c, result, code);
      busy_.erase(plan_[c->request].object);
      free_.push_back(c);
      ++done_;
    }
  }

  void Fail(const Connection& c, CURLcode result, long code) {
    if (failed_++ > 0) return;
    first_error_ = plan_[c.request].method + " " + plan_[c.request].path + ": " + std::to_string(code) + " " +
                   (result == CURLE_OK ? c.answer.substr(0, 300) : curl_easy_strerror(result));
  }

  Options options_;
  std::vector<PlannedRequest> plan_;
  CURLM* multi_ = nullptr;
  std::vector<Connection> connections_;
  std::vector<Connection*> free_;
  std::deque<size_t> waiting_;
  std::unordered_set<std::string> busy_;
  size_t done_ = 0, failed_ = 0;
  std::string first_error_;
};

bool ParseOptions(int argc, char** argv, Options& options) {
  std::unordered_map<std::string, std::string*> flags = {{"--server", &options.server},
                                                         {"--ca", &options.ca},
                                                         {"--cert", &options.cert},
                                                         {"--key", &options.key}};
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (auto flag = flags.find(arg); flag != flags.end() && i + 1 < argc) {
      *flag->second = argv[++i];
    } else if (arg == "--connections" && i + 1 < argc) {
      options.connections = std::stoi(argv[++i]);
    } else {
      options.plan = arg;
    }
  }
  return !options.server.empty() && !options.plan.empty() && options.connections > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!ParseOptions(argc, argv, options)) {
    std::fprintf(stderr, "usage: raw_client --server URL --ca F --cert F --key F [--connections N] PLAN\n");
    return 2;
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  std::vector<PlannedRequest> plan = ReadPlan(options.plan);
  size_t requests = plan.size();
  RawClient client(options, std::move(plan));
  auto began = std::chrono::steady_clock::now();
  client.Run();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  nlohmann::json result = {{"requests", requests},
                           {"failed", client.failed()},
                           {"seconds", seconds},
                           {"first_error", client.first_error()}};
  std::printf("%s\n", result.dump().c_str());
  return client.failed() == 0 ? 0 : 1;
}
