#include "kube/client/retry.h"

#include <algorithm>

#include "base/hash.h"

namespace lockstep::kube {
namespace {

bool IsRead(Verb verb) { return verb == Verb::kGet || verb == Verb::kList; }

bool WorthReading(const Status& status) {
  return status.unknown() || status.code == 429 || status.code == 500 ||
         (status.code >= 502 && status.code <= 504);
}

}  // namespace

std::optional<Duration> RetryDelay(const RetryPolicy& policy, Verb verb, const Status& status, int tries,
                                   std::string_view who) {
  if (IsRead(verb)) {
    if (tries > policy.max_retries || !WorthReading(status)) return std::nullopt;
  } else {
    // A 503 or 429 without Retry-After may come from a webhook or a proxy after part of the work was done.
    bool refused = (status.code == 429 || status.code == 503) && status.retry_after.has_value();
    if (tries > policy.max_write_retries || !refused) return std::nullopt;
  }
  Duration back_off = policy.base;
  for (int i = 1; i < tries && back_off < policy.max_delay; ++i) back_off *= 2;
  back_off = std::min(back_off, policy.max_delay);
  auto half = static_cast<uint64_t>(back_off.count() / 2);
  Duration jittered{static_cast<int64_t>(half + StableJitter(who, static_cast<uint64_t>(tries), half + 1))};
  if (!status.retry_after) return jittered;
  // Not all at the same second that the server named.
  return std::min(*status.retry_after, policy.max_delay) + jittered / 4;
}

}  // namespace lockstep::kube
