#include "hollow/hollow_node.h"

namespace lockstep::hollow {

namespace {

// 10.0.0.0/9 for hosts, 10.128.0.0/9 for pods: 254 addresses on each of 32,768 nodes, then they repeat.
constexpr int64_t kNodesWithOwnRange = 32768;
constexpr int kSlots = 254;

std::string Dotted(uint32_t address) {
  return std::to_string(address >> 24) + "." + std::to_string((address >> 16) & 255) + "." +
         std::to_string((address >> 8) & 255) + "." + std::to_string(address & 255);
}

}  // namespace

int HollowNode::TakePodIp() {
  int slot = 1;
  for (int taken : pod_ips) {
    if (taken != slot) break;
    ++slot;
  }
  pod_ips.insert(slot);
  return slot;
}

std::string HollowNode::PodIp(int slot) const {
  uint32_t range = static_cast<uint32_t>(index % kNodesWithOwnRange) << 8;
  return Dotted((10u << 24) + (128u << 16) + range + static_cast<uint32_t>((slot - 1) % kSlots + 1));
}

std::string HostIp(int64_t index) {
  return Dotted((10u << 24) + 1 + static_cast<uint32_t>(index % (128 << 16)));
}

void CatchUp(HollowPod& pod, HollowNode::State was, Now now) {
  bool saw_all = was == HollowNode::State::kFrozen;
  std::optional<int64_t> first = std::exchange(pod.missed_first_grace, std::nullopt);
  std::optional<int64_t> last = std::exchange(pod.missed_last_grace, std::nullopt);
  bool vanished = std::exchange(pod.missed_vanishing, false);
  if (first && saw_all) pod.life.SeeDeletion(*first, now);
  if (last && (saw_all || !vanished)) pod.life.SeeDeletion(*last, now);
  if (vanished) pod.life.SeeVanished(now);
  if (was == HollowNode::State::kKubeletStopped) pod.life.RestartKubelet(now);
  if (was == HollowNode::State::kCrashed) pod.life.Boot(now);
}

}  // namespace lockstep::hollow
