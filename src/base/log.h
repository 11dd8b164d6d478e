#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace lockstep {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

// Sets where the program's one log goes (standard error) and how it reads. Called once, before any thread.
void SetLog(LogLevel lowest, LogFormat format);

// One named value of a log line.
struct LogField {
  LogField(std::string_view n, std::string_view v) : name(n), value(std::string(v)) {}
  LogField(std::string_view n, const char* v) : name(n), value(std::string(v)) {}
  LogField(std::string_view n, int64_t v) : name(n), value(v) {}
  LogField(std::string_view n, int v) : name(n), value(int64_t{v}) {}
  LogField(std::string_view n, size_t v) : name(n), value(static_cast<int64_t>(v)) {}
  std::string_view name;
  std::variant<std::string, int64_t> value;
};

// LogLine(LogLevel::kInfo, "gang placed", {{"gang", name}, {"attempt", 2}}). Thread-safe.
// Text: `12:00:00.000 I gang placed gang=default/a attempt=2`; JSON: one object a line with time, level, msg.
void LogLine(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

}  // namespace lockstep
