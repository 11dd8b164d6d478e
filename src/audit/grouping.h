#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/model/meta.h"

namespace lockstep::audit {

// The labels by which pods say to which job they belong and which rank they are; other systems have their
// own.
struct Grouping {
  std::string job_label = "training.kubeflow.org/job-name";
  std::string role_label = "training.kubeflow.org/replica-type";
  std::string index_label = "training.kubeflow.org/replica-index";
};

// The gang of a pod. `key` is empty for a pod of none; it is the UID of the controller, else what GroupKey
// makes, else "namespace/<job label>".
struct Membership {
  std::string key;
  std::string name;             // "namespace/name", for people
  std::optional<int64_t> size;  // where the pod itself says it
};

// In this order: a pod of Lockstep's by its controller; by the mark of a pod group (Volcano, coscheduling,
// Koordinator, Kueue, Kubernetes' own); by a controller whose kind is some Job; by the job label.
Membership GangOf(const kube::Meta& meta, const json::Doc& pod, const Grouping& grouping);

// Which pod of its job it is: the label, or a batch/v1 Job's completion index; "" where nothing says it.
std::string IndexOf(const kube::Meta& meta, const Grouping& grouping);

// The key of the gang that an object describes: of a Gang its job's, of a PodGroup its own, of a job its UID.
std::string KeyOfOwner(std::string_view resource, const json::Doc& object, const std::string& ns,
                       const std::string& name);

// How many pods must start together by the word of a job, Gang or PodGroup, if it says so.
std::optional<int64_t> SizeOfOwner(std::string_view resource, const json::Doc& object);

// Whether it is a Gang or PodGroup, whose word on the size counts for more than the job's.
bool IsGroup(std::string_view resource);

}  // namespace lockstep::audit
