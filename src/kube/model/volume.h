#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/model/meta.h"
#include "kube/model/selector.h"

namespace lockstep::kube {

// The part of a PersistentVolumeClaim that decides where its pods may run.
struct VolumeClaim {
  std::string volume;         // spec.volumeName; "" while nobody has chosen one
  std::string storage_class;  // spec.storageClassName; "" is none, or the default before admission
  std::string phase;          // status.phase: Pending, Bound, Lost
  bool one_pod = false;       // ReadWriteOncePod
  bool deleting = false;

  // As the kubelet asks before it mounts.
  bool bound() const { return phase == "Bound" && !volume.empty(); }
  friend bool operator==(const VolumeClaim&, const VolumeClaim&) = default;
};

// The same of a PersistentVolume.
struct Volume {
  NodeConstraint nodes;  // spec.nodeAffinity.required
  // The zones and regions of its labels: a node that has such labels must have one of these values.
  // Source: kube-scheduler VolumeZone.
  std::vector<Requirement> zones;
  std::string driver, handle;  // of a CSI volume
  // It is attached to one node at a time: no access mode is for many, and its kind is attached at all.
  // Source: attach-detach controller, isMultiAttachForbidden.
  bool one_node = false;

  bool Reaches(const std::string& node_name, const Labels& labels) const;
  friend bool operator==(const Volume&, const Volume&) = default;
};

struct StorageClass {
  bool waits_for_consumer = false;  // volumeBindingMode WaitForFirstConsumer

  friend bool operator==(const StorageClass&, const StorageClass&) = default;
};

// How many volumes of each CSI driver a node takes; a driver without a limit is not in it.
using VolumeLimits = std::map<std::string, int32_t, std::less<>>;

struct VolumeAttachment {
  std::string node, driver, volume;  // `volume`: the PersistentVolume's name

  friend bool operator==(const VolumeAttachment&, const VolumeAttachment&) = default;
};

// What can't be read counts as not there, but for a volume's node affinity: such a volume reaches no node.
VolumeClaim ParseVolumeClaim(const json::Doc& object);
Volume ParseVolume(const json::Doc& object);
StorageClass ParseStorageClass(const json::Doc& object);
VolumeLimits ParseCsiNode(const json::Doc& object);
VolumeAttachment ParseVolumeAttachment(const json::Doc& object);

// What a pod's spec.volumes ask of its node.
struct PodVolumes {
  std::vector<std::string> claims;  // "ns/name", sorted, unique
  // Paths of volumes that only a scheduler can provide for: claims that are made after the pod, and disks
  // that are named in the pod itself.
  std::vector<std::string> unmet;
};
PodVolumes ParsePodVolumes(const json::Doc& spec, const std::string& ns);

}  // namespace lockstep::kube
