#include "jobs/tensorflow/tf_config.h"

#include "base/ascii.h"
#include "jobs/pod.h"

namespace lockstep::jobs::tensorflow {

namespace {

// Names, namespaces and numbers: nothing in them needs escaping.
std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

// "host:port" of replicas `first` to `last` - 1 of a role, as a JSON list.
std::string Addresses(const Job& job, const Role& role, int32_t first, int32_t last) {
  const std::string tail = "." + job.meta.ns + ".svc:" + std::to_string(PortOf(role, kKind));
  std::string list = "[";
  for (int32_t i = first; i < last; ++i) {
    if (i > first) list += ",";
    list += Quoted(ServiceName(job, role, i) + tail);
  }
  return list + "]";
}

// A type with no replica has no role, but it stands in the cluster.
bool IsWritten(const Job& job, std::string_view type) {
  const json::Doc* specs = json::Key(job.spec.get(), kKind.role_specs);
  if (specs == nullptr || !specs->is_object()) return false;
  for (const auto& [key, value] : specs->items()) {
    if (TypeOf(kKind, key) == type) return true;
  }
  return false;
}

std::string Cluster(const Job& job) {
  std::string cluster;
  for (std::string_view type : kTypes) {
    const Role* role = job.role(type);
    if (role == nullptr && !IsWritten(job, type)) continue;
    cluster += (cluster.empty() ? "" : ",") + Quoted(AsciiLower(type)) + ":";
    cluster += role != nullptr ? Addresses(job, *role, 0, role->replicas) : "[]";
  }
  return "{" + cluster + "}";
}

std::string SparseCluster(const Job& job, const Role& role, int32_t index) {
  std::string worker = "{}", ps = "[]";
  if (role.type == kPS) ps = Addresses(job, role, index, index + 1);
  if (role.type == kWorker) {
    std::string self = Addresses(job, role, index, index + 1);
    worker = "{" + Quoted(std::to_string(index)) + ":" + self.substr(1, self.size() - 2) + "}";
    if (const Role* servers = job.role(kPS)) ps = Addresses(job, *servers, 0, servers->replicas);
  }
  return "{\"worker\":" + worker + ",\"ps\":" + ps + "}";
}

}  // namespace

bool HasChief(const Job& job) { return job.role(kChief) != nullptr || job.role(kMaster) != nullptr; }

bool IsDistributed(const Job& job) { return job.pods() != 1; }

bool HasDynamicWorkers(const Job& job) { return json::GetBool(*job.spec, "enableDynamicWorker"); }

std::string TfConfig(const Job& job, const Role& role, int32_t index) {
  bool sparse = HasDynamicWorkers(job);
  return "{\"cluster\":" + (sparse ? SparseCluster(job, role, index) : Cluster(job)) +
         ",\"task\":{\"type\":" + Quoted(AsciiLower(role.type)) + ",\"index\":" + std::to_string(index) +
         "}" + (sparse ? "" : ",\"environment\":\"cloud\"") + "}";
}

}  // namespace lockstep::jobs::tensorflow
