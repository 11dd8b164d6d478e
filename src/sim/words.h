#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace lockstep::sim {

// One line of a scenario, cut into words: `expect queued b because "no seats"`. A word with an equals sign is
// an option, wherever it stands; double quotes keep blanks together and make any word a plain one; a `#` at
// the start of a word begins a comment.
class Words {
 public:
  // An unfinished quote is an error.
  static Result<Words> Split(std::string_view line);

  bool empty() const { return next_ >= plain_.size(); }
  // The next plain word, "" at the end.
  std::string Peek() const { return empty() ? "" : plain_[next_]; }
  std::string Take() { return empty() ? "" : plain_[next_++]; }
  // Takes the next word if it is `word`.
  bool TakeIf(std::string_view word);
  std::vector<std::string> TakeRest();

  // Takes an option by its key.
  std::optional<std::string> TakeOption(const std::string& key);
  // What is left: keys in the order of the alphabet.
  const std::multimap<std::string, std::string>& options() const { return options_; }
  bool has_options() const { return !options_.empty(); }

 private:
  std::vector<std::string> plain_;
  size_t next_ = 0;
  std::multimap<std::string, std::string> options_;
};

// "a,b,job-{1..3}" is a, b, job-1, job-2, job-3. Errors say what is wrong with the list.
Result<std::vector<std::string>> ParseNames(std::string_view text);

Result<int64_t> ParseCount(std::string_view text, int64_t lowest, int64_t highest);

}  // namespace lockstep::sim
