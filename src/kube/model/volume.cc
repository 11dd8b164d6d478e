#include "kube/model/volume.h"

#include <algorithm>

#include "kube/model/reader.h"

namespace lockstep::kube {
namespace {

using json::Doc;

// Kinds of volumes that are mounted over the network or made on the node: nothing is attached, so a node
// more does not matter.
constexpr const char* kNeverAttached[] = {"nfs", "cephfs", "glusterfs", "azureFile", "hostPath", "local"};
// Disks in a pod's own spec: kube-scheduler keeps two pods of one disk apart and counts them against limits.
constexpr const char* kInlineDisks[] = {"awsElasticBlockStore", "gcePersistentDisk", "azureDisk", "cinder",
                                        "vsphereVolume",        "portworxVolume",    "rbd",       "iscsi"};
constexpr const char* kZoneLabels[] = {"topology.kubernetes.io/zone", "topology.kubernetes.io/region",
                                       "failure-domain.beta.kubernetes.io/zone",
                                       "failure-domain.beta.kubernetes.io/region"};

// More on one pod are refused by name: each may be a rule to keep during a search.
constexpr size_t kMaxClaims = 32;

bool HasMode(const Doc& spec, std::string_view mode) {
  const Doc* modes = json::Key(&spec, "accessModes");
  if (modes == nullptr || !modes->is_array()) return false;
  return std::ranges::any_of(*modes, [&](const Doc& one) { return one.is_string() && one == mode; });
}

const Doc& SpecOf(const Doc& object) {
  static const Doc kNone = Doc::object();
  const Doc* spec = object.is_object() ? json::Key(&object, "spec") : nullptr;
  return spec != nullptr && spec->is_object() ? *spec : kNone;
}

bool Attached(const Doc& spec) {
  return std::ranges::none_of(kNeverAttached, [&](const char* kind) { return spec.contains(kind); });
}

// The values of a zone label: one, or several with "__" between them.
std::vector<std::string> ZonesOf(std::string_view text) {
  std::vector<std::string> zones;
  while (true) {
    size_t at = text.find("__");
    zones.emplace_back(text.substr(0, at));
    if (at == text.npos) break;
    text.remove_prefix(at + 2);
  }
  std::ranges::sort(zones);
  return zones;
}

NodeConstraint ReachOf(const Doc& spec) {
  NodeConstraint reach;
  const Doc* required = json::Find(spec, "nodeAffinity.required");
  if (required == nullptr || required->is_null()) return reach;
  // The same shape as a pod's required node affinity.
  Doc pod = {
      {"affinity", {{"nodeAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", *required}}}}}};
  Result<NodeConstraint> parsed = ParseNodeConstraint(pod);
  if (parsed.ok()) return *parsed;
  reach.has_terms = true;  // and none that could match
  return reach;
}

}  // namespace

bool Volume::Reaches(const std::string& node_name, const Labels& labels) const {
  if (!nodes.Matches(node_name, labels)) return false;
  bool has_zone = std::ranges::any_of(kZoneLabels, [&](const char* key) { return labels.contains(key); });
  return !has_zone || LabelSelector{zones}.Matches(labels);
}

VolumeClaim ParseVolumeClaim(const Doc& object) {
  const Doc& spec = SpecOf(object);
  VolumeClaim claim;
  claim.volume = json::GetString(spec, "volumeName");
  claim.storage_class = json::GetString(spec, "storageClassName");
  claim.phase = json::GetString(object, "status.phase");
  claim.one_pod = HasMode(spec, "ReadWriteOncePod");
  claim.deleting = ParseMeta(object).deleted_at.has_value();
  return claim;
}

Volume ParseVolume(const Doc& object) {
  const Doc& spec = SpecOf(object);
  Volume volume;
  volume.nodes = ReachOf(spec);
  Labels labels = ParseMeta(object).labels;
  for (const char* key : kZoneLabels) {
    auto label = labels.find(key);
    if (label != labels.end()) volume.zones.push_back({key, SelectorOp::kIn, ZonesOf(label->second)});
  }
  volume.driver = json::GetString(spec, "csi.driver");
  volume.handle = json::GetString(spec, "csi.volumeHandle");
  bool for_many = HasMode(spec, "ReadWriteMany") || HasMode(spec, "ReadOnlyMany");
  bool any_mode = HasMode(spec, "ReadWriteOnce") || HasMode(spec, "ReadWriteOncePod");
  volume.one_node = any_mode && !for_many && Attached(spec);
  return volume;
}

StorageClass ParseStorageClass(const Doc& object) {
  return {json::GetString(object, "volumeBindingMode") == "WaitForFirstConsumer"};
}

VolumeLimits ParseCsiNode(const Doc& object) {
  VolumeLimits limits;
  const Doc* drivers = json::Find(object, "spec.drivers");
  if (drivers == nullptr || !drivers->is_array()) return limits;
  for (const Doc& driver : *drivers) {
    const Doc* count = driver.is_object() ? json::Find(driver, "allocatable.count") : nullptr;
    if (count == nullptr || !count->is_number_integer()) continue;
    limits[json::GetString(driver, "name")] =
        static_cast<int32_t>(std::clamp<int64_t>(json::GetInt(driver, "allocatable.count"), 0, INT32_MAX));
  }
  return limits;
}

VolumeAttachment ParseVolumeAttachment(const Doc& object) {
  return {json::GetString(object, "spec.nodeName"), json::GetString(object, "spec.attacher"),
          json::GetString(object, "spec.source.persistentVolumeName")};
}

PodVolumes ParsePodVolumes(const Doc& spec, const std::string& ns) {
  PodVolumes found;
  const Doc* volumes = json::Key(&spec, "volumes");
  if (volumes == nullptr || !volumes->is_array()) return found;
  for (size_t i = 0; i < volumes->size(); ++i) {
    const Doc& volume = (*volumes)[i];
    if (!volume.is_object()) continue;
    std::string path = Join("spec.volumes", i);
    std::string claim = json::GetString(volume, "persistentVolumeClaim.claimName");
    if (!claim.empty()) found.claims.push_back(ns + "/" + claim);
    for (const char* disk : kInlineDisks) {
      const Doc* named = json::Key(&volume, disk);
      if (named != nullptr && named->is_object()) found.unmet.push_back(Join(path, disk));
    }
  }
  std::ranges::sort(found.claims);
  if (found.claims.size() > kMaxClaims)
    found.unmet.push_back("more than " + std::to_string(kMaxClaims) + " claims");
  found.claims.erase(std::unique(found.claims.begin(), found.claims.end()), found.claims.end());
  return found;
}

}  // namespace lockstep::kube
