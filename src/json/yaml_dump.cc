#include <algorithm>
#include <sstream>

#include "json/yaml.h"
#include "json/yaml_scalar.h"

namespace lockstep::json {
namespace {

// Longer ones can't be told from a value when a parser reads ahead; they are written as "? key".
constexpr size_t kMaxSimpleKey = 1000;

bool IsPrintable(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; });
}

// Whether `text` without quotes reads back as the same string.
bool IsPlain(std::string_view text) {
  if (text.empty() || !ResolvePlainScalar(text).is_string() || !IsPrintable(text)) return false;
  constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@`=<~ ";
  if (kIndicators.find(text.front()) != text.npos || text.back() == ' ' || text.back() == ':') return false;
  if (text.starts_with("...")) return false;
  return text.find(": ") == text.npos && text.find(" #") == text.npos;
}

// Whether `text` can stand as a literal block, the form in which people read scripts.
bool IsBlock(std::string_view text) {
  size_t newline = text.find('\n');
  if (newline == text.npos || newline == 0 || text.front() == ' ' || text.front() == '\t') return false;
  if (text.ends_with("\n\n")) return false;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    bool blank = line.find_first_not_of(" \t") == line.npos;
    if (!IsPrintable(line) || (blank && !line.empty())) return false;
  }
  return true;
}

class Dumper {
 public:
  std::string Take() { return std::move(out_); }

  // Writes `doc` where the cursor is, for example behind "- "; further lines are indented by `indent`.
  void Write(const Doc& doc, size_t indent) {
    if (doc.is_object() && !doc.empty()) {
      WriteMap(doc, indent);
    } else if (doc.is_array() && !doc.empty()) {
      WriteList(doc, indent);
    } else if (doc.is_string()) {
      WriteText(doc.get_ref<const std::string&>(), indent);
    } else {
      out_ += Dump(doc) + "\n";
    }
  }

 private:
  void NewLine(bool& first, size_t indent) {
    if (!first) out_.append(indent, ' ');
    first = false;
  }

  void WriteMap(const Doc& map, size_t indent) {
    bool first = true;
    for (const auto& [key, value] : map.items()) {
      NewLine(first, indent);
      std::string name = IsPlain(key) && key.find('\n') == key.npos ? key : Dump(Doc(key));
      if (name.size() > kMaxSimpleKey) {
        out_.append("? ").append(name).append("\n").append(indent, ' ');
        name.clear();
      }
      out_ += name + ":";
      bool empty = value.empty();
      if (value.is_array() && !empty) {
        out_.append("\n").append(indent, ' ');
        Write(value, indent);
      } else if (value.is_object() && !empty) {
        out_.append("\n").append(indent + 2, ' ');
        Write(value, indent + 2);
      } else {
        out_ += ' ';
        Write(value, indent + 2);
      }
    }
  }

  void WriteList(const Doc& list, size_t indent) {
    bool first = true;
    for (const Doc& element : list) {
      NewLine(first, indent);
      out_ += "- ";
      Write(element, indent + 2);
    }
  }

  void WriteText(const std::string& text, size_t indent) {
    if (IsPlain(text)) {
      out_ += text + "\n";
    } else if (indent > 0 && IsBlock(text)) {
      out_ += text.ends_with('\n') ? "|\n" : "|-\n";
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        if (!line.empty()) out_.append(indent, ' ');
        out_ += line + "\n";
      }
    } else {
      out_ += Dump(Doc(text)) + "\n";
    }
  }

  std::string out_;
};

}  // namespace

std::string DumpYaml(const Doc& doc) {
  Dumper dumper;
  dumper.Write(doc, 0);
  return dumper.Take();
}

}  // namespace lockstep::json
