#include "explain/sheet.h"

#include <algorithm>

#include "explain/prose.h"

namespace lockstep::explain {

namespace {

// "1 Master pod", "7 Worker pods".
std::string PodsText(int64_t count, const std::string& role) {
  return Counted(count, role + " pod", role + " pods");
}

// "first of 3", "5th of 14, behind a, b and 2 more".
std::string Place(const Sheet& sheet) {
  std::string of = " of " + std::to_string(sheet.waiting);
  if (sheet.ahead == 0) return "first" + of;
  std::vector<std::string> before = sheet.next;
  if (auto more = sheet.ahead - static_cast<int64_t>(before.size()); more > 0)
    before.push_back(std::to_string(more) + " more");
  return Ordinal(sheet.ahead + 1) + of + ", behind " + Listed(before);
}

kube::Resources Total(const Sheet& sheet) {
  kube::Resources total;
  for (const RoleSheet& role : sheet.roles) {
    for (const auto& [resource, amount] : role.each)
      total[resource] = kube::AddAmounts(total[resource], kube::MultiplyAmount(amount, role.pods));
  }
  return total;
}

void NeedLines(const Sheet& sheet, std::string& text) {
  int64_t pods = 0;
  for (const RoleSheet& role : sheet.roles) pods += role.pods;
  Line(text, "needs", Counted(pods, "pod", "pods, all at once") + ": " + AmountsText(Total(sheet)));
  for (const RoleSheet& role : sheet.roles) {
    std::string each = AmountsText(role.each);
    Line(text, "",
         PodsText(role.pods, role.type) + (role.pods == 1 ? ": " : ", each: ") +
             (each.empty() ? "nothing but a place" : each));
    if (!role.added.empty())
      Line(text, "", "  " + AmountsText(role.added) + " of it are not in the template, but added to the pod");
  }
  if (!sheet.checked) Line(text, "", "as written: nobody has said yet what admission adds");
}

void LackLines(const Sheet& sheet, std::string& text) {
  for (const NodesSheet& lack : sheet.lacks) {
    std::string seats = lack.seats == 0 ? "none" : std::to_string(lack.seats);
    Line(text, "room",
         "for " + seats + " of " + Counted(lack.wanted, "pod", "pods") + " (" + Listed(lack.roles) + ") on " +
             Counted(sheet.nodes, "node", "nodes"));
    for (const gang::RefusedNodes& refused : lack.refused) Line(text, "", RefusedText(refused));
  }
}

void HolderLines(const Sheet& sheet, std::string& text) {
  if (!sheet.shortest) return;
  const std::string& resource = sheet.shortest->resource;
  constexpr size_t kMost = 5;
  for (size_t i = 0; i < sheet.holders.size() && i < kMost; ++i) {
    const Holder& holder = sheet.holders[i];
    std::string since = holder.since ? ", for " + Ago(sheet.now - *holder.since) : "";
    Line(text, i == 0 ? "held by" : "", holder.gang + ": " + AmountText(resource, holder.amount) + since);
  }
  if (sheet.holders.size() > kMost)
    Line(text, "", Counted(static_cast<int64_t>(sheet.holders.size() - kMost), "more job", "more jobs"));
  if (sheet.others > 0)
    Line(text, sheet.holders.empty() ? "held by" : "",
         "pods that are not of Lockstep's jobs: " + AmountText(resource, sheet.others));
}

const char* CodeOf(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::kJobsEnd:
      return "JobsEnd";
    case Change::Kind::kMoreNodes:
      return "MoreNodes";
    case Change::Kind::kLargerNodes:
      return "LargerNodes";
    case Change::Kind::kUncordon:
      return "Uncordon";
    case Change::Kind::kTolerate:
      return "Tolerate";
    case Change::Kind::kSelector:
      return "Selector";
    case Change::Kind::kSmaller:
      return "SmallerRequest";
    case Change::Kind::kFewer:
      return "FewerPods";
    case Change::Kind::kQuota:
      return "Quota";
    case Change::Kind::kResume:
      return "Resume";
  }
  return "";
}

json::Doc ChangeDoc(const Change& change) {
  json::Doc doc = {{"code", CodeOf(change.kind)}, {"text", ChangeText(change)}};
  if (!change.jobs.empty()) doc["jobs"] = change.jobs;
  if (change.any) doc["any"] = true;
  if (!change.taints.empty()) doc["taints"] = change.taints;
  for (const auto& [name, value] :
       {std::pair("node", &change.node), std::pair("role", &change.role),
        std::pair("resource", &change.resource), std::pair("quota", &change.quota)}) {
    if (!value->empty()) doc[name] = *value;
  }
  if (change.count > 0) doc["count"] = change.count;
  if (change.amount > 0) doc["amount"] = QuantityText(change.resource, change.amount);
  if (!change.shape.empty()) doc["shape"] = AmountsDoc(change.shape);
  return doc;
}

}  // namespace

