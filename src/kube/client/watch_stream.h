#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api/api.h"

namespace lockstep::kube {

// One event of a watch.
struct WatchFrame {
  WatchEventType type;
  std::string object;  // JSON, exactly the server's bytes
};

// Cuts the body of a watch into events, whatever the sizes of the pieces it comes in. Each line is one JSON
// object {"type": "ADDED", "object": {...}}. The server is not trusted: every frame is validated as a whole,
// up to its last byte, bounded in size and depth. After the end nothing more is taken.
class WatchStream {
 public:
  static constexpr int kMaxDepth = 512;

  explicit WatchStream(size_t max_frame_bytes);
  ~WatchStream();
  WatchStream(WatchStream&&) noexcept;

  // Appends the events completed by `bytes` to `frames`. False when the stream is at its end: an ERROR event
  // (end() is its Status; gone() after a 410), or bytes that are no event (end() is unknown()).
  bool Feed(std::string_view bytes, std::vector<WatchFrame>& frames);

  // The body is complete: ok unless it stopped inside a frame.
  Status Finish();

  const std::optional<Status>& end() const { return end_; }

 private:
  struct Parser;

  void TakeLine(std::string_view line, std::vector<WatchFrame>& frames);
  void TakeEvent(std::string_view type, std::string_view object, std::vector<WatchFrame>& frames);
  void Broken(const std::string& what);

  size_t max_frame_bytes_;
  std::string rest_;  // an incomplete line
  std::optional<Status> end_;
  std::unique_ptr<Parser> parser_;
};

// Whether `text` is one whole JSON value.
bool IsJson(std::string_view text);

}  // namespace lockstep::kube
