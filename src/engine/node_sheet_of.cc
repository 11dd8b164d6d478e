#include "engine/node_sheet_of.h"

#include <algorithm>

#include "explain/reason.h"
#include "gang/no_fit.h"

namespace lockstep::engine {

using cluster::GangState;
using cluster::NodeFacts;
using cluster::NodeId;
using cluster::World;
using explain::NodeSheet;

namespace {

std::vector<std::string> StateOf(const NodeFacts& facts) {
  std::vector<std::string> state;
  if (facts.not_ready) state.push_back("is not ready");
  if (facts.unschedulable) state.push_back("is cordoned");
  for (const kube::Taint& taint : facts.taints) state.push_back("has the taint " + gang::TaintText(taint));
  return state;
}

void TellResources(const World& world, NodeId node, NodeSheet& sheet) {
  for (const auto& [name, offered] : world.nodes.facts(node).allocatable) {
    bool told = cluster::IsExtended(name) || name == "cpu" || name == "memory";
    if (told) sheet.resources.push_back({name, offered, world.nodes.Used(node, name)});
  }
  std::ranges::stable_partition(sheet.resources,
                                [](const auto& resource) { return cluster::IsExtended(resource.name); });
}

void TellHolders(const World& world, NodeId node, NodeSheet& sheet) {
  const std::string& name = world.nodes.name(node);
  for (const auto& [key, gang] : world.gangs) {
    NodeSheet::Job job{gang.job_name, 0, {}};
    for (const cluster::Hold& hold : gang.held) {
      if (hold.node != name) continue;
      ++job.pods;
      kube::AddTo(job.holds, world.nodes.pod_class(hold.pod_class).need.requests);
    }
    if (job.pods > 0) sheet.jobs.push_back(std::move(job));
  }
  int64_t pods = 0;
  for (const cluster::Occupant& occupant : world.nodes.occupants(node)) pods += occupant.pods;
  for (const NodeSheet::Job& job : sheet.jobs) pods -= job.pods;
  sheet.others = std::max<int64_t>(pods, 0);
}

// Why no pod of the gang finds a seat on the node; "" if one does.
std::string KeptOff(const World& world, const GangState& gang, NodeId node) {
  std::string why;
  for (const cluster::RoleState& role : gang.roles) {
    cluster::SeatIndex::Row row = world.nodes.Judge(node, role.pod_class, cluster::View::kNow);
    if (row.seats > 0) return "";
    if (why.empty())
      why =
          explain::RefusedText(row.refusal.reason, gang::DetailOf(world.nodes, role.pod_class, row.refusal));
  }
  return why;
}

void TellWaiting(const World& world, NodeId node, NodeSheet& sheet) {
  for (const cluster::QueueKey& key : world.waiting.all()) {
    const GangState* gang = world.gangs.Get(key.gang);
    if (gang == nullptr) continue;
    std::string why = KeptOff(world, *gang, node);
    auto alike = std::ranges::find(sheet.waiting, why, &NodeSheet::Waiting::why);
    if (alike == sheet.waiting.end()) alike = sheet.waiting.insert(alike, {{}, why});
    alike->jobs.push_back(gang->job_name);
  }
}

}  // namespace

std::optional<NodeSheet> NodeSheetOf(const World& world, const std::string& name) {
  std::optional<NodeId> node = world.nodes.Find(name);
  if (!node) return {};
  NodeSheet sheet{.name = name, .state = StateOf(world.nodes.facts(*node))};
  TellResources(world, *node, sheet);
  TellHolders(world, *node, sheet);
  TellWaiting(world, *node, sheet);
  return sheet;
}

}  // namespace lockstep::engine
