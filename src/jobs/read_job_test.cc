// Whatever a manifest holds, of whatever kind.
#include "jobs/read_job.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "jobs/pod.h"
#include "jobs/status.h"
#include "jobs/testing.h"

namespace lockstep::jobs {
namespace {

// Random documents in the shape of a job: known names, values of every kind.
json::Doc Garbage(int depth) {
  static const std::vector<std::string> kNames = {"metadata",
                                                  "name",
                                                  "namespace",
                                                  "spec",
                                                  "pytorchReplicaSpecs",
                                                  "tfReplicaSpecs",
                                                  "Master",
                                                  "Worker",
                                                  "worker",
                                                  "Chief",
                                                  "PS",
                                                  "Evaluator",
                                                  "replicas",
                                                  "template",
                                                  "containers",
                                                  "env",
                                                  "ports",
                                                  "containerPort",
                                                  "resources",
                                                  "limits",
                                                  "requests",
                                                  "cpu",
                                                  "image",
                                                  "affinity",
                                                  "initContainers",
                                                  "restartPolicy",
                                                  "runPolicy",
                                                  "suspend",
                                                  "status",
                                                  "conditions",
                                                  "type",
                                                  "elasticPolicy",
                                                  "rdzvConf",
                                                  "nprocPerNode",
                                                  "managedBy",
                                                  "labels",
                                                  "successPolicy",
                                                  "enableDynamicWorker",
                                                  "tolerations",
                                                  "nodeSelector",
                                                  "schedulingPolicy"};
  static const std::vector<std::string> kTexts = {"",       "pytorch", "tensorflow", "1",       "1e99",
                                                  "Failed", "True",    "-",          "\xff\xfe"};
  switch (*rc::gen::inRange(0, depth > 0 ? 8 : 5)) {
    case 0:
      return nullptr;
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
      return *rc::gen::arbitrary<int64_t>();
    case 3:
      return *rc::gen::inRange(-2, 5);
    case 4:
      return *rc::gen::elementOf(kTexts);
    case 5: {
      json::Doc list = json::Doc::array();
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) list.push_back(Garbage(depth - 1));
      return list;
    }
    default: {
      json::Doc object = json::Doc::object();
      for (int i = *rc::gen::inRange(0, 6); i > 0; --i)
        object[*rc::gen::elementOf(kNames)] = Garbage(depth - 1);
      return object;
    }
  }
}

// A valid job with some types of its kind.
json::Doc SoundJob(const Kind& kind) {
  json::Doc roles = json::Doc::object();
  for (std::string_view type : kind.types) {
    bool chief = type == "Master" || type == "Chief";
    if (chief && !roles.empty()) continue;
    if (type != "Worker" && *rc::gen::arbitrary<bool>()) continue;
    roles[std::string(type)] = RoleDoc(std::string(kind.container), chief ? 1 : *rc::gen::inRange(1, 4));
  }
  return {{"apiVersion", kind.resource.ApiVersion()},
          {"kind", kind.resource.kind},
          {"metadata", {{"name", "bert"}, {"namespace", "ml"}, {"uid", "uid-1"}}},
          {"spec", {{std::string(kind.role_specs), std::move(roles)}}}};
}

// Puts garbage somewhere into a valid job, so that the deep paths are reached too.
json::Doc Mutated(const Kind& kind) {
  json::Doc object = SoundJob(kind);
  json::Doc* at = &object;
  while (*rc::gen::inRange(0, 5) != 0 && at->is_structured() && !at->empty()) {
    auto child = at->begin();
    std::advance(child, *rc::gen::inRange<int>(0, static_cast<int>(at->size())));
    at = &*child;
  }
  *at = Garbage(3);
  return object;
}

// Whatever Read lets through, the rest must be able to work with.
void UseAll(const Framework& framework, const json::Doc& object) {
  auto read = framework.Read(object);
  WallTime now{};
  if (auto* invalid = std::get_if<InvalidJob>(&read)) {
    RC_ASSERT(!invalid->errors.empty());
    RC_ASSERT(Finished(InvalidStatus(framework, *invalid, now)));
    return;
  }
  const Job& job = std::get<Job>(read);
  if (!job.ours()) return;
  for (size_t role = 0; role < job.roles.size(); ++role) {
    RC_ASSERT(job.roles[role].replicas > 0);
    json::Doc pod = framework.PodFor(job, role, 0);
    RC_ASSERT(kube::ParsePod(pod).ok());
    (void)ServiceFor(job, job.roles[role], 0);
    (void)framework.LookedUp(job, role, 0);
  }
  std::vector<RoleCounts> counts(job.roles.size());
  size_t role = 0;
  api::GangStatus gang;
  JobFacts facts{
      .gang = &gang, .counts = counts, .verdict = framework.Judge(job, counts, &role), .failed_role = role};
  RC_ASSERT(facts.verdict == Verdict::kGoesOn);
  (void)json::Dump(NextStatus(job, facts, now));
}

RC_GTEST_PROP(Read, TakesASoundJob, ()) {
  for (const Framework* framework : AllFrameworks()) {
    auto read = framework->Read(SoundJob(framework->kind()));
    RC_ASSERT(std::holds_alternative<Job>(read));
    RC_ASSERT(std::get<Job>(read).framework == framework);
  }
}

RC_GTEST_PROP(Read, NeverCrashesOnGarbage, ()) {
  for (const Framework* framework : AllFrameworks()) UseAll(*framework, Garbage(6));
}

RC_GTEST_PROP(Read, NeverCrashesOnAMutatedJob, ()) {
  for (const Framework* framework : AllFrameworks()) UseAll(*framework, Mutated(framework->kind()));
}

}  // namespace
}  // namespace lockstep::jobs
