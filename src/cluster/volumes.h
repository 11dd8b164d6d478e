#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/node_facts.h"
#include "kube/model/volume.h"

namespace lockstep::cluster {

// Whether a pod with a claim can start at all, on whatever node.
enum class ClaimState {
  kUsable,
  kMissing,           // there is no such claim
  kDeleting,          // it is going
  kUnbound,           // nobody has found or made a volume for it yet
  kWaitsForConsumer,  // its volume comes when a scheduler has chosen a node for a pod of it
  kLost,              // its volume is gone
};

// Claims and the volumes behind them, as far as placement asks. A plain value; copies share it until one of
// them changes.
class Volumes {
 public:
  // Nothing: it is gone. True if something changed that may decide about seats.
  bool SetClaim(const std::string& key, std::optional<kube::VolumeClaim> claim);
  bool SetVolume(const std::string& name, std::optional<kube::Volume> volume);
  bool SetStorageClass(const std::string& name, std::optional<kube::StorageClass> storage_class);
  bool SetLimits(const std::string& node, std::optional<kube::VolumeLimits> limits);
  bool SetAttachment(const std::string& name, std::optional<kube::VolumeAttachment> attachment);

  uint64_t version() const { return version_; }  // grows with every change

  ClaimState StateOf(const std::string& claim) const;
  const kube::VolumeClaim* claim(const std::string& key) const;
  // Of a bound claim; null if it has none, or it is not known.
  const kube::Volume* VolumeOf(const std::string& claim) const;

  // Whether every claim is usable on the node; else the place of the first that is not.
  std::optional<size_t> FirstOutOfReach(std::span<const std::string> claims, const NodeFacts& node) const;

  // Whether the node takes the volumes of `wanted` beside those of `there`, by the limits of its CSI drivers.
  // A volume counts once, however many pods use it. `attached`: what is still attached to the node counts
  // too, in use or not. Volumes that are not CSI have no limit here.
  // Source: kube-scheduler NodeVolumeLimits.
  bool WithinLimits(const std::string& node, std::span<const std::string> wanted,
                    std::span<const std::string* const> there, bool attached) const;

 private:
  struct Facts {
    std::unordered_map<std::string, kube::VolumeClaim> claims;
    std::unordered_map<std::string, kube::Volume> volumes;
    std::unordered_map<std::string, kube::StorageClass> classes;
    std::unordered_map<std::string, kube::VolumeLimits> limits;           // by node
    std::unordered_map<std::string, kube::VolumeAttachment> attachments;  // by name
    std::unordered_map<std::string, std::vector<std::string>> attached;   // by node: names of attachments
  };

  template <class Value>
  bool Set(std::unordered_map<std::string, Value> Facts::* map, const std::string& key,
           std::optional<Value> value);
  Facts& Own();

  std::shared_ptr<Facts> facts_ = std::make_shared<Facts>();
  uint64_t version_ = 1;
};

}  // namespace lockstep::cluster
