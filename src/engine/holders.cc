#include "engine/holders.h"

#include <algorithm>

namespace lockstep::engine {

using cluster::GangState;
using cluster::World;

std::vector<explain::Holder> Holders(const World& world, const std::string& resource) {
  std::vector<explain::Holder> holders;
  for (const std::string& key : world.holding) {
    const GangState& gang = world.gangs.at(key);
    kube::Amount amount = 0;
    for (const cluster::Hold& hold : gang.held) {
      const kube::Resources& requests = world.nodes.pod_class(hold.pod_class).need.requests;
      if (auto found = requests.find(resource); found != requests.end()) {
        amount = kube::AddAmounts(amount, found->second);
      }
    }
    if (amount > 0) holders.push_back({gang.job_name, amount, gang.status().phase_since});
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const auto& a, const auto& b) { return a.amount > b.amount; });
  return holders;
}

}  // namespace lockstep::engine
