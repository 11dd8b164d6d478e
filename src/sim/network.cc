#include "sim/network.h"

#include <algorithm>

#include "api/labels.h"
#include "kube/model/meta.h"
#include "sim/network_watch.h"

namespace lockstep::sim {

namespace {

bool VerbMatches(const std::string& wanted, const kube::Request& request) {
  if (wanted == "all") return true;
  if (request.dry_run) return wanted == "check";
  if (wanted == "write") return IsWrite(request);
  if (wanted == "read") return !IsWrite(request);
  return wanted == kube::VerbText(request.verb);
}

std::string NameOf(const kube::Request& request) {
  if (!request.name.empty() || request.body.empty()) return request.name;
  Result<json::Doc> body = json::Parse(request.body);
  if (!body.ok()) return "";
  return json::GetString(*body, "metadata.name", json::GetString(*body, "metadata.generateName"));
}

const kube::Resource* ResourceNamed(const std::string& plural) {
  for (const kube::Resource* resource : kube::AllResources()) {
    if (resource->plural == plural) return resource;
  }
  return nullptr;
}

kube::Response NoAnswer(const std::string& message) { return {kube::NoAnswer(message), ""}; }

std::string_view ReasonFor(int code) {
  switch (code) {
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 409:
      return "Conflict";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 503:
      return "ServiceUnavailable";
    default:
      return "InternalError";
  }
}

}  // namespace

bool IsWrite(const kube::Request& request) {
  return request.verb != kube::Verb::kGet && request.verb != kube::Verb::kList && !request.dry_run;
}

// One watch of a client. The events of the server travel one latency, in order; a stall holds them back.
class Network::WatchEnd final : public kube::Watch, public DelayedHandler {
 public:
  WatchEnd(Network& network, const kube::WatchRequest& request, kube::WatchHandler& handler)
      : DelayedHandler(network.server_.loop(), handler, network.options_.latency,
                       [this] { return network_.WatchFault(Fault::Effect::kStalls, *resource_); }),
        network_(network),
        resource_(request.resource) {
    network_.watches_.push_back(this);
  }
  ~WatchEnd() override { std::erase(network_.watches_, this); }

  void Start(kube::WatchRequest request) {
    if (network_.WatchFault(Fault::Effect::kRefused, *resource_)) {
      return Cut(kube::ErrorStatus(500, "InternalError", "the watch is refused"));
    }
    watch_ = network_.server_.StartWatch(std::move(request), *this);
  }
  void Cut(const kube::Status& status) {
    std::erase(network_.watches_, this);
    watch_.reset();
    End(status);
  }
  const kube::Resource* resource() const { return resource_; }

 private:
  Network& network_;
  const kube::Resource* resource_;
  std::unique_ptr<kube::Watch> watch_;
};

class Network::Connection final : public kube::Api {
 public:
  explicit Connection(Network& network) : network_(network) {}
  ~Connection() override { *alive_ = false; }

  Loop& loop() override { return network_.server_.loop(); }
  void Send(kube::Request request, Done done) override {
    network_.Send(std::move(request), alive_, std::move(done));
  }
  std::unique_ptr<kube::Watch> StartWatch(kube::WatchRequest request, kube::WatchHandler& handler) override {
    auto watch = std::make_unique<WatchEnd>(network_, request, handler);
    watch->Start(std::move(request));
    return watch;
  }

