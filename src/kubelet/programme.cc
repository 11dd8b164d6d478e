#include "kubelet/programme.h"

#include <algorithm>
#include <charconv>

namespace lockstep::kubelet {

namespace {

constexpr std::string_view kPrefix = "hollow.lockstep.dev/";
constexpr int64_t kLargestRendezvous = 1'000'000;
constexpr size_t kMostExitCodes = 1000;

const std::string* Annotation(const kube::Labels& annotations, std::string_view name) {
  auto found = annotations.find(std::string(kPrefix) + std::string(name));
  return found == annotations.end() ? nullptr : &found->second;
}

Error Wrong(std::string_view name, const std::string& why) {
  return Error{"annotation " + std::string(kPrefix) + std::string(name) + ": " + why};
}

Result<int64_t> ParseNumber(std::string_view text, int64_t lowest, int64_t highest) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < lowest || number > highest) {
    return Error{"must be a number from " + std::to_string(lowest) + " to " + std::to_string(highest) +
                 ", is \"" + std::string(text.substr(0, 40)) + "\""};
  }
  return number;
}

Result<std::vector<int>> ParseExitCodes(std::string_view text) {
  std::vector<int> codes;
  while (true) {
    size_t comma = text.find(',');
    Result<int64_t> code = ParseNumber(text.substr(0, comma), 0, 255);
    if (!code.ok()) return code.error();
    codes.push_back(static_cast<int>(*code));
    if (comma == std::string_view::npos) return codes;
    if (codes.size() == kMostExitCodes) return Error{"more than 1000 codes"};
    text.remove_prefix(comma + 1);
  }
}

Result<Programme::Rendezvous> ParseRendezvous(const std::string& text) {
  size_t slash = text.rfind('/');
  if (slash == std::string::npos || slash == 0) return Error{"must be <group>/<pods>"};
  Result<int64_t> size = ParseNumber(std::string_view(text).substr(slash + 1), 1, kLargestRendezvous);
  if (!size.ok()) return size.error();
  return Programme::Rendezvous{text.substr(0, slash), *size};
}

Result<bool> ParseTruth(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return Error{"must be \"true\" or \"false\", is \"" + text.substr(0, 40) + "\""};
}

// Reads one annotation, if it is there, into `into`; an error is kept in `error`.
template <class T, class Parse>
void Take(const kube::Labels& annotations, std::string_view name, T& into, Outcome& error, Parse parse) {
  const std::string* text = Annotation(annotations, name);
  if (text == nullptr || error.has_value()) return;
  auto parsed = parse(*text);
  if (parsed.ok()) {
    into = *std::move(parsed);
  } else {
    error = Wrong(name, parsed.error().message);
  }
}

}  // namespace

int Programme::ExitCode(int64_t restarts) const {
  size_t last = exit_codes.size() - 1;
  return exit_codes[std::min(static_cast<size_t>(restarts), last)];
}

Result<std::optional<Duration>> ParseRunTime(std::string_view text) {
  if (text == "forever") return std::optional<Duration>();
  Result<Duration> duration = ParseDuration(text);
  if (!duration.ok()) return duration.error();
  return std::optional<Duration>(*duration);
}

Result<Programme> ParseProgramme(const kube::Labels& annotations, const Programme& defaults) {
  Programme programme = defaults;
  Outcome error;
  auto exit_code = [](std::string_view text) -> Result<int> {
    Result<int64_t> code = ParseNumber(text, 0, 255);
    if (!code.ok()) return code.error();
    return static_cast<int>(*code);
  };
  auto text = [](const std::string& value) -> Result<std::string> {
    if (value.empty()) return Error{"must not be empty"};
    return value.substr(0, 1000);
  };
  Take(annotations, "run-time", programme.run_time, error, ParseRunTime);
  Take(annotations, "exit-code", programme.exit_codes, error, ParseExitCodes);
  Take(annotations, "rendezvous", programme.rendezvous, error, ParseRendezvous);
  Take(annotations, "start-delay", programme.start_delay, error, ParseDuration);
  Take(annotations, "start-error", programme.start_error, error, text);
  Take(annotations, "ignore-term", programme.ignore_term, error, ParseTruth);
  Take(annotations, "term-exit-code", programme.term_exit_code, error, exit_code);
  Take(annotations, "hang-terminating", programme.hang_terminating, error, ParseTruth);
  if (error.has_value()) return *error;
  return programme;
}

}  // namespace lockstep::kubelet
