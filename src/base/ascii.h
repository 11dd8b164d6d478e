#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// 'A' to 'Z' in lower case, every other byte as it is, whatever the locale. Kinds and types of replicas stand
// so in names and labels.
inline char AsciiLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string AsciiLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = AsciiLower(c);
  return lower;
}

}  // namespace lockstep
