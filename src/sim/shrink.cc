#include "sim/shrink.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

namespace lockstep::sim {

namespace {

using Lines = std::vector<std::string>;

Lines Split(const std::string& text) {
  Lines lines;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string Join(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool Has(const std::string& line, const std::string& word) { return line.find(word) != std::string::npos; }

// The name of the job that the line submits, or "".
std::string Submits(const std::string& line) {
  for (const char* verb : {"submit pytorchjob ", "submit tfjob "}) {
    size_t at = line.find(verb);
    if (at == std::string::npos) continue;
    size_t begin = at + std::string(verb).size();
    return line.substr(begin, std::min(line.find(' ', begin), line.size()) - begin);
  }
  return "";
}

// Whether the line speaks of the job: its name, or that of one of its pods.
bool SpeaksOf(const std::string& line, const std::string& job) {
  auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (size_t at = line.find(job); at != std::string::npos; at = line.find(job, at + 1)) {
    size_t end = at + job.size();
    bool begins = at == 0 || !inside(line[at - 1]);
    if (begins && (end == line.size() || !inside(line[end]))) return true;
  }
  return false;
}

// What must stay for the text to be a scenario at all, or would make it fail of another thing if it were left
// out.
bool Stays(const std::string& line) {
  return line.empty() || line.front() == '#' || Has(line, "virtual-only") || Has(line, " expect ") ||
         !Submits(line).empty();
}

class Shrinker {
 public:
  Shrinker(std::string text, const std::function<std::optional<std::string>(const std::string&)>& fails,
           int plays)
      : lines_(Split(text)), fails_(fails), plays_(plays), kind_(fails(text)) {}

  std::string Run() {
    if (!kind_) return Join(lines_);
    for (size_t before = SIZE_MAX; lines_.size() < before && plays_ > 0;) {
      before = lines_.size();
      LeaveOutJobs();
      for (size_t chunk = std::max<size_t>(lines_.size() / 2, 1); chunk > 0; chunk /= 2)
        LeaveOutChunks(chunk);
    }
    SmallerNumbers();
    return Join(lines_);
  }

 private:
  bool Try(Lines lines) {
    if (lines == lines_ || plays_-- <= 0) return false;
    if (fails_(Join(lines)) != kind_) return false;
    lines_ = std::move(lines);
    return true;
  }

  void LeaveOutJobs() {
    std::set<std::string> jobs;
    for (const std::string& line : lines_) jobs.insert(Submits(line));
    jobs.erase("");
    for (const std::string& job : jobs) {
      Lines rest = lines_;
      std::erase_if(rest, [&](const std::string& line) { return SpeaksOf(line, job); });
      Try(std::move(rest));
    }
  }

  void LeaveOutChunks(size_t chunk) {
    for (size_t begin = 0; begin < lines_.size(); begin += chunk) {
      Lines rest;
      for (size_t i = 0; i < lines_.size(); ++i) {
        bool inside = i >= begin && i < begin + chunk;
        if (!inside || Stays(lines_[i])) rest.push_back(lines_[i]);
      }
      if (Try(std::move(rest))) begin -= std::min(begin, chunk);
    }
  }

  // workers=7, count=5, after=9, ...: as small as they may be.
  void SmallerNumbers() {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (Has(lines_[i], " expect ")) continue;
      for (size_t at = lines_[i].find('='); at != std::string::npos; at = lines_[i].find('=', at + 1)) {
        size_t end = at + 1;
        while (end < lines_[i].size() && std::isdigit(static_cast<unsigned char>(lines_[i][end])) != 0) ++end;
        bool whole = end == lines_[i].size() || lines_[i][end] == ' ';
        if (end == at + 1 || !whole) continue;
        for (const char* smaller : {"0", "1", "2"}) {
          if (std::stoll(lines_[i].substr(at + 1, end - at - 1)) <= std::stoll(smaller)) break;
          Lines next = lines_;
          next[i].replace(at + 1, end - at - 1, smaller);
          if (Try(std::move(next))) break;
        }
      }
    }
  }

  Lines lines_;
  const std::function<std::optional<std::string>(const std::string&)>& fails_;
  int plays_;
  const std::optional<std::string> kind_;
};

}  // namespace

std::string Shrink(std::string text,
                   const std::function<std::optional<std::string>(const std::string&)>& fails, int plays) {
  return Shrinker(std::move(text), fails, plays).Run();
}

}  // namespace lockstep::sim
