#include "jobs/tensorflow/validation.h"

#include "jobs/tensorflow/tf_config.h"

namespace lockstep::jobs::tensorflow {

namespace {

// Linux starts no program with a longer string in its environment (MAX_ARG_STRLEN, 32 pages): "TF_CONFIG=",
// the value and a zero byte.
constexpr size_t kMostConfigBytes = 131072 - sizeof("TF_CONFIG=");
// Fewer pods can't reach it: a host of DNS labels of 63 characters and a port are below 140 bytes.
constexpr int32_t kSurelyFewEnough = 900;

void CheckChief(const Job& job, FieldErrors& errors) {
  if (job.role(kChief) == nullptr || job.role(kMaster) == nullptr) return;
  errors.Add("spec.tfReplicaSpecs", "must not have both Chief and Master");
}

void CheckConfig(const Job& job, FieldErrors& errors) {
  if (!errors.empty() || job.pods() <= kSurelyFewEnough) return;
  const Role& last = job.roles.back();
  size_t bytes = TfConfig(job, last, last.replicas - 1).size();
  if (bytes <= kMostConfigBytes) return;
  errors.Add("spec.tfReplicaSpecs",
             "must have fewer replicas: TF_CONFIG would have " + std::to_string(bytes) +
                 " bytes, and no process can be started with more than " + std::to_string(kMostConfigBytes));
}

}  // namespace

void CheckSpec(const Job& job, FieldErrors& errors) {
  CheckChief(job, errors);
  errors.Word(job.spec.get(), "spec", "successPolicy", {"", "AllWorkers"});
  errors.Bool(job.spec.get(), "spec", "enableDynamicWorker");
  CheckConfig(job, errors);
}

}  // namespace lockstep::jobs::tensorflow
