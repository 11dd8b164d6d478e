#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/time.h"

namespace lockstep {
namespace {

constexpr size_t kMaxValue = 4096;  // a hostile object must not fill the disk through one line

struct Log {
  std::shared_ptr<spdlog::logger> logger;
  LogFormat format = LogFormat::kText;
};

Log& TheLog() {
  static Log log = [] {
    auto logger =
        std::make_shared<spdlog::logger>("lockstep", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("%v");  // lines are made here: fields and JSON are not spdlog's
    return Log{std::move(logger)};
  }();
  return log;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// Bytes of the UTF-8 character at the front of `text`; 0 if it is not valid UTF-8.
size_t CharacterSize(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) return 1;
  size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  bool surrogate = first == 0xED && byte(1) > 0x9F;
  bool too_large = first == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : size;
}

// `text` with JSON's escapes, so that it stays on one line and is valid UTF-8 whatever it held.
void AppendEscaped(std::string& line, std::string_view text) {
  bool cut = text.size() > kMaxValue;
  text = text.substr(0, kMaxValue);
  while (!text.empty()) {
    char c = text.front();
    size_t size = CharacterSize(text);
    if (size == 0) {
      line += "\xEF\xBF\xBD";  // U+FFFD
      size = 1;
    } else if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      constexpr char kHex[] = "0123456789abcdef";
      line += "\\u00";
      line += kHex[(c >> 4) & 0xF];
      line += kHex[c & 0xF];
    } else {
      line += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  if (cut) line += "...";
}

void AppendQuoted(std::string& line, std::string_view text) {
  line += '"';
  AppendEscaped(line, text);
  line += '"';
}

bool NeedsQuotes(std::string_view text) {
  if (text.empty()) return true;
  return std::ranges::any_of(text, [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F || c == '"' || c == '=' || c == '\\';
  });
}

std::string JsonLine(std::string_view time, LogLevel level, std::string_view message,
                     std::initializer_list<LogField> fields) {
  static constexpr std::string_view kLevels[] = {"debug", "info", "warning", "error"};
  std::string line = "{\"time\":\"" + std::string(time) + "\",\"level\":\"";
  line.append(kLevels[static_cast<size_t>(level)]).append("\",\"msg\":");
  AppendQuoted(line, message);
  for (const LogField& field : fields) {
    line += ',';
    AppendQuoted(line, field.name);
    line += ':';
    if (const auto* number = std::get_if<int64_t>(&field.value)) {
      line += std::to_string(*number);
    } else {
      AppendQuoted(line, std::get<std::string>(field.value));
    }
  }
  return line + "}";
}

std::string TextLine(std::string_view time, LogLevel level, std::string_view message,
                     std::initializer_list<LogField> fields) {
  std::string line(time.substr(11, 12));  // 12:00:00.000 of 2026-03-01T12:00:00.000000Z
  line += ' ';
  line += "DIWE"[static_cast<size_t>(level)];
  line += ' ';
  AppendEscaped(line, message);
  for (const LogField& field : fields) {
    line += ' ';
    AppendEscaped(line, field.name);
    line += '=';
    if (const auto* number = std::get_if<int64_t>(&field.value)) {
      line += std::to_string(*number);
    } else if (const auto& text = std::get<std::string>(field.value); NeedsQuotes(text)) {
      AppendQuoted(line, text);
    } else {
      AppendEscaped(line, text);
    }
  }
  return line;
}

}  // namespace

void SetLog(LogLevel lowest, LogFormat format) {
  TheLog().logger->set_level(ToSpdlog(lowest));
  TheLog().format = format;
}

void LogLine(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  const Log& log = TheLog();
  spdlog::level::level_enum spdlog_level = ToSpdlog(level);
  if (!log.logger->should_log(spdlog_level)) return;
  WallTime now{std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch())};
  std::string time = FormatMicroTime(now);
  log.logger->log(spdlog_level, log.format == LogFormat::kJson ? JsonLine(time, level, message, fields)
                                                               : TextLine(time, level, message, fields));
}

}  // namespace lockstep
