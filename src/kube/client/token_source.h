#pragma once

#include <string>

#include "base/time.h"

namespace lockstep::kube {

// The bearer token of requests. Projected service account tokens live about an hour and the kubelet replaces
// the file before that, so a file is read again every minute, and at once after a 401.
class TokenSource {
 public:
  TokenSource(std::string token, std::string file) : token_(std::move(token)), file_(std::move(file)) {}

  // The token to send now; empty: send none. A file that can't be read leaves the last token in use.
  const std::string& Get(MonoTime now);
  // After a 401. True if there is another token than the refused one, so that asking again makes sense.
  bool Reload(MonoTime now, const std::string& refused);

 private:
  void Read(MonoTime now);

  std::string token_;
  std::string file_;
  bool read_ = false;
  MonoTime read_at_{};
};

}  // namespace lockstep::kube
