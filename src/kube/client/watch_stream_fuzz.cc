// The same bytes in two ways of cutting must give the same events, and every object must be whole JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "kube/client/watch_stream.h"

namespace {

using lockstep::kube::WatchFrame;
using lockstep::kube::WatchStream;

lockstep::kube::Status Run(std::string_view bytes, size_t piece, std::vector<WatchFrame>& frames) {
  WatchStream stream(4096);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    if (!stream.Feed(bytes.substr(at, piece), frames)) break;
  }
  return stream.Finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<WatchFrame> whole, pieces;
  lockstep::kube::Status end = Run(bytes, size + 1, whole);
  size_t piece = size == 0 ? 1 : 1 + data[0] % 7;
  if (Run(bytes, piece, pieces).code != end.code || whole.size() != pieces.size()) abort();
  for (size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].object != pieces[i].object || whole[i].type != pieces[i].type) abort();
    if (!lockstep::kube::IsJson(whole[i].object)) abort();
  }
  return 0;
}
