#include "explain/node_sheet.h"

#include <algorithm>

#include "cluster/requests.h"
#include "explain/prose.h"
#include "explain/reason.h"

namespace lockstep::explain {

namespace {

// "is empty": nothing of what jobs come for is used.
std::string HowFull(const NodeSheet& sheet) {
  if (sheet.jobs.empty() && sheet.others == 0) return "is empty";
  bool devices = false, free = false, used = false;
  for (const NodeSheet::Resource& resource : sheet.resources) {
    if (!cluster::IsExtended(resource.name) || resource.offered == 0) continue;
    devices = true;
    used |= resource.used > 0;
    free |= resource.used < resource.offered;
  }
  if (!devices) return "is in use";
  return !used ? "has no device in use" : free ? "is partly used" : "is full";
}

std::string JobsText(const std::vector<std::string>& jobs) {
  return Counted(static_cast<int64_t>(jobs.size()), "job", "jobs") + " (" + Listed(jobs) + ")";
}

}  // namespace

std::string NodeSheetText(const NodeSheet& sheet) {
  std::string text = "Node " + sheet.name + " " + HowFull(sheet);
  if (!sheet.state.empty()) text += "; it " + Listed(sheet.state);
  text += "\n";
  for (size_t i = 0; i < sheet.resources.size(); ++i) {
    const NodeSheet::Resource& resource = sheet.resources[i];
    Line(text, i == 0 ? "free" : "",
         QuantityText(resource.name, resource.offered - resource.used) + " of " +
             AmountText(resource.name, resource.offered));
  }
  for (size_t i = 0; i < sheet.jobs.size(); ++i) {
    const NodeSheet::Job& job = sheet.jobs[i];
    Line(text, i == 0 ? "held by" : "",
         job.name + ": " + Counted(job.pods, "pod", "pods") + ", " + AmountsText(job.holds));
  }
  if (sheet.others > 0)
    Line(text, sheet.jobs.empty() ? "held by" : "",
         Counted(sheet.others, "pod that is", "pods that are") + " not of Lockstep's jobs");
  if (sheet.waiting.empty()) Line(text, "waiting", "no job waits");
  for (size_t i = 0; i < sheet.waiting.size(); ++i) {
    const NodeSheet::Waiting& waiting = sheet.waiting[i];
    Line(text, i == 0 ? "waiting" : "",
         JobsText(waiting.jobs) + ": " +
             (waiting.why.empty() ? "a pod would fit here, but not all of its gang in the cluster"
                                  : waiting.why));
  }
  return text;
}

json::Doc NodeSheetDoc(const NodeSheet& sheet) {
  json::Doc doc = {{"node", sheet.name}, {"state", sheet.state}, {"otherPods", sheet.others}};
  doc["resources"] = json::Doc::object();
  for (const NodeSheet::Resource& resource : sheet.resources) {
    doc["resources"][resource.name] = {{"offered", QuantityText(resource.name, resource.offered)},
                                       {"used", QuantityText(resource.name, resource.used)}};
  }
  doc["jobs"] = json::Doc::array();
  for (const NodeSheet::Job& job : sheet.jobs)
    doc["jobs"].push_back({{"name", job.name}, {"pods", job.pods}, {"holds", AmountsDoc(job.holds)}});
  doc["waiting"] = json::Doc::array();
  for (const NodeSheet::Waiting& waiting : sheet.waiting)
    doc["waiting"].push_back({{"jobs", waiting.jobs}, {"why", waiting.why}});
  return doc;
}

}  // namespace lockstep::explain
