#include "audit/record.h"

#include <algorithm>

#include "api/labels.h"
#include "kube/model/pod.h"

namespace lockstep::audit {

kube::Resources NodeRecord::MostBetween(WallTime from, WallTime to) const {
  kube::Resources most;
  for (size_t i = 0; i < changes.size(); ++i) {
    bool over = i + 1 < changes.size() && changes[i + 1].done < from;
    if (over || (changes[i].sent > to && i > 0)) continue;
    kube::MaxInto(most, changes[i].allocatable);
  }
  return most;
}

int64_t WriteCounts::controllers() const {
  int64_t sum = 0;
  for (const auto& [what, count] : others) sum += count;
  return sum;
}

PodRecord& Record::PodOf(const std::string& uid, const std::string& ns, const std::string& name) {
  std::string key = ns + "/" + name;
  if (auto known = by_uid_.find(uid); !uid.empty() && known != by_uid_.end()) return pods_[known->second];
  if (auto named = by_name_.find(key); named != by_name_.end()) {
    PodRecord& pod = pods_[named->second];
    if (uid.empty() || pod.uid.empty()) {
      if (!uid.empty()) by_uid_[pod.uid = uid] = named->second;
      return pod;
    }
  }
  pods_.push_back({.ns = ns, .name = name, .uid = uid});
  by_name_[key] = pods_.size() - 1;
  if (!uid.empty()) by_uid_[uid] = pods_.size() - 1;
  return pods_.back();
}

void Record::Identify(PodRecord& pod, const json::Doc& object) {
  kube::Meta meta = kube::ParseMeta(object);
  meta.ns = pod.ns;
  if (pod.job.empty()) {  // who loses its labels later is the same rank as before
    Membership gang = GangOf(meta, object, grouping_);
    pod.job = gang.key;
    pod.job_name = gang.name;
    if (gang.size) jobs_[gang.key].size = gang.size;
    pod.attempt = meta.label(api::kAttemptLabel);
    pod.role = meta.label(grouping_.role_label);
    pod.index = IndexOf(meta, grouping_);
  }
  if (std::string node = json::GetString(object, "spec.nodeName"); !node.empty()) pod.node = node;
  Result<kube::PodNeed> need = kube::ParsePodNeed(object);
  if (need.ok()) {
    pod.requests = need->requests;
  } else {
    pod.request_error = need.error().message;
  }
}

void Record::Cover(WallTime from, WallTime to) {
  first_ = first_ ? std::min(*first_, from) : from;
  last_ = last_ ? std::max(*last_, to) : to;
}

void Record::TakeOwner(std::string_view resource, const json::Doc& object, const std::string& ns,
                       const std::string& name, std::optional<WallTime> submitted) {
  std::string key = KeyOfOwner(resource, object, ns, name);
  if (resource == "gangs") {
    std::string& job = gang_jobs_[ns + "/" + name];
    key.empty() ? key = job : job = key;  // a patch need not name the job
  }
  std::optional<int64_t> size = SizeOfOwner(resource, object);
  if (key.empty() || (IsGroup(resource) && !size)) return;
  JobRecord& job = jobs_[key];
  // A Gang comes when its job was submitted long ago, and its name is not the job's.
  if (resource != "gangs") job.name = ns + "/" + name;
  if (resource != "gangs" && !job.submitted) job.submitted = submitted;
  if (size) (IsGroup(resource) ? job.min_size : job.size) = size;
}

}  // namespace lockstep::audit
