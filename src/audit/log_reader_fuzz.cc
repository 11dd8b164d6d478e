#include <sstream>

#include "audit/report.h"
#include "base/check.h"

namespace lockstep::audit {
namespace {

// Any bytes are a log: what is no audit event is skipped and counted, and whatever is left can be judged.
void ReadAndJudge(const uint8_t* data, size_t size) {
  std::istringstream log(std::string(reinterpret_cast<const char*>(data), size));
  Record record;
  ReadCounts read = ReadLog(log, record, /*max_line=*/1 << 16);
  Report report = Judge(record, {});
  CHECK(read.skipped == 0 || !read.first_error.empty()) << "a skipped line has no reason";
  for (const GangReport& gang : report.gangs) {
    CHECK(gang.whole == (gang.pods >= gang.size)) << "whole, with pods missing";
    CHECK(gang.first_assigned <= gang.last_assigned) << "last before first";
    CHECK(gang.gpu_seconds_waiting >= 0) << "a negative time";
  }
  ReportText(report, read, /*gangs=*/true);
  ReportDoc(report, read);
}

}  // namespace
}  // namespace lockstep::audit

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::audit::ReadAndJudge(data, size);
  return 0;
}
