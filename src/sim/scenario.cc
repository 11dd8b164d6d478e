#include "sim/scenario.h"

#include <fstream>

#include "sim/statements.h"

namespace lockstep::sim {

namespace {

constexpr size_t kMaxBytes = 1 << 20;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// Takes `at 3s`, `at +3s` or `by 245s` from the front.
Outcome TakeTime(Words& words, Duration& last_at, Statement& statement) {
  if (words.Peek() != "at" && words.Peek() != "by") return {};
  std::string when = words.Take();
  statement.when = when == "at" ? Statement::When::kAt : Statement::When::kBy;
  std::string text = words.Take();
  bool relative = !text.empty() && text.front() == '+';
  Result<Duration> time = ParseDuration(std::string_view(text).substr(relative ? 1 : 0));
  if (!time.ok()) return Error{when + ": " + time.error().message};
  statement.time = relative ? last_at + *time : *time;
  if (statement.when == Statement::When::kBy) return {};
  if (statement.time < last_at) {
    return Error{"at " + text + ": is before " + FormatDuration(last_at) + " of an earlier line"};
  }
  last_at = statement.time;
  return {};
}

Result<Statement> ParseStatement(Words words, Duration& last_at,
                                 std::map<std::string, int64_t>& nodes_so_far) {
  Statement statement;
  if (Outcome error = TakeTime(words, last_at, statement)) return *error;
  statement.may_fail = words.TakeIf("try");
  std::string verb = words.Take();
  if (verb.empty()) return Error{"a statement is missing"};
  Result<Deed> deed = ParseDeed(verb, words, nodes_so_far);
  if (!deed.ok()) return deed.error();
  if (!words.empty()) return Error{verb + ": does not know \"" + words.Peek() + "\""};
  if (words.has_options())
    return Error{verb + ": does not know the option " + words.options().begin()->first + "="};
  if (statement.when == Statement::When::kBy && !std::holds_alternative<Expect>(*deed)) {
    return Error{"by: only an expectation can hold by a time; say at"};
  }
  if (statement.may_fail && std::holds_alternative<Expect>(*deed))
    return Error{"try: what is expected must hold"};
  statement.deed = *std::move(deed);
  return statement;
}

// The line without its time and comment.
std::string TextOf(std::string_view line) {
  std::string_view text = Trim(line);
  if (text.substr(0, 3) == "at " || text.substr(0, 3) == "by ") {
    text = Trim(text.substr(3));
    size_t blank = text.find_first_of(" \t");
    text = blank == std::string_view::npos ? "" : Trim(text.substr(blank));
  }
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (!quoted && text[i] == '#' && (i == 0 || text[i - 1] == ' '))
      return std::string(Trim(text.substr(0, i)));
  }
  return std::string(text);
}

}  // namespace

Duration Scenario::length() const {
  Duration length{};
  for (const Statement& statement : statements) length = std::max(length, statement.time);
  return length;
}

Result<Scenario> ParseScenario(std::string_view text, const std::string& path) {
  Scenario scenario;
  scenario.path = path;
  size_t slash = path.rfind('/');
  std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  scenario.name = file.substr(0, file.rfind('.'));
  Duration last_at{};
  std::map<std::string, int64_t> nodes_so_far;
  int number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    auto fail = [&](const Error& error) {
      return Error{file + ":" + std::to_string(number) + ": " + error.message};
    };
    std::string_view trimmed = Trim(line);
    if (!trimmed.empty() && trimmed.front() == '#') {
      if (scenario.statements.empty()) {
        scenario.story += (scenario.story.empty() ? "" : " ") + std::string(Trim(trimmed.substr(1)));
      }
      continue;
    }
    Result<Words> words = Words::Split(line);
    if (!words.ok()) return fail(words.error());
    if (words->empty()) {
      if (words->has_options()) return fail(Error{"a statement is missing"});
      continue;
    }
    if (words->TakeIf("virtual-only")) {
      std::string reason;
      for (const std::string& word : words->TakeRest()) reason += (reason.empty() ? "" : " ") + word;
      if (reason.empty()) return fail(Error{"virtual-only: must say why"});
      scenario.virtual_only = reason;
      continue;
    }
    Result<Statement> statement = ParseStatement(*std::move(words), last_at, nodes_so_far);
    if (!statement.ok()) return fail(statement.error());
    statement->line = number;
    statement->text = TextOf(line);
    scenario.statements.push_back(*std::move(statement));
  }
  if (scenario.story.empty()) return Error{file + ":1: must begin with a comment that tells the story"};
  return scenario;
}

Result<Scenario> LoadScenario(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{path + ": can't be read"};
  std::string text(kMaxBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxBytes) return Error{path + ": is larger than 1 MiB"};
  return ParseScenario(text, path);
}

}  // namespace lockstep::sim
