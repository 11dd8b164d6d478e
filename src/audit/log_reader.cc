#include "audit/log_reader.h"

namespace lockstep::audit {

namespace {

enum class Line { kRead, kTooLong, kEnd };

Line ReadLine(std::istream& in, std::string& line, size_t max_line) {
  line.clear();
  std::streambuf* bytes = in.rdbuf();
  size_t length = 0;
  for (int c = bytes->sbumpc(); c != std::char_traits<char>::eof(); c = bytes->sbumpc()) {
    if (c == '\n') return length > max_line ? Line::kTooLong : Line::kRead;
    if (++length <= max_line) line.push_back(static_cast<char>(c));
  }
  if (length == 0) return Line::kEnd;
  return length > max_line ? Line::kTooLong : Line::kRead;
}

}  // namespace

ReadCounts ReadLog(std::istream& log, Record& record, size_t max_line) {
  ReadCounts counts;
  std::string line;
  int64_t number = 0;
  auto skip = [&](const std::string& why) {
    if (counts.skipped++ == 0) counts.first_error = "line " + std::to_string(number) + ": " + why;
  };
  for (;;) {
    Line read = ReadLine(log, line, max_line);
    if (read == Line::kEnd) return counts;
    ++number;
    if (read == Line::kTooLong) {
      skip("longer than " + std::to_string(max_line) + " bytes");
      continue;
    }
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Result<std::optional<Entry>> entry = ParseEntry(line);
    if (!entry.ok()) {
      skip(entry.error().message);
      continue;
    }
    ++counts.events;
    if (*entry) record.Take(**entry);
  }
}

}  // namespace lockstep::audit
