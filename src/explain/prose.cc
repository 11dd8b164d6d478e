#include "explain/prose.h"

#include "cluster/requests.h"
#include "explain/reason.h"

namespace lockstep::explain {

std::string Counted(int64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string Ordinal(int64_t number) {
  int64_t last = number % 10, teens = number % 100 / 10;
  const char* end = teens == 1 ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
  return std::to_string(number) + end;
}

std::string Listed(const std::vector<std::string>& names, const char* last) {
  std::string text;
  size_t told = names.size() > 4 ? 3 : names.size();
  for (size_t i = 0; i < told; ++i) {
    const char* before = i == 0 ? "" : i + 1 == names.size() ? last : ", ";
    text += before + names[i];
  }
  if (told < names.size()) text += last + std::to_string(names.size() - told) + " more";
  return text;
}

std::string Ago(Duration duration) {
  auto whole = std::chrono::duration_cast<seconds>(duration).count();
  if (whole < 1) return "a moment";
  if (whole < 120) return Counted(whole, "second", "seconds");
  if (whole < 2 * 3600) return Counted(whole / 60, "minute", "minutes");
  if (whole < 2 * 86'400) return Counted(whole / 3600, "hour", "hours");
  return Counted(whole / 86'400, "day", "days");
}

std::string AmountsText(const kube::Resources& amounts) {
  std::string devices, others;
  for (const auto& [resource, amount] : amounts) {
    if (resource == "pods" || amount == 0) continue;
    std::string& text = cluster::IsExtended(resource) ? devices : others;
    text += (text.empty() ? "" : ", ") + AmountText(resource, amount);
  }
  return devices + (devices.empty() || others.empty() ? "" : ", ") + others;
}

json::Doc AmountsDoc(const kube::Resources& amounts) {
  json::Doc doc = json::Doc::object();
  for (const auto& [resource, amount] : amounts) doc[resource] = QuantityText(resource, amount);
  return doc;
}

void Line(std::string& text, std::string_view title, const std::string& body) {
  text +=
      "  " + std::string(title) + std::string(title.size() < 10 ? 10 - title.size() : 1, ' ') + body + "\n";
}

}  // namespace lockstep::explain
