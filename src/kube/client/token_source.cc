#include "kube/client/token_source.h"

#include <fstream>
#include <iterator>

#include "base/log.h"

namespace lockstep::kube {
namespace {
constexpr Duration kReadEvery = minutes{1};
constexpr size_t kMaxTokenBytes = 64 << 10;
}  // namespace

const std::string& TokenSource::Get(MonoTime now) {
  if (!file_.empty() && (!read_ || now - read_at_ >= kReadEvery)) Read(now);
  return token_;
}

bool TokenSource::Reload(MonoTime now, const std::string& refused) {
  if (!file_.empty()) Read(now);
  return token_ != refused;
}

void TokenSource::Read(MonoTime now) {
  read_ = true;
  read_at_ = now;
  std::ifstream in(file_, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  bool printable = true;  // a line break inside would smuggle a header
  for (char c : text) printable = printable && c > ' ' && c < 0x7f;
  if (!in || text.empty() || text.size() > kMaxTokenBytes || !printable) {
    LogLine(LogLevel::kWarning, "token file can't be used, the last token stays", {{"file", file_}});
    return;
  }
  token_ = std::move(text);
}

}  // namespace lockstep::kube
