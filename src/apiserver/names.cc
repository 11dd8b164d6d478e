#include "apiserver/names.h"

namespace lockstep::apiserver {

namespace {

constexpr std::string_view kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    R"('[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))";
constexpr std::string_view kDns1035Rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kQualifiedRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool Lower(char c) { return c >= 'a' && c <= 'z'; }
bool Digit(char c) { return c >= '0' && c <= '9'; }
bool LowerAlnum(char c) { return Lower(c) || Digit(c); }
bool Alnum(char c) { return LowerAlnum(c) || (c >= 'A' && c <= 'Z'); }

bool IsLabel(std::string_view text) {
  if (text.empty() || !LowerAlnum(text.front()) || !LowerAlnum(text.back())) return false;
  for (char c : text) {
    if (!LowerAlnum(c) && c != '-') return false;
  }
  return true;
}

bool IsSubdomain(std::string_view text) {
  while (true) {
    size_t dot = text.find('.');
    if (!IsLabel(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool IsQualifiedPart(std::string_view text) {
  if (text.empty() || !Alnum(text.front()) || !Alnum(text.back())) return false;
  for (char c : text) {
    if (!Alnum(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

void Longest(std::string_view text, size_t limit, std::string_view prefix, Faults& faults) {
  if (text.size() > limit) {
    faults.push_back(std::string(prefix) + "must be no more than " + std::to_string(limit) + " bytes");
  }
}

}  // namespace

Faults CheckDns1123Label(std::string_view name) {
  Faults faults;
  Longest(name, 63, "", faults);
  if (!IsLabel(name)) faults.emplace_back(kLabelRule);
  return faults;
}

Faults CheckDns1123Subdomain(std::string_view name) {
  Faults faults;
  Longest(name, 253, "", faults);
  if (!IsSubdomain(name)) faults.emplace_back(kSubdomainRule);
  return faults;
}

Faults CheckDns1035Label(std::string_view name) {
  Faults faults;
  Longest(name, 63, "", faults);
  if (!IsLabel(name) || !Lower(name.front())) faults.emplace_back(kDns1035Rule);
  return faults;
}

Faults CheckQualifiedName(std::string_view name) {
  Faults faults;
  std::string_view part = name;
  if (size_t slash = name.find('/'); slash != std::string_view::npos) {
    std::string_view prefix = name.substr(0, slash);
    part = name.substr(slash + 1);
    if (part.find('/') != std::string_view::npos) {
      return {"a qualified name " + std::string(kQualifiedRule) +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    if (prefix.empty()) {
      faults.emplace_back("prefix part must be non-empty");
    } else {
      for (std::string& fault : CheckDns1123Subdomain(prefix)) faults.push_back("prefix part " + fault);
    }
  }
  if (part.empty()) faults.emplace_back("name part must be non-empty");
  Longest(part, 63, "name part ", faults);
  if (!IsQualifiedPart(part)) faults.push_back("name part " + std::string(kQualifiedRule));
  return faults;
}

Faults CheckLabelValue(std::string_view value) {
  Faults faults;
  Longest(value, 63, "", faults);
  if (!value.empty() && !IsQualifiedPart(value)) faults.emplace_back(kLabelValueRule);
  return faults;
}

}  // namespace lockstep::apiserver
