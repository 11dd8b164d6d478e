#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "audit/entry.h"
#include "audit/grouping.h"
#include "audit/sighting.h"
#include "kube/model/meta.h"
#include "kube/model/quantity.h"

namespace lockstep::audit {

// What was seen of one pod. Times that were not seen are absent.
struct PodRecord {
  std::string ns, name, uid;
  std::string job;            // key of its gang (audit/grouping.h); empty: of no job
  std::string job_name;       // "namespace/name", for people
  std::string attempt, role;  // "" where there is no label
  std::string index;
  std::string node;
  kube::Resources requests;
  std::string request_error;  // why the requests can't be counted

  std::optional<WallTime> create_sent, created;  // earliest and latest moment of the create
  std::optional<WallTime> assigned;              // latest moment of the assignment to `node`
  std::optional<WallTime> running;
  std::optional<WallTime> leaving;  // first delete sent
  std::optional<WallTime> ended;    // earliest moment of its end: terminal, or the object gone
  // It was there before the record began: how it came to its node was not seen.
  bool from_before = false;
  WallTime seen{};    // last, by a watch
  uint64_t wish = 0;  // hash of what is not its status, to tell a kubelet's write from a controller's
};

// Changes of a node's allocatable, in the order of the record; capacity of a node that was never named is
// unknown.
struct NodeRecord {
  struct Change {
    WallTime sent, done;  // earliest and latest moment of the change
    kube::Resources allocatable;
  };
  std::vector<Change> changes;
  // What the node offered around `from`..`to`: the most of it, as a judge who must not accuse wrongly takes
  // it.
  kube::Resources MostBetween(WallTime from, WallTime to) const;
};

// A job, its Gang or its PodGroup: how many pods must start together.
struct JobRecord {
  std::string name;  // "namespace/name"
  std::optional<WallTime> submitted;
  std::optional<int64_t> size;      // of the job's replicas, or a pod's own word
  std::optional<int64_t> min_size;  // of the Gang or PodGroup: what must be there to start
  bool started_before = false;      // its status said so when the record began
};

struct WriteCounts {
  int64_t kubelet = 0, dry_run = 0, refused = 0;
  std::map<std::string, int64_t> others;  // "create pods", "patch gangs/status": of controllers
  int64_t controllers() const;
};

// Everything that an audit log or a watch says, gathered in one pass; grows with the objects, not with what
// happens to them.
class Record {
 public:
  explicit Record(Grouping grouping = {}) : grouping_(std::move(grouping)) {}

  void Take(const Entry& entry);  // record_log.cc
  // Each kind's sightings in their order. Nothing is known of writes that changed nothing.
  void Take(const Sighting& sighting);  // record_watch.cc
  // That nothing more happened until then.
  void WatchedUntil(WallTime time) { Cover(time, time); }

  const std::vector<PodRecord>& pods() const { return pods_; }
  const std::map<std::string, NodeRecord>& nodes() const { return nodes_; }
  const std::map<std::string, JobRecord>& jobs() const { return jobs_; }  // by key of the gang
  const WriteCounts& writes() const { return writes_; }
  std::optional<WallTime> first() const { return first_; }
  std::optional<WallTime> last() const { return last_; }

 private:
  void CountWrite(const Entry& entry);
  void TakePod(const Entry& entry);
  void TakePodCreate(const Entry& entry);
  void TakePodDelete(const Entry& entry);
  void TakePodStatus(const Entry& entry);
  void TakeBinding(const Entry& entry);
  void EndPod(const Entry& entry, const json::Doc& pod, std::string_view name, bool at_once);
  void TakeNode(const Entry& entry);
  void TakeOwner(const Entry& entry);

  void SeePod(const Sighting& sighting);
  void CountPodChange(const Sighting& sighting, const PodRecord& before, uint64_t wish);
  void SeeNode(const Sighting& sighting);
  void SeeOwner(const Sighting& sighting);
  void CountChange(const Sighting& sighting);

  void Cover(WallTime from, WallTime to);
  // A job, Gang or PodGroup as it was created or changed.
  void TakeOwner(std::string_view resource, const json::Doc& object, const std::string& ns,
                 const std::string& name, std::optional<WallTime> submitted);

  // The record of a UID, or the newest of a name when the UID is unknown; made where there is none.
  PodRecord& PodOf(const std::string& uid, const std::string& ns, const std::string& name);
  void Identify(PodRecord& pod, const json::Doc& object);

  Grouping grouping_;
  std::vector<PodRecord> pods_;
  std::unordered_map<std::string, size_t> by_uid_, by_name_;
  std::unordered_map<std::string, std::string> gang_jobs_;  // "ns/name" of a Gang to its job's key
  std::unordered_set<std::string> seen_;                    // UIDs of what a watch showed and is no pod
  std::map<std::string, NodeRecord> nodes_;
  std::map<std::string, JobRecord> jobs_;
  WriteCounts writes_;
  std::optional<WallTime> first_, last_;
};

}  // namespace lockstep::audit
