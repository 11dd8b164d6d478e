#pragma once

#include <rapidcheck.h>

#include "json/doc.h"

// For tests only: random documents for RapidCheck.
namespace lockstep::json {

// Text that tries parsers: words of YAML and JSON, numbers, quotes, line breaks, UTF-8.
inline rc::Gen<std::string> ArbitraryText() {
  auto piece = rc::gen::element<std::string>(
      "a", "b", "Z", "0", "1", "7", " ", "\n", ":", ": ", " #", "-", "- ", "?", "\"", "'", "{", "}", "[", "]",
      ",", "&", "*", "!", "|", ">", "%", "@", "~", "null", "true", "no", "0x", "1e3", ".", "\\", "\t", "\x7f",
      "\x01", "\xc3\xbc", "\xf0\x9f\x98\x80", "<<", "=", "---", "...");
  auto joined =
      rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](std::vector<std::string> pieces) {
        std::string text;
        for (const std::string& p : pieces) text += p;
        return text;
      });
  return rc::gen::resize(6, joined);
}

struct DocShape {
  bool nulls = true;
  // Object keys that are often chosen, so that random documents look like those that a parser knows.
  std::vector<std::string> keys = {"a", "b", "c"};
  std::vector<Doc> values = {};  // leaves that are often chosen
};

inline rc::Gen<Doc> ArbitraryLeaf(const DocShape& shape) {
  auto text = rc::gen::map(ArbitraryText(), [](std::string t) { return Doc(std::move(t)); });
  auto number = rc::gen::map(rc::gen::arbitrary<int64_t>(), [](int64_t n) { return Doc(n); });
  auto real = rc::gen::map(rc::gen::inRange(-100000, 100000), [](int n) { return Doc(n / 8.0); });
  auto flag = rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return Doc(b); });
  auto null = shape.nulls ? rc::gen::just(Doc()) : rc::gen::just(Doc(0));
  auto known = shape.values.empty() ? text : rc::gen::elementOf(shape.values);
  return rc::gen::weightedOneOf<Doc>({{3, text}, {3, number}, {1, real}, {1, flag}, {1, null}, {6, known}});
}

inline rc::Gen<Doc> ArbitraryDoc(const DocShape& shape = {}, int depth = 4) {
  if (depth == 0) return ArbitraryLeaf(shape);
  auto deeper = rc::gen::resize(4, ArbitraryDoc(shape, depth - 1));
  auto key = rc::gen::weightedOneOf<std::string>({{9, rc::gen::elementOf(shape.keys)}, {1, ArbitraryText()}});
  auto object = rc::gen::map(rc::gen::container<std::map<std::string, Doc>>(key, deeper),
                             [](const std::map<std::string, Doc>& fields) {
                               Doc doc = Doc::object();
                               for (const auto& [name, value] : fields) doc[name] = value;
                               return doc;
                             });
  auto array =
      rc::gen::map(rc::gen::container<std::vector<Doc>>(deeper), [](const std::vector<Doc>& elements) {
        Doc doc = Doc::array();
        for (const Doc& element : elements) doc.push_back(element);
        return doc;
      });
  return rc::gen::weightedOneOf<Doc>(
      {{2, ArbitraryLeaf(shape)}, {5, rc::gen::resize(5, object)}, {2, rc::gen::resize(3, array)}});
}

}  // namespace lockstep::json
