#include "jobs/pytorch/environment.h"

#include <charconv>

#include "jobs/pod.h"

namespace lockstep::jobs::pytorch {

namespace {

// Upstream's --pytorch-init-container-image and --pytorch-init-container-max-tries.
constexpr const char* kInitImage = "alpine:3.10";
constexpr const char* kInitTries = "100";

class Env {
 public:
  void Add(const char* name, std::string value) {
    list_.push_back({{"name", name}, {"value", std::move(value)}});
  }
  void Add(const char* name, int64_t value) { Add(name, std::to_string(value)); }
  json::Doc Take() { return std::move(list_); }

 private:
  json::Doc list_ = json::Doc::array();
};

const json::Doc* Elastic(const Job& job) {
  const json::Doc* policy = json::Key(job.spec.get(), "elasticPolicy");
  return policy != nullptr && policy->is_object() ? policy : nullptr;
}

std::optional<int64_t> IntAt(const json::Doc& object, std::string_view key) {
  const json::Doc* value = json::Key(&object, key);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  return value->get<int64_t>();
}

std::optional<std::string> TextAt(const json::Doc& object, std::string_view key) {
  const json::Doc* value = json::Key(&object, key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

// "auto" unless the deprecated field of the elastic policy is used instead.
std::optional<std::string> NprocPerNode(const Job& job) {
  if (auto own = TextAt(*job.spec, "nprocPerNode")) return own;
  const json::Doc* elastic = Elastic(job);
  if (elastic != nullptr && IntAt(*elastic, "nProcPerNode")) return std::nullopt;
  return "auto";
}

// 1 for "auto", "cpu", "gpu": only torchrun knows then. Go's Atoi: a sign is allowed.
int64_t NprocNumber(const Job& job) {
  std::optional<std::string> text = NprocPerNode(job);
  if (!text) return 1;
  std::string_view digits = *text;
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
  int64_t number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() ? number : 1;
}

// "min:max"; one stands for the other, the workers' count for both.
std::string NodeRange(const Job& job, const json::Doc& elastic) {
  std::optional<int64_t> min = IntAt(elastic, "minReplicas"), max = IntAt(elastic, "maxReplicas");
  const Role* worker = job.role(kWorker);
  int64_t workers = worker != nullptr ? worker->replicas : 0;
  int64_t low = min.value_or(max.value_or(workers));
  return std::to_string(low) + ":" + std::to_string(max.value_or(low));
}

std::string JoinConf(const json::Doc& conf) {
  std::string text;
  for (const json::Doc& pair : conf) {
    if (!text.empty()) text += ",";
    text += json::GetString(pair, "key") + "=" + json::GetString(pair, "value");
  }
  return text;
}

void AddElastic(Env& env, const Job& job, const json::Doc& elastic) {
  env.Add("PET_RDZV_ENDPOINT", RendezvousEndpoint(job));
  env.Add("PET_RDZV_BACKEND", TextAt(elastic, "rdzvBackend").value_or("c10d"));
  env.Add("PET_NNODES", NodeRange(job, elastic));
  if (auto restarts = IntAt(elastic, "maxRestarts")) env.Add("PET_MAX_RESTARTS", *restarts);
  if (auto nproc = IntAt(elastic, "nProcPerNode")) env.Add("PET_NPROC_PER_NODE", *nproc);
  if (auto id = TextAt(elastic, "rdzvId")) env.Add("PET_RDZV_ID", *id);
  const json::Doc* conf = json::Key(&elastic, "rdzvConf");
  if (conf != nullptr && conf->is_array() && !conf->empty()) env.Add("PET_RDZV_CONF", JoinConf(*conf));
  if (json::GetBool(elastic, "standalone")) env.Add("PET_STANDALONE", "");
}

}  // namespace

json::Doc Environment(const Job& job, const Role& role, int32_t index) {
  Env env;
  env.Add("PYTHONUNBUFFERED", "1");
  if (const Role* master = job.role(kMaster)) {
    std::string address = ServiceName(job, *master, 0);
    int64_t port = PortOf(*master, kKind);
    env.Add("MASTER_PORT", port);
    env.Add("PET_MASTER_PORT", port);
    env.Add("MASTER_ADDR", address);
    env.Add("PET_MASTER_ADDR", address);
    int64_t rank = role.type == kWorker ? int64_t{index} + 1 : index;
    env.Add("WORLD_SIZE", job.pods() * NprocNumber(job));
    env.Add("RANK", rank);
    env.Add("PET_NODE_RANK", rank);
  }
  if (auto nproc = NprocPerNode(job)) env.Add("PET_NPROC_PER_NODE", *nproc);
  if (const json::Doc* elastic = Elastic(job)) {
    AddElastic(env, job, *elastic);
  } else {
    env.Add("PET_NNODES", job.pods());
  }
  return env.Take();
}

std::string RendezvousEndpoint(const Job& job) {
  const json::Doc* elastic = Elastic(job);
  const Role* worker = job.role(kWorker);
  if (elastic == nullptr || worker == nullptr) return "";
  std::string host = TextAt(*elastic, "rdzvHost").value_or(ServiceName(job, *worker, 0));
  return host + ":" + std::to_string(IntAt(*elastic, "rdzvPort").value_or(PortOf(*worker, kKind)));
}

bool MeetsAtWorkerZero(const Job& job) {
  const json::Doc* elastic = Elastic(job);
  const Role* worker = job.role(kWorker);
  if (elastic == nullptr || worker == nullptr) return false;
  std::optional<std::string> host = TextAt(*elastic, "rdzvHost");
  std::string own = ServiceName(job, *worker, 0);
  return !host || *host == own || host->starts_with(own + ".");
}

json::Doc InitContainer(const Job& job) {
  const Role* master = job.role(kMaster);
  std::string wait = "err=1;for i in $(seq " + std::string(kInitTries) + "); do if nslookup " +
                     (master != nullptr ? ServiceName(job, *master, 0) : "") +
                     "; then err=0 && break; fi;echo waiting for master; sleep 2; done; exit $err";
  return {{"name", "init-pytorch"},
          {"image", kInitImage},
          {"imagePullPolicy", "IfNotPresent"},
          {"resources",
           {{"limits", {{"cpu", "100m"}, {"memory", "20Mi"}}},
            {"requests", {{"cpu", "50m"}, {"memory", "10Mi"}}}}},
          {"command", {"sh", "-c", wait}}};
}

}  // namespace lockstep::jobs::pytorch
