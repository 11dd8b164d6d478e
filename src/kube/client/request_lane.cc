#include "kube/client/request_lane.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/real_loop.h"
#include "kube/client/retry.h"
#include "kube/client/watch_stream.h"

namespace lockstep::kube {
namespace {

std::string Named(const RequestLane::Call& call, const std::string& server) {
  return call.http.method + " " + server + call.http.target.substr(0, call.http.target.find('?'));
}

bool IsRead(Verb verb) { return verb == Verb::kGet || verb == Verb::kList; }

}  // namespace

struct RequestLane::Transfer {
  Call call;
  Connector::Exchange exchange;
  std::string body;
  size_t max_body = 0;
  bool too_big = false;
  int sent = 0;  // times that curl put it on a connection
  bool too_late = false;
};

RequestLane::RequestLane(CurlLoop& loop, Connector& connector, const HttpApiOptions& options, Answer answer)
    : loop_(loop),
      connector_(connector),
      options_(options),
      answer_(std::move(answer)),
      multi_(loop.NewMulti(options.connections,
                           [this](CURL* easy, CURLcode code) { OnFinished(easy, code); })) {}

RequestLane::~RequestLane() {
  for (auto& [easy, transfer] : active_) {
    curl_multi_remove_handle(multi_, easy);
    curl_easy_cleanup(easy);
  }
  for (CURL* easy : idle_) curl_easy_cleanup(easy);
}

void RequestLane::Submit(Call call) {
  queue_.push_back(std::move(call));
  StartQueued();
}

void RequestLane::StartQueued() {
  while (!queue_.empty() && active_.size() < static_cast<size_t>(options_.connections)) {
    Call call = std::move(queue_.front());
    queue_.pop_front();
    Start(std::move(call));
  }
}

void RequestLane::Start(Call call) {
  CURL* easy = nullptr;
  if (idle_.empty()) {
    easy = curl_easy_init();
    CHECK(easy != nullptr) << "curl_easy_init";
  } else {
    easy = idle_.back();
    idle_.pop_back();
  }
  auto owned = std::make_unique<Transfer>();
  Transfer* transfer = owned.get();
  transfer->call = std::move(call);
  transfer->call.tries++;
  transfer->max_body = options_.max_body_bytes;
  const HttpCall& http = transfer->call.http;

  connector_.Prepare(easy, http.target, http.content_type, transfer->exchange, loop_.now().mono);
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, http.method.c_str());
  if (!http.content_type.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, http.body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(http.body.size()));
  }
  AvoidSuspectConnections(easy);
  auto timeout_ms = std::chrono::ceil<milliseconds>(options_.request_timeout).count();
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_ms));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &RequestLane::OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &RequestLane::OnSending);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
  active_.emplace(easy, std::move(owned));
  CURLMcode added = curl_multi_add_handle(multi_, easy);
  CHECK(added == CURLM_OK) << "curl_multi_add_handle: " << curl_multi_strerror(added);
}

// When the path to the server broke, every connection kept open since before is as dead as the one that told
// us, and each would cost a whole time-out to find out. Only those used since then are taken again.
void RequestLane::AvoidSuspectConnections(CURL* easy) {
  constexpr long kCurlDefault = 118;
  if (!lost_at_) return;
  auto since = std::chrono::duration_cast<seconds>(loop_.now().mono - *lost_at_).count();
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, std::clamp<long>(since - 1, 0, kCurlDefault));
}

size_t RequestLane::OnBody(char* data, size_t, size_t size, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  if (transfer->body.size() + size > transfer->max_body) {
    transfer->too_big = true;
    return 0;
  }
  transfer->body.append(data, size);
  return size;
}

// curl sends a request a second time by itself when a kept-alive connection dies before the answer begins.
// The server may have applied the first one, so a write is not sent again: its outcome is unknown. Nor is
// anything sent whose time has passed while it waited for its connection.
int RequestLane::OnSending(void* user, char*, char*, int, int) {
  auto* transfer = static_cast<Transfer*>(user);
  transfer->too_late = transfer->call.not_after && ReadClocks().mono >= *transfer->call.not_after;
  if (transfer->too_late) return CURL_PREREQFUNC_ABORT;
  bool again = transfer->sent++ > 0;
  return again && !IsRead(transfer->call.verb) ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

Status RequestLane::Judge(Transfer& transfer, CURLcode code) {
  std::string name = Named(transfer.call, connector_.server());
  if (transfer.too_late) return NoAnswer(name + ": not sent: it would have been too late");
  if (code == CURLE_ABORTED_BY_CALLBACK)
    return NoAnswer(name + ": the connection was lost before the answer");
  if (transfer.too_big) {
    return NoAnswer(name + ": an answer of more than " + std::to_string(transfer.max_body) + " bytes");
  }
  if (code != CURLE_OK) {
    const char* when = transfer.sent == 0 ? ": not sent: " : ": ";
    return NoAnswer(name + when + TransferError(code, transfer.exchange));
  }
  return OkStatus();
}

void RequestLane::OnFinished(CURL* easy, CURLcode code) {
  auto found = active_.find(easy);
  CHECK(found != active_.end()) << "a transfer of somebody else finished";
  std::unique_ptr<Transfer> transfer = std::move(found->second);
  active_.erase(found);

  if (code != CURLE_OK && transfer->sent > 0) lost_at_ = loop_.now().mono;
  Status status = Judge(*transfer, code);
  if (status.ok()) {
    long http_code = 0;
    curl_off_t retry_after = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &http_code);
    curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after);
    status = http_code >= 200 && http_code < 300 ? OkStatus(static_cast<int>(http_code))
                                                 : ParseStatus(static_cast<int>(http_code), transfer->body);
    constexpr curl_off_t kDay = 86'400;
    if (retry_after > 0) status.retry_after = seconds{std::min(retry_after, kDay)};
    if (status.ok() && !IsJson(transfer->body)) {
      status = NoAnswer(Named(transfer->call, connector_.server()) + ": the answer is not a JSON document");
    }
  }
  curl_multi_remove_handle(multi_, easy);
  curl_easy_reset(easy);
  idle_.push_back(easy);

  Call& call = transfer->call;
  if (status.code == 401 && !call.token_renewed &&
      connector_.NewToken(transfer->exchange, loop_.now().mono)) {
    call.token_renewed = true;
    call.tries--;
    queue_.push_front(std::move(call));
  } else if (auto delay = RetryDelay(options_.retry, call.verb, status, call.tries, call.http.target)) {
    SendAgain(std::move(call), *delay);
  } else {
    answer_(call.id, Response{std::move(status), std::move(transfer->body)});
  }
  StartQueued();
}

void RequestLane::SendAgain(Call call, Duration delay) {
  // Timers take copyable tasks only.
  auto kept = std::make_shared<Call>(std::move(call));
  loop_.After(delay, [this, kept] {
    queue_.push_front(std::move(*kept));
    StartQueued();
  });
}

}  // namespace lockstep::kube
