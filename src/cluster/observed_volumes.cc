#include "cluster/observed_volumes.h"

namespace lockstep::cluster {

namespace {

void TouchClaimants(World& world, const std::string& claim) {
  auto claimants = world.claimants.find(claim);
  if (claimants == world.claimants.end()) return;
  std::erase_if(claimants->second, [&](const std::string& gang) { return !world.gangs.contains(gang); });
  for (const std::string& gang : claimants->second) world.Touch(gang);
  if (claimants->second.empty()) world.claimants.erase(claimants);
}

template <class Which>
void TouchClaimantsIf(World& world, const Which& which) {
  std::vector<std::string> claims;
  for (const auto& [claim, gangs] : world.claimants) {
    if (which(world.nodes.volumes().claim(claim))) claims.push_back(claim);
  }
  for (const std::string& claim : claims) TouchClaimants(world, claim);
}

}  // namespace

bool TakeInVolumes(World& world, const Observed& observed) {
  Volumes& volumes = world.nodes.volumes();
  const kube::Resource* kind = observed.resource;
  kube::Meta meta = kube::ParseMeta(*observed.object);
  auto unless_gone = [&](auto parsed) {
    return observed.gone ? std::nullopt : std::optional(std::move(parsed));
  };
  bool changed = false;
  if (kind == &kube::kPersistentVolumeClaims) {
    changed = volumes.SetClaim(meta.key(), unless_gone(kube::ParseVolumeClaim(*observed.object)));
    if (changed) TouchClaimants(world, meta.key());
  } else if (kind == &kube::kPersistentVolumes) {
    changed = volumes.SetVolume(meta.name, unless_gone(kube::ParseVolume(*observed.object)));
    if (changed)
      TouchClaimantsIf(world, [&](const kube::VolumeClaim* c) { return c && c->volume == meta.name; });
  } else if (kind == &kube::kStorageClasses) {
    changed = volumes.SetStorageClass(meta.name, unless_gone(kube::ParseStorageClass(*observed.object)));
    if (changed)
      TouchClaimantsIf(world, [&](const kube::VolumeClaim* c) { return c && c->storage_class == meta.name; });
  } else if (kind == &kube::kCSINodes) {
    changed = volumes.SetLimits(meta.name, unless_gone(kube::ParseCsiNode(*observed.object)));
  } else if (kind == &kube::kVolumeAttachments) {
    changed = volumes.SetAttachment(meta.name, unless_gone(kube::ParseVolumeAttachment(*observed.object)));
  } else {
    return false;
  }
  if (changed) world.nodes.NoteVolumes();
  return true;
}

}  // namespace lockstep::cluster
