#pragma once

#include <optional>
#include <string_view>

#include "kube/client/options.h"

namespace lockstep::kube {

// How long to wait before the same request is sent again, or nothing: the answer goes to the caller.
// `tries` counts the sends so far, from 1; `who` seeds the jitter.
std::optional<Duration> RetryDelay(const RetryPolicy& policy, Verb verb, const Status& status, int tries,
                                   std::string_view who);

}  // namespace lockstep::kube
