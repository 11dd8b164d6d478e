#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "audit/entry.h"
#include "kube/model/meta.h"
#include "kube/model/quantity.h"

namespace lockstep::audit {

// The labels by which pods say to which job they belong; other systems have their own.
struct Grouping {
  std::string job_label = "training.kubeflow.org/job-name";
  std::string role_label = "training.kubeflow.org/replica-type";
  std::string index_label = "training.kubeflow.org/replica-index";
};

// What the log says of one pod. Times that were not seen are absent.
struct PodRecord {
  std::string ns, name, uid;
  std::string job;            // UID of the controller, else "namespace/<job label>"; empty: of no job
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

  bool terminal_or_gone() const { return ended.has_value(); }
};

// Changes of a node's allocatable, in the order of the log; capacity of a node that no write names is
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

// A job or its Gang: how many pods must start together.
struct JobRecord {
  std::string name;  // "namespace/name"
  std::optional<WallTime> submitted;
  std::optional<int64_t> size;      // of the job's replicas
  std::optional<int64_t> min_size;  // of the Gang: its roles' minimum counts
};

struct WriteCounts {
  int64_t kubelet = 0, dry_run = 0, refused = 0;
  std::map<std::string, int64_t> others;  // "create pods", "patch gangs/status": of controllers
  int64_t controllers() const;
};

// Everything that the log says, gathered in one pass; grows with the objects, not with the log.
class Record {
 public:
  explicit Record(Grouping grouping = {}) : grouping_(std::move(grouping)) {}

  void Take(const Entry& entry);

  const std::vector<PodRecord>& pods() const { return pods_; }
  const std::map<std::string, NodeRecord>& nodes() const { return nodes_; }
  const std::map<std::string, JobRecord>& jobs() const { return jobs_; }  // by UID, or "namespace/name"
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
  void TakeJob(const Entry& entry);
  void TakeGang(const Entry& entry);

  // The record of a UID, or the newest of a name when the UID is unknown; made where there is none.
  PodRecord& PodOf(const std::string& uid, const std::string& ns, const std::string& name);
  void Identify(PodRecord& pod, const json::Doc& object) const;

  Grouping grouping_;
  std::vector<PodRecord> pods_;
  std::unordered_map<std::string, size_t> by_uid_, by_name_;
  std::map<std::string, NodeRecord> nodes_;
  std::map<std::string, JobRecord> jobs_;
  WriteCounts writes_;
  std::optional<WallTime> first_, last_;
};

}  // namespace lockstep::audit
