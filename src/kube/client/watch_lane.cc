#include "kube/client/watch_lane.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "kube/client/http_call.h"

namespace lockstep::kube {
namespace {

constexpr size_t kMaxErrorBody = 1 << 20;

// Spread over the allowed range, so that watches that began together do not all end together.
Duration WatchTimeout(const HttpApiOptions& options, const WatchRequest& request, uint64_t id) {
  auto range = std::max<int64_t>((options.max_watch_timeout - options.min_watch_timeout).count(), 0);
  auto jitter = StableJitter(request.resource->plural, id, static_cast<uint64_t>(range) + 1);
  return options.min_watch_timeout + Duration{static_cast<int64_t>(jitter)};
}

}  // namespace

struct WatchLane::Transfer {
  Transfer(WatchLane& owner, uint64_t i, const HttpApiOptions& options)
      : lane(owner), id(i), stream(options.max_frame_bytes), idle(owner.loop_) {}

  WatchLane& lane;
  uint64_t id;
  std::string name;  // "watch https://host/api/v1/pods", for messages
  std::string target;
  CURL* easy = nullptr;
  Connector::Exchange exchange;
  WatchStream stream;
  std::string error_body;  // of an answer that is not 200
  std::shared_ptr<WatchFlow> flow = std::make_shared<WatchFlow>();
  bool token_renewed = false;
  bool paused = false;
  MonoTime last_byte{};
  Duration idle_limit{};
  Timer idle;
};

WatchLane::WatchLane(CurlLoop& loop, Connector& connector, const HttpApiOptions& options, Sink sink)
    : loop_(loop),
      connector_(connector),
      options_(options),
      sink_(std::move(sink)),
      multi_(loop.NewMulti(16, [this](CURL* easy, CURLcode code) { OnFinished(easy, code); })) {}

WatchLane::~WatchLane() {
  for (auto& [id, transfer] : transfers_) {
    curl_multi_remove_handle(multi_, transfer->easy);
    curl_easy_cleanup(transfer->easy);
  }
}

void WatchLane::Start(uint64_t id, const WatchRequest& request) {
  auto owned = std::make_unique<Transfer>(*this, id, options_);
  Transfer& transfer = *owned;
  Duration timeout = WatchTimeout(options_, request, id);
  transfer.target = WatchTarget(request, timeout);
  transfer.name = "watch " + connector_.server() + transfer.target.substr(0, transfer.target.find('?'));
  transfer.idle_limit = std::min(options_.watch_idle_limit, timeout + seconds{15});
  transfer.easy = curl_easy_init();
  CHECK(transfer.easy != nullptr) << "curl_easy_init";
  transfers_.emplace(id, std::move(owned));
  Open(transfer);
}

void WatchLane::Open(Transfer& transfer) {
  connector_.Prepare(transfer.easy, transfer.target, "", transfer.exchange, loop_.now().mono);
  curl_easy_setopt(transfer.easy, CURLOPT_HTTPGET, 1L);
  curl_easy_setopt(transfer.easy, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(transfer.easy, CURLOPT_WRITEFUNCTION, &WatchLane::OnBody);
  curl_easy_setopt(transfer.easy, CURLOPT_WRITEDATA, &transfer);
  transfer.last_byte = loop_.now().mono;
  ArmIdleTimer(transfer);
  CURLMcode added = curl_multi_add_handle(multi_, transfer.easy);
  CHECK(added == CURLM_OK) << "curl_multi_add_handle: " << curl_multi_strerror(added);
}

// Fires at the earliest moment at which the limit may be over and looks; so a byte costs no timer.
void WatchLane::ArmIdleTimer(Transfer& transfer) {
  transfer.idle.SetAt(transfer.last_byte + transfer.idle_limit, [this, &transfer] {
    MonoTime now = loop_.now().mono;
    if (transfer.paused) transfer.last_byte = now;  // it is we who do not read
    if (now - transfer.last_byte < transfer.idle_limit) return ArmIdleTimer(transfer);
    End(transfer, NoAnswer(transfer.name + ": silent for " + FormatDuration(transfer.idle_limit)));
  });
}

void WatchLane::Cancel(uint64_t id) {
  if (auto found = transfers_.find(id); found != transfers_.end()) Erase(*found->second);
}

void WatchLane::Erase(Transfer& transfer) {
  curl_multi_remove_handle(multi_, transfer.easy);
  curl_easy_cleanup(transfer.easy);
  transfers_.erase(transfer.id);
}

void WatchLane::End(Transfer& transfer, Status status) {
  uint64_t id = transfer.id;
  Erase(transfer);
  sink_.ended(id, std::move(status));
}

size_t WatchLane::OnBody(char* data, size_t, size_t size, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  return transfer->lane.TakeBody(*transfer, {data, size});
}

size_t WatchLane::TakeBody(Transfer& transfer, std::string_view bytes) {
  if (transfer.flow->undelivered_bytes > options_.max_undelivered_bytes) {
    transfer.paused = true;
    return CURL_WRITEFUNC_PAUSE;  // curl keeps these bytes and brings them again
  }
  transfer.last_byte = loop_.now().mono;
  long http_code = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &http_code);
  if (http_code != 200) {
    if (transfer.error_body.size() + bytes.size() > kMaxErrorBody) return 0;
    transfer.error_body += bytes;
    return bytes.size();
  }
  std::vector<WatchFrame> frames;
  bool goes_on = transfer.stream.Feed(bytes, frames);
  if (!frames.empty()) {
    size_t total = 0;
    for (const WatchFrame& frame : frames) total += frame.object.size();
    transfer.flow->undelivered_bytes += total;
    sink_.frames(transfer.id, transfer.flow, std::move(frames));
  }
  return goes_on ? bytes.size() : 0;  // 0 makes curl end the transfer
}

void WatchLane::Resume(uint64_t id) {
  auto found = transfers_.find(id);
  if (found == transfers_.end() || !found->second->paused) return;
  found->second->paused = false;
  found->second->last_byte = loop_.now().mono;
  curl_easy_pause(found->second->easy, CURLPAUSE_CONT);
}

void WatchLane::OnFinished(CURL* easy, CURLcode code) {
  Transfer* transfer = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
  long http_code = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &http_code);
  if (http_code == 401 && !transfer->token_renewed &&
      connector_.NewToken(transfer->exchange, loop_.now().mono)) {
    transfer->token_renewed = true;
    transfer->error_body.clear();
    curl_multi_remove_handle(multi_, easy);
    curl_easy_reset(easy);
    return Open(*transfer);
  }
  End(*transfer, Judge(*transfer, code, http_code));
}

Status WatchLane::Judge(Transfer& transfer, CURLcode code, long http_code) {
  if (transfer.stream.end()) {  // it ended the transfer itself
    Status status = *transfer.stream.end();
    if (status.unknown()) status.message = transfer.name + ": " + status.message;
    return status;
  }
  if (http_code >= 300 || (http_code > 200 && code == CURLE_OK)) {
    Status status = ParseStatus(static_cast<int>(http_code), transfer.error_body);
    curl_off_t retry_after = 0;
    curl_easy_getinfo(transfer.easy, CURLINFO_RETRY_AFTER, &retry_after);
    constexpr curl_off_t kDay = 86'400;
    if (retry_after > 0) status.retry_after = seconds{std::min(retry_after, kDay)};
    return status.ok() ? NoAnswer(transfer.name + ": answered " + std::to_string(http_code)) : status;
  }
  if (code != CURLE_OK) return NoAnswer(transfer.name + ": " + TransferError(code, transfer.exchange));
  Status status = transfer.stream.Finish();
  if (status.unknown()) status.message = transfer.name + ": " + status.message;
  return status;
}

}  // namespace lockstep::kube