 private:
  Network& network_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

Network::~Network() { *alive_ = false; }

std::unique_ptr<kube::Api> Network::Connect() { return std::make_unique<Connection>(*this); }

void Network::Shape(const ShapeNetwork& shape) {
  if (shape.seed) random_ = options_.seed = *shape.seed;
  options_.latency = shape.latency.value_or(options_.latency);
  options_.jitter = shape.jitter.value_or(options_.jitter);
}

void Network::Add(const Fault& fault) {
  const kube::Resource* resource = ResourceNamed(fault.resource);
  if (fault.effect == Fault::Effect::kBreaks)
    return EndWatches(kube::NoAnswer("the connection broke"), resource);
  if (fault.effect == Fault::Effect::kExpires) {
    return EndWatches(kube::ErrorStatus(410, "Expired", "too old resource version"), resource);
  }
  Rule rule{fault, resource, {}, fault.count};
  if (fault.lasts) rule.until = server_.loop().now().mono + *fault.lasts;
  rules_.push_back(std::move(rule));
}

void Network::Clear() { rules_.clear(); }

void Network::DropOld() {
  MonoTime now = server_.loop().now().mono;
  rules_.remove_if([&](const Rule& rule) { return (rule.until && *rule.until <= now) || rule.left == 0; });
}

bool Network::troubled() const {
  MonoTime now = server_.loop().now().mono;
  return std::any_of(rules_.begin(), rules_.end(),
                     [&](const Rule& rule) { return (!rule.until || *rule.until > now) && rule.left != 0; });
}

void Network::EndWatches(const kube::Status& status, const kube::Resource* resource) {
  std::vector<WatchEnd*> ended;
  for (WatchEnd* watch : watches_) {
    if (resource == nullptr || watch->resource() == resource) ended.push_back(watch);
  }
  for (WatchEnd* watch : ended) watch->Cut(status);
}

bool Network::WatchFault(Fault::Effect effect, const kube::Resource& resource) {
  DropOld();
  for (const Rule& rule : rules_) {
    if (rule.fault.effect == effect && (rule.resource == nullptr || rule.resource == &resource)) return true;
  }
  return false;
}

Network::Rule* Network::Find(const kube::Request& request) {
  DropOld();
  for (Rule& rule : rules_) {
    if (rule.fault.verb == "watch" || !VerbMatches(rule.fault.verb, request)) continue;
    if (rule.resource != nullptr && rule.resource != request.resource) continue;
    if (!rule.fault.name.empty() && NameOf(request).find(rule.fault.name) == std::string::npos) continue;
    if (rule.left) --*rule.left;
    return &rule;
  }
  return nullptr;
}

Duration Network::Travel() {
  if (options_.jitter == Duration::zero()) return options_.latency;
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  return options_.latency +
         Duration(static_cast<int64_t>((random_ >> 33) % static_cast<uint64_t>(options_.jitter.count() + 1)));
}

void Network::ApplyRanks(kube::Request& request) const {
  // Most creates are of no such job: reading them would cost more than all else here.
  auto of_a_rank = [&](const Rank& rank) {
    std::string job = rank.pod.substr(0, rank.pod.rfind('-', rank.pod.rfind('-') - 1));
    return request.body.find('"' + job + '"') != std::string::npos;
  };
  if (std::ranges::none_of(ranks_, of_a_rank) || request.verb != kube::Verb::kCreate ||
      request.resource != &kube::kPods || request.dry_run) {
    return;
  }
  Result<json::Doc> body = json::Parse(request.body);
  if (!body.ok()) return;
  kube::Meta meta = kube::ParseMeta(*body);
  std::string rank_name = meta.label(api::kJobNameLabel) + "-" + meta.label(api::kReplicaTypeLabel) + "-" +
                          meta.label(api::kReplicaIndexLabel);
  bool changed = false;
  for (const Rank& rank : ranks_) {
    bool this_attempt = rank.attempt == 0 || std::to_string(rank.attempt) == meta.label(api::kAttemptLabel);
    if (rank.pod != rank_name || !this_attempt) continue;
    for (const auto& [key, value] : rank.programme) (*body)["metadata"]["annotations"][key] = value;
    changed = true;
  }
  if (changed) request.body = json::Dump(*body);
}

// Hands the request to the server after a while, whoever waits for the answer.
void Network::Deliver(kube::Request request, Duration after, kube::Api::Done done) {
  ++in_flight_;
  ApplyRanks(request);
  auto send = [this, alive = alive_, epoch = epoch_, request = std::move(request),
               done = std::move(done)]() mutable {
    if (!*alive) return;
    if (epoch != epoch_) {
      --in_flight_;
      return;
    }
    kube::Request copy = request;
    copy.body.clear();
    server_.Send(std::move(request), [this, alive, copy = std::move(copy), done](kube::Response response) {
      if (!*alive) return;
      --in_flight_;
      if (IsWrite(copy)) {
        ++writes_;
        last_write_ = server_.loop().now().mono;
        if (on_write_) on_write_(copy, response);
      }
      if (done) done(std::move(response));
    });
  };
  if (after == Duration::zero()) return send();
  server_.loop().After(after, std::move(send));
}

void Network::Send(kube::Request request, std::shared_ptr<bool> client, kube::Api::Done done) {
  Loop& loop = server_.loop();
  // The answer travels back to a client that may be gone.
  auto answer = [&loop, client, done = std::move(done)](kube::Response response, Duration after) {
    loop.After(after, [client, done, response = std::move(response)]() mutable {
      if (*client) done(std::move(response));
    });
  };
  Duration there = Travel(), back = Travel();
  const Rule* rule = Find(request);
  auto pass = [&](Duration delay) {
    if (there + delay + back == Duration::zero()) {
      return Deliver(std::move(request), {},
                     [client, answer](kube::Response r) { answer(std::move(r), {}); });
    }
    Deliver(std::move(request), there + delay,
            [answer, back](kube::Response r) { answer(std::move(r), back); });
  };
  if (rule == nullptr) return pass({});
  const Fault& fault = rule->fault;
  switch (fault.effect) {
    case Fault::Effect::kFails: {
      std::string message = fault.message.empty() ? "an injected failure" : fault.message;
      return answer({kube::ErrorStatus(fault.code, std::string(ReasonFor(fault.code)), message), ""},
                    there + back);
    }
    case Fault::Effect::kLost:
      return answer(NoAnswer("the request was lost"), options_.no_answer_after);
    case Fault::Effect::kDropped:
      answer(NoAnswer("the answer was lost"), options_.no_answer_after);
      return Deliver(std::move(request), there, nullptr);
    case Fault::Effect::kLate:
      answer(NoAnswer("the request is under way for too long"), options_.no_answer_after);
      return Deliver(std::move(request), there + fault.delay, nullptr);
    case Fault::Effect::kSlow:
      return pass(fault.delay);
    default:
      return pass({});
  }
}

}  // namespace lockstep::sim
