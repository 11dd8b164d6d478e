#include "api/placement_text.h"

#include <algorithm>
#include <charconv>

namespace lockstep::api {

namespace {

constexpr int32_t kMaxIndex = 1'000'000;
constexpr size_t kMaxGroup = 64;  // nodes of one entry: about a line of text

std::optional<int32_t> ParseNumber(std::string_view text) {
  int32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number >= 0 && number < kMaxIndex ? std::optional(number) : std::nullopt;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string RangeText(const RoleRange& range) {
  std::string text = range.role + "/" + std::to_string(range.first);
  return range.first == range.last ? text : text + "-" + std::to_string(range.last);
}

// "Worker/0-6" or "Master/0".
std::optional<RoleRange> ParseRange(std::string_view text) {
  size_t slash = text.find('/');
  if (slash == text.npos || slash == 0) return std::nullopt;
  std::string_view indices = text.substr(slash + 1);
  size_t dash = indices.find('-');
  std::optional<int32_t> first = ParseNumber(indices.substr(0, dash));
  std::optional<int32_t> last = dash == indices.npos ? first : ParseNumber(indices.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return RoleRange{std::string(text.substr(0, slash)), *first, *last};
}

int32_t Pods(const RoleRange& range) { return range.last - range.first + 1; }

// A node's name around the part that differs within a pool: what follows the last '-' of the first label, or
// its digits.
struct NameParts {
  std::string_view prefix, own, suffix;
};

NameParts PartsOf(std::string_view name) {
  size_t end = std::min(name.find('.'), name.size());
  std::string_view label = name.substr(0, end);
  size_t begin = label.rfind('-') + 1;  // 0 if there is none
  if (begin == 0) {
    begin = label.size();
    while (begin > 0 && label[begin - 1] >= '0' && label[begin - 1] <= '9') --begin;
    if (begin == label.size()) begin = 0;
  }
  return {name.substr(0, begin), label.substr(begin), name.substr(end)};
}

bool CanStandInBraces(std::string_view own) {
  return !own.empty() && own.find_first_of("{},*=") == own.npos && own.find("..") == own.npos;
}

// Nodes that one entry tells of: the place of the first, and how many.
struct Group {
  size_t first = 0, count = 1;
  bool alike = true;  // as many pods of each role on each node
};

bool Follows(const NodeSeats& before, const NodeSeats& next) {
  NameParts a = PartsOf(before.node), b = PartsOf(next.node);
  if (a.prefix != b.prefix || a.suffix != b.suffix || !CanStandInBraces(a.own) || !CanStandInBraces(b.own))
    return false;
  if (before.pods.size() != next.pods.size() || before.pods.empty()) return false;
  for (size_t i = 0; i < before.pods.size(); ++i) {
    if (before.pods[i].role != next.pods[i].role || before.pods[i].last + 1 != next.pods[i].first)
      return false;
  }
  return true;
}

bool Alike(const NodeSeats& a, const NodeSeats& b) {
  return std::ranges::equal(a.pods, b.pods, {}, Pods, Pods);
}

// The longest group from `first` on: of alike nodes if there are some, else of nodes with one role each.
Group GroupFrom(const std::vector<NodeSeats>& placement, size_t first) {
  Group group{first, 1, true};
  auto follows = [&] {
    size_t next = group.first + group.count;
    return group.count < kMaxGroup && next < placement.size() &&
           Follows(placement[next - 1], placement[next]);
  };
  while (follows() && Alike(placement[first], placement[first + group.count])) ++group.count;
  if (placement[first].pods.size() != 1) return group;
  while (follows()) {
    ++group.count;
    group.alike = false;
  }
  return group;
}

// The digits that follow `text` when counting in its width; "" where the width would change.
std::string NextNumber(std::string_view text) {
  std::string next = std::to_string(*ParseNumber(text) + 1);
  if (next.size() < text.size()) next.insert(0, text.size() - next.size(), '0');
  return next.size() == text.size() ? next : "";
}

size_t CommonStart(const std::vector<std::string_view>& names) {
  size_t common = names[0].size() - 1;  // something is left of each
  for (std::string_view name : names) {
    common = std::min(common, name.size() - 1);
    while (name.substr(0, common) != names[0].substr(0, common)) --common;
  }
  return common;
}

std::string BracesText(const std::vector<NodeSeats>& placement, const Group& group) {
  std::vector<std::string_view> own;
  for (size_t i = 0; i < group.count; ++i) own.push_back(PartsOf(placement[group.first + i].node).own);
  bool numbers = std::ranges::all_of(own, [](std::string_view n) { return IsDigits(n) && n.size() <= 6; });
  size_t common = numbers ? 0 : CommonStart(own);
  NameParts parts = PartsOf(placement[group.first].node);
  std::string text(parts.prefix);
  text.append(own[0].substr(0, common)).append("{");
  for (size_t i = 0; i < own.size();) {
    size_t run = 1;
    while (numbers && group.alike && i + run < own.size() && NextNumber(own[i + run - 1]) == own[i + run])
      ++run;
    if (i > 0) text += ',';
    text += own[i].substr(common);
    if (run > 2) text.append("..").append(own[i + run - 1]);
    int32_t pods = Pods(placement[group.first + i].pods[0]);
    if (!group.alike && pods > 1) text.append("*").append(std::to_string(pods));
    i += run > 2 ? run : 1;
  }
  return text.append("}").append(parts.suffix);
}

std::string EntryText(const std::vector<NodeSeats>& placement, const Group& group) {
  const NodeSeats& first = placement[group.first];
  const NodeSeats& last = placement[group.first + group.count - 1];
  std::string text = group.count == 1 ? first.node : BracesText(placement, group);
  for (size_t i = 0; i < first.pods.size(); ++i) {
    text += i == 0 ? '=' : ',';
    text += RangeText({first.pods[i].role, first.pods[i].first, last.pods[i].last});
  }
  return text;
}

struct Member {
  std::string node;
  int32_t pods = 0;  // 0: as many as the others
};

// "07..31" or "x7k2*3".
bool ParseElement(std::string_view element, std::string_view prefix, std::string_view suffix,
                  size_t max_nodes, std::vector<Member>& members) {
  auto add = [&](std::string_view own, int32_t pods) {
    members.push_back({std::string(prefix).append(own).append(suffix), pods});
  };
  size_t dots = element.find("..");
  if (dots == element.npos) {
    size_t star = element.find('*');
    std::optional<int32_t> pods = star == element.npos ? 0 : ParseNumber(element.substr(star + 1));
    if (!pods || (star != element.npos && *pods == 0)) return false;
    add(element.substr(0, star), *pods);
    return !element.substr(0, star).empty();
  }
  std::string number(element.substr(0, dots));
  std::string_view last = element.substr(dots + 2);
  if (!IsDigits(number) || !IsDigits(last) || number.size() != last.size() || number > last) return false;
  for (; !number.empty(); number = number == last ? "" : NextNumber(number)) {
    if (members.size() >= max_nodes || number.size() > 6) return false;
    add(number, 0);
  }
  return true;
}

// The nodes before the '='.
bool ParseNodes(std::string_view text, size_t max_nodes, std::vector<Member>& members) {
  size_t open = text.find('{'), close = text.find('}');
  if (open == text.npos && close == text.npos) {
    members.push_back({std::string(text), 0});
    return !text.empty() && max_nodes > 0;
  }
  if (open == text.npos || close == text.npos || close < open) return false;
  std::string_view prefix = text.substr(0, open), suffix = text.substr(close + 1);
  for (std::string_view rest = text.substr(open + 1, close - open - 1);;) {
    size_t comma = rest.find(',');
    if (members.size() >= max_nodes ||
        !ParseElement(rest.substr(0, comma), prefix, suffix, max_nodes, members))
      return false;
    if (comma == rest.npos) return members.size() <= max_nodes;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<RoleRange> ParseRanges(std::string_view text) {
  std::vector<RoleRange> ranges;
  while (true) {
    size_t comma = text.find(',');
    std::optional<RoleRange> range = ParseRange(text.substr(0, comma));
    if (!range) return {};
    ranges.push_back(*std::move(range));
    if (comma == text.npos) return ranges;
    text.remove_prefix(comma + 1);
  }
}

// Every member gets its part of each range; false if they don't come out even.
bool Deal(std::vector<Member>& members, const std::vector<RoleRange>& ranges,
          std::vector<NodeSeats>& placement) {
  bool counted = std::ranges::any_of(members, [](const Member& member) { return member.pods > 0; });
  if (counted && ranges.size() != 1) return false;
  std::vector<int32_t> next;
  for (const RoleRange& range : ranges) {
    next.push_back(range.first);
    if (!counted && Pods(range) % static_cast<int64_t>(members.size()) != 0) return false;
  }
  for (Member& member : members) {
    NodeSeats seats{std::move(member.node), {}};
    for (size_t i = 0; i < ranges.size(); ++i) {
      int32_t pods = counted ? std::max(member.pods, 1)
                             : static_cast<int32_t>(Pods(ranges[i]) / static_cast<int64_t>(members.size()));
      if (pods > ranges[i].last - next[i] + 1) return false;
      seats.pods.push_back({ranges[i].role, next[i], next[i] + pods - 1});
      next[i] += pods;
    }
    placement.push_back(std::move(seats));
  }
  return next[0] == ranges[0].last + 1;
}

}  // namespace

std::vector<std::string> PlacementText(const std::vector<NodeSeats>& placement) {
  std::vector<std::string> entries;
  for (size_t at = 0; at < placement.size();) {
    Group group = GroupFrom(placement, at);
    entries.push_back(EntryText(placement, group));
    at += group.count;
  }
  return entries;
}

bool ParsePlacementText(std::string_view entry, size_t max_nodes, std::vector<NodeSeats>& placement) {
  size_t equals = entry.find('=');
  if (equals == entry.npos || equals == 0 || placement.size() >= max_nodes) return false;
  std::vector<Member> members;
  if (!ParseNodes(entry.substr(0, equals), max_nodes - placement.size(), members)) return false;
  std::vector<RoleRange> ranges = ParseRanges(entry.substr(equals + 1));
  return !ranges.empty() && Deal(members, ranges, placement);
}

}  // namespace lockstep::api