std::string ChangeText(const Change& change) {
  switch (change.kind) {
    case Change::Kind::kJobsEnd:
      if (change.jobs.size() == 1) return "when " + change.jobs[0] + " has ended";
      return change.any ? "when " + Listed(change.jobs, " or ") + " has ended"
                        : "when " + Listed(change.jobs) + " have ended";
    case Change::Kind::kMoreNodes:
      return "with " + Counted(change.count, "more node", "more nodes") + " like " + change.node + " (" +
             AmountsText(change.shape) + ")";
    case Change::Kind::kLargerNodes:
      return "on nodes of at least " + AmountText(change.resource, change.amount) +
             " each; the largest here has " + QuantityText(change.resource, change.was);
    case Change::Kind::kUncordon:
      if (change.count == 1) return "if node " + change.node + " were uncordoned";
      return "if " + std::to_string(change.count) + " nodes were uncordoned, " + change.node + " first";
    case Change::Kind::kTolerate:
      return "if its pods tolerated " + Listed(change.taints);
    case Change::Kind::kSelector:
      return "without the node selector and node affinity of its pods";
    case Change::Kind::kSmaller:
      return "with " + AmountText(change.resource, change.amount) + " for each " +
             (change.role.empty() ? "" : change.role + " ") + "pod instead of " +
             QuantityText(change.resource, change.was);
    case Change::Kind::kFewer:
      return "with " + PodsText(change.count, change.role) + " instead of " + std::to_string(change.of);
    case Change::Kind::kQuota:
      return "if quota " + change.quota + " allowed " + AmountText(change.resource, change.amount) +
             " instead of " + QuantityText(change.resource, change.was);
    case Change::Kind::kResume:
      return "when it is resumed (spec.runPolicy.suspend: false)";
  }
  return "";
}

std::string SheetText(const Sheet& sheet) {
  std::string text = sheet.kind + " " + sheet.ns + "/" + sheet.job + " waits: " + sheet.reason.message + "\n";
  Line(text, "since", FormatTime(sheet.since) + ", " + Ago(sheet.now - sheet.since) + " ago");
  Line(text, "queue", Place(sheet));
  NeedLines(sheet, text);
  LackLines(sheet, text);
  HolderLines(sheet, text);
  for (size_t i = 0; i < sheet.changes.size(); ++i)
    Line(text, i == 0 ? "starts" : "or", ChangeText(sheet.changes[i]));
  if (!sheet.possible && sheet.changes.empty()) Line(text, "starts", "never, as things are");
  return text;
}

json::Doc SheetDoc(const Sheet& sheet) {
  json::Doc doc = {{"job", {{"kind", sheet.kind}, {"namespace", sheet.ns}, {"name", sheet.job}}},
                   {"reason", {{"code", sheet.reason.code}, {"message", sheet.reason.message}}},
                   {"since", FormatTime(sheet.since)},
                   {"queue", {{"ahead", sheet.ahead}, {"waiting", sheet.waiting}, {"next", sheet.next}}},
                   {"checked", sheet.checked},
                   {"possible", sheet.possible},
                   {"nodes", sheet.nodes}};
  for (const RoleSheet& role : sheet.roles) {
    json::Doc entry = {{"type", role.type}, {"pods", role.pods}, {"each", AmountsDoc(role.each)}};
    if (!role.added.empty()) entry["added"] = AmountsDoc(role.added);
    doc["roles"].push_back(std::move(entry));
  }
  for (const NodesSheet& lack : sheet.lacks) {
    json::Doc entry = {{"roles", lack.roles}, {"seats", lack.seats}, {"wanted", lack.wanted}};
    for (const gang::RefusedNodes& refused : lack.refused) {
      json::Doc row = {{"reason", cluster::ReasonText(refused.reason)}, {"nodes", refused.nodes}};
      if (!refused.detail.empty()) row["detail"] = refused.detail;
      entry["refused"].push_back(std::move(row));
    }
    doc["lacks"].push_back(std::move(entry));
  }
  if (sheet.shortest) {
    const std::string& resource = sheet.shortest->resource;
    json::Doc held = {{"resource", resource},
                      {"needed", QuantityText(resource, sheet.shortest->needed)},
                      {"free", QuantityText(resource, sheet.shortest->free)}};
    for (const Holder& holder : sheet.holders) {
      json::Doc entry = {{"job", holder.gang}, {"amount", QuantityText(resource, holder.amount)}};
      if (holder.since) entry["since"] = FormatTime(*holder.since);
      held["holders"].push_back(std::move(entry));
    }
    if (sheet.others > 0) held["others"] = QuantityText(resource, sheet.others);
    doc["shortest"] = std::move(held);
  }
  doc["starts"] = json::Doc::array();
  for (const Change& change : sheet.changes) doc["starts"].push_back(ChangeDoc(change));
  return doc;
}

}  // namespace lockstep::explain
