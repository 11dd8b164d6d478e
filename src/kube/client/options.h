#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/time.h"
#include "kube/api/api.h"

namespace lockstep::kube {

// When a request is sent again without asking the caller. Reads: after any transient failure. Writes: only
// after the server's own word that it did nothing and when to come back (429 or 503 with Retry-After).
struct RetryPolicy {
  int max_retries = 4;                // of a read
  int max_write_retries = 2;          // 0 where the caller must decide again before each send
  Duration base = milliseconds{250};  // doubled with every try, jittered down to half
  Duration max_delay = seconds{10};   // of back-off and of Retry-After
};

struct HttpApiOptions {
  int connections = 32;          // requests at the same time; watches have their own
  size_t max_waiting = 100'000;  // requests without an answer; more are answered 429 at once
  Duration connect_timeout = seconds{10};
  Duration request_timeout = seconds{30};  // the whole exchange, each try
  size_t max_body_bytes = size_t{512} << 20;
  RetryPolicy retry;

  // A watch asks the server to end it after a time between these two, so that not all end together.
  Duration min_watch_timeout = minutes{5};
  Duration max_watch_timeout = minutes{10};
  // No byte for this long: the server hangs, or something between keeps a dead connection open; the watch
  // ends unknown and may go on from the same version. Bookmarks come every minute, but one that would bring
  // no newer version is left out: on a quiet kube-apiserver 1.34 the first came after two. A peer that is
  // gone is found by TCP within a minute.
  Duration watch_idle_limit = seconds{150};
  size_t max_frame_bytes = size_t{16} << 20;
  // Events parsed but not yet taken by the loop; beyond this the watch stops reading until half are taken.
  size_t max_undelivered_bytes = size_t{64} << 20;

  std::string user_agent = "lockstep/0.1.0";
  std::string field_manager = "lockstep";

  // Told of every answer, on the loop, before `done` is called; for metrics. May be empty.
  std::function<void(Verb, const Resource&, const Status&, Duration took)> on_answer;
};

}  // namespace lockstep::kube
