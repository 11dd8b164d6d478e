#include "jobs/pytorch/validation.h"

#include <charconv>

#include "kube/model/reader.h"

namespace lockstep::jobs::pytorch {

namespace {

constexpr int64_t kInt32 = INT32_MAX;

// Upstream asks for an explicit 1: a missing count is an error too.
void CheckMaster(const json::Doc& spec, FieldErrors& errors) {
  const json::Doc* master = json::Find(spec, "pytorchReplicaSpecs.Master");
  if (master == nullptr || !master->is_object()) return;
  const json::Doc* replicas = json::Key(master, "replicas");
  const std::string path = "spec.pytorchReplicaSpecs.Master.replicas";
  if (replicas == nullptr || replicas->is_null()) {
    errors.Add(path, "must be 1, is not set");
  } else if (replicas->is_number_integer() && *replicas > 1) {
    errors.Add(path, "must be 1", *replicas);
  }
}

void CheckRendezvousConf(const json::Doc* policy, const std::string& path, FieldErrors& errors) {
  const json::Doc* conf = errors.Array(policy, path, "rdzvConf");
  if (conf == nullptr) return;
  for (size_t i = 0; i < conf->size(); ++i) {
    std::string at = kube::Join(kube::Join(path, "rdzvConf"), i);
    if (!(*conf)[i].is_object()) {
      errors.Add(at, "must be an object", (*conf)[i]);
      continue;
    }
    errors.Text(&(*conf)[i], at, "key");
    errors.Text(&(*conf)[i], at, "value");
  }
}

void CheckElastic(const json::Doc& spec, FieldErrors& errors) {
  const std::string path = "spec.elasticPolicy";
  const json::Doc* policy = errors.Object(&spec, "spec", "elasticPolicy");
  if (policy == nullptr) return;
  if (json::Find(spec, "pytorchReplicaSpecs.Worker") == nullptr) {
    errors.Add(path, "needs spec.pytorchReplicaSpecs.Worker");
  }
  std::optional<int64_t> min = errors.Int(policy, path, "minReplicas", 1, kInt32);
  std::optional<int64_t> max = errors.Int(policy, path, "maxReplicas", 1, kInt32);
  if (min && max && *min > *max) {
    errors.Add(kube::Join(path, "minReplicas"), "must be at most maxReplicas " + std::to_string(*max),
               json::Doc(*min));
  }
  errors.Int(policy, path, "maxRestarts", 0, kInt32);
  errors.Int(policy, path, "rdzvPort", 1, 65535);
  errors.Text(policy, path, "rdzvBackend");
  errors.Text(policy, path, "rdzvHost");
  errors.Text(policy, path, "rdzvId");
  errors.Bool(policy, path, "standalone");
  errors.Array(policy, path, "metrics");
  CheckRendezvousConf(policy, path, errors);
  std::optional<int64_t> nproc = errors.Int(policy, path, "nProcPerNode", 1, kInt32);
  const json::Doc* own = json::Key(&spec, "nprocPerNode");
  if (nproc && own != nullptr && !own->is_null()) {
    errors.Add(kube::Join(path, "nProcPerNode"),
               "is deprecated and must not be set together with spec.nprocPerNode");
  }
}

// Numbers must be counts; words (auto, cpu, gpu, xpu) are torchrun's to judge.
void CheckNproc(const json::Doc& spec, FieldErrors& errors) {
  std::optional<std::string> text = errors.Text(&spec, "spec", "nprocPerNode");
  if (!text) return;
  std::string_view digits = *text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int64_t number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool numeric = end != digits.data() && end == digits.data() + digits.size();
  if (numeric && (error != std::errc{} || number < 1 || number > 1'000'000)) {
    errors.Add("spec.nprocPerNode", "must be auto, cpu, gpu or a number from 1 to 1000000", json::Doc(*text));
  }
}

}  // namespace

void CheckSpec(const Job& job, FieldErrors& errors) {
  CheckMaster(*job.spec, errors);
  CheckNproc(*job.spec, errors);
  CheckElastic(*job.spec, errors);
}

}  // namespace lockstep::jobs::pytorch
