#include "sim/manifests.h"

#include <cmath>

#include "api/labels.h"
#include "base/ascii.h"
#include "base/time.h"
#include "jobs/framework.h"
#include "jobs/pod.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kHollow = "hollow.lockstep.dev/";

struct ProgrammeOption {
  const char* option;
  const char* annotation;
  bool truth;  // yes is written "true"
};
constexpr ProgrammeOption kProgramme[] = {
    {"runtime", "run-time", false},        {"exit", "exit-code", false},
    {"start-delay", "start-delay", false}, {"start-error", "start-error", false},
    {"ignore-term", "ignore-term", true},  {"term-exit", "term-exit-code", false},
    {"hang", "hang-terminating", true},
};

Result<bool> ParseYes(const std::string& key, const std::string& value) {
  if (value == "yes") return true;
  if (value == "no") return false;
  return Error{key + ": must be yes or no, is \"" + value + "\""};
}

std::vector<std::string> SplitAt(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool IsBytes(std::string_view resource) { return resource == "memory" || resource == "ephemeral-storage"; }

// Rules between the pods of one job, whatever its name: near, apart, spread.
Outcome TakeRules(Words& words, const std::string& prefix, json::Doc& spec) {
  json::Doc own = {{"labelSelector", json::Doc::object()},
                   {"matchLabelKeys", json::Doc::array({"training.kubeflow.org/job-name"})}};
  constexpr const char* kKinds[][2] = {{"near", "podAffinity"}, {"apart", "podAntiAffinity"}};
  for (const auto& [option, kind] : kKinds) {
    while (auto key = words.TakeOption(prefix + option)) {
      own["topologyKey"] = *key;
      spec["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"].push_back(own);
    }
  }
  while (auto spread = words.TakeOption(prefix + "spread")) {
    size_t colon = spread->find(':');
    Result<int64_t> skew = ParseCount(colon == std::string::npos ? "1" : spread->substr(colon + 1), 1, 1000);
    if (!skew.ok()) return Error{"spread: " + skew.error().message};
    own["topologyKey"] = spread->substr(0, colon);
    own["maxSkew"] = *skew;
    own["whenUnsatisfiable"] = "DoNotSchedule";
    spec["topologySpreadConstraints"].push_back(own);
  }
  return {};
}

// Preferred node affinity: `prefer=zone:a|b:50`, and claims: `claim=data`.
Outcome TakeWishes(Words& words, const std::string& prefix, json::Doc& spec) {
  while (auto prefer = words.TakeOption(prefix + "prefer")) {
    std::vector<std::string> parts = SplitAt(*prefer, ':');
    Error wrong{"prefer: must be like zone:a|b:50, is \"" + *prefer + "\""};
    if (parts.size() != 3) return wrong;
    Result<int64_t> weight = ParseCount(parts[2], 1, 100);
    if (!weight.ok()) return wrong;
    json::Doc expression = {{"key", parts[0]}, {"operator", "In"}, {"values", SplitAt(parts[1], '|')}};
    json::Doc term = {{"weight", *weight},
                      {"preference", {{"matchExpressions", json::Doc::array({expression})}}}};
    spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"].push_back(term);
  }
  while (auto claim = words.TakeOption(prefix + "claim")) {
    json::Doc volume = {{"name", *claim}, {"persistentVolumeClaim", {{"claimName", *claim}}}};
    spec["volumes"].push_back(volume);
  }
  return {};
}

// Where the pods of a role may run: select, tolerate, affinity, and rules between them.
Outcome TakePlaces(Words& words, const std::string& prefix, json::Doc& spec) {
  while (auto select = words.TakeOption(prefix + "select")) {
    Result<std::pair<std::string, std::string>> label = ParsePair(*select);
    if (!label.ok()) return Error{"select: " + label.error().message};
    spec["nodeSelector"][label->first] = label->second;
  }
  while (auto tolerate = words.TakeOption(prefix + "tolerate")) {
    json::Doc toleration = {{"key", *tolerate}, {"operator", "Exists"}};
    if (*tolerate == "all") toleration = {{"operator", "Exists"}};
    spec["tolerations"].push_back(toleration);
  }
  if (auto affinity = words.TakeOption(prefix + "affinity")) {
    size_t colon = affinity->find(':');
    if (colon == std::string::npos) return Error{"affinity: must be like zone:a|b, is \"" + *affinity + "\""};
    json::Doc expression = {{"key", affinity->substr(0, colon)},
                            {"operator", "In"},
                            {"values", SplitAt(affinity->substr(colon + 1), '|')}};
    json::Doc term = {{"matchExpressions", json::Doc::array({expression})}};
    spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
        json::Doc::array({term});
  }
  if (Outcome error = TakeWishes(words, prefix, spec)) return error;
  return TakeRules(words, prefix, spec);
}

json::Doc Container(std::string_view name, const kube::Resources& resources) {
  json::Doc container = {{"name", name}, {"image", "registry.example.com/train:1"}};
  for (const auto& [resource, amount] : resources) {
    std::string text = kube::FormatQuantity(amount, IsBytes(resource));
    container["resources"]["requests"][resource] = text;
    if (resource.find('/') != std::string::npos) container["resources"]["limits"][resource] = text;
  }
  return container;
}

// Options of one role over those of all.
template <class Map>
Map Over(Map all, const Map& own) {
  for (const auto& [key, value] : own) all[key] = value;
  return all;
}

struct RoleOptions {
  kube::Resources resources;
  kube::Labels programme;
  std::optional<std::string> restart, port, priority;
  json::Doc places = json::Doc::object();
};

Result<RoleOptions> TakeRole(Words& words, const std::string& prefix) {
  RoleOptions role;
  Result<kube::Resources> resources = TakeResources(words, prefix);
  if (!resources.ok()) return resources.error();
  role.resources = *resources;
  Result<kube::Labels> programme = TakeProgramme(words, prefix);
  if (!programme.ok()) return programme.error();
  role.programme = *programme;
  role.restart = words.TakeOption(prefix + "restart");
  role.port = words.TakeOption(prefix + "port");
  role.priority = words.TakeOption(prefix + "priority");
  if (Outcome error = TakePlaces(words, prefix, role.places)) return *error;
  return role;
}

json::Doc Role(std::string_view container_name, int64_t replicas, const RoleOptions& all,
               const RoleOptions& own) {
  json::Doc spec = all.places;
  for (const auto& [key, value] : own.places.items()) spec[key] = value;
  if (auto priority = own.priority ? own.priority : all.priority) spec["priorityClassName"] = *priority;
  json::Doc container = Container(container_name, Over(all.resources, own.resources));
  if (std::optional<std::string> port = own.port ? own.port : all.port) {
    int number = std::atoi(port->c_str());
    container["ports"] =
        json::Doc::array({{{"name", "data"}, {"containerPort", number}, {"hostPort", number}}});
  }
  spec["containers"] = json::Doc::array({container});
  json::Doc pod_template = {{"spec", spec}};
  for (const auto& [key, value] : Over(all.programme, own.programme)) {
    pod_template["metadata"]["annotations"][key] = value;
  }
  json::Doc role = {{"replicas", replicas}, {"template", pod_template}};
  if (own.restart || all.restart) role["restartPolicy"] = own.restart ? *own.restart : *all.restart;
  return role;
}

Outcome TakeRunPolicy(Words& words, json::Doc& job) {
  json::Doc& policy = job["spec"]["runPolicy"] = json::Doc::object();
  if (auto backoff = words.TakeOption("backoff")) {
    Result<int64_t> limit = ParseCount(*backoff, 0, 1000);
    if (!limit.ok()) return Error{"backoff: " + limit.error().message};
    policy["backoffLimit"] = *limit;
  }
  if (auto clean = words.TakeOption("clean")) policy["cleanPodPolicy"] = *clean;
  if (auto manager = words.TakeOption("managed-by")) policy["managedBy"] = *manager;
  if (auto suspend = words.TakeOption("suspend")) {
    Result<bool> yes = ParseYes("suspend", *suspend);
    if (!yes.ok()) return yes.error();
    policy["suspend"] = *yes;
  }
  while (auto label = words.TakeOption("label")) {
    Result<std::pair<std::string, std::string>> pair = ParsePair(*label);
    if (!pair.ok()) return Error{"label: " + pair.error().message};
    job["metadata"]["labels"][pair->first] = pair->second;
  }
  if (policy.empty()) job["spec"].erase("runPolicy");
  return {};
}

Outcome TakeTensorFlowOptions(Words& words, json::Doc& job) {
  if (auto success = words.TakeOption("success")) job["spec"]["successPolicy"] = *success;
  if (auto dynamic = words.TakeOption("dynamic")) {
    Result<bool> yes = ParseYes("dynamic", *dynamic);
    if (!yes.ok()) return yes.error();
    job["spec"]["enableDynamicWorker"] = *yes;
  }
  return {};
}

// The option that says how many: `workers=8`, but `chief=1 ps=2`.
std::string CountOption(std::string_view type) { return type == "Worker" ? "workers" : AsciiLower(type); }

}  // namespace

Result<kube::Resources> TakeResources(Words& words, const std::string& prefix) {
  std::map<std::string, std::string> names = {{prefix + "gpu", "nvidia.com/gpu"},
                                              {prefix + "cpu", "cpu"},
                                              {prefix + "memory", "memory"},
                                              {prefix + "pods", "pods"}};
  for (const auto& [key, value] : words.options()) {
    bool own = key.rfind(prefix, 0) == 0;
    if (own && key.find('/') != std::string::npos) names[key] = key.substr(prefix.size());
  }
  kube::Resources resources;
  for (const auto& [key, resource] : names) {
    std::optional<std::string> text = words.TakeOption(key);
    if (!text) continue;
    Result<kube::Amount> amount = kube::ParseQuantity(*text);
    if (!amount.ok()) return Error{key + ": " + amount.error().message};
    resources[resource] = *amount;
  }
  return resources;
}

Result<kube::Labels> TakeProgramme(Words& words, const std::string& prefix) {
  kube::Labels annotations;
  for (const ProgrammeOption& known : kProgramme) {
    std::optional<std::string> value = words.TakeOption(prefix + known.option);
    if (!value) continue;
    if (known.truth) {
      Result<bool> yes = ParseYes(known.option, *value);
      if (!yes.ok()) return yes.error();
      value = *yes ? "true" : "false";
    }
    bool duration =
        std::string_view(known.option) == "runtime" || std::string_view(known.option) == "start-delay";
    if (duration && *value != "forever") {
      Result<Duration> parsed = ParseDuration(*value);
      if (!parsed.ok()) return Error{std::string(known.option) + ": " + parsed.error().message};
    }
    annotations[std::string(kHollow) + known.annotation] = *value;
  }
  return annotations;
}

Result<json::Doc> TakeJob(const jobs::Kind& kind, Words& words) {
  json::Doc job = {{"apiVersion", kind.resource.ApiVersion()}, {"kind", kind.resource.kind}};
  job["metadata"] = json::Doc::object();
  std::vector<std::pair<std::string_view, int64_t>> counts;
  for (std::string_view type : kind.types) {
    std::optional<std::string> text = words.TakeOption(CountOption(type));
    if (!text) continue;
    Result<int64_t> count = ParseCount(*text, -1000, 1'000'000);
    if (!count.ok()) return Error{CountOption(type) + ": " + count.error().message};
    if (*count != 0) counts.emplace_back(type, *count);
  }
  if (counts.empty()) return Error{"a job needs workers=N or " + CountOption(kind.types.front()) + "=1"};
  // Options of one role first: what is left is for all.
  std::vector<RoleOptions> own;
  for (const auto& [type, count] : counts) {
    Result<RoleOptions> role = TakeRole(words, AsciiLower(type) + ".");
    if (!role.ok()) return role.error();
    own.push_back(*std::move(role));
  }
  Result<RoleOptions> all = TakeRole(words, "");
  if (!all.ok()) return all.error();
  for (size_t i = 0; i < counts.size(); ++i) {
    json::Doc role = Role(kind.container, counts[i].second, *all, own[i]);
    job["spec"][std::string(kind.role_specs)][std::string(counts[i].first)] = std::move(role);
  }
  if (Outcome error = TakeRunPolicy(words, job)) return *error;
  if (&kind.resource == &kube::kTFJobs) {
    if (Outcome error = TakeTensorFlowOptions(words, job)) return *error;
  }
  return job;
}

namespace {

// What a pod says of the gang it starts with.
void TakeGroup(Words& words, json::Doc& pod) {
  std::pair<const char*, std::string_view> labels[] = {
      {"gang", api::kGangLabel}, {"gang-size", api::kGangSizeLabel}, {"pod-group", api::kPodGroupLabel}};
  for (auto [option, label] : labels) {
    if (auto value = words.TakeOption(option)) pod["metadata"]["labels"][std::string(label)] = *value;
  }
  if (auto scheduler = words.TakeOption("scheduler")) pod["spec"]["schedulerName"] = *scheduler;
  while (auto gate = words.TakeOption("gate")) {
    std::string name = *gate == "yes" ? std::string(api::kGangGate) : *gate;
    pod["spec"]["schedulingGates"].push_back({{"name", name}});
  }
}

}  // namespace

Result<json::Doc> TakePod(Words& words) {
  Result<RoleOptions> options = TakeRole(words, "");
  if (!options.ok()) return options.error();
  json::Doc pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", json::Doc::object()}};
  pod["spec"] = options->places;
  pod["spec"]["restartPolicy"] = options->restart.value_or("Never");
  pod["spec"]["containers"] = json::Doc::array({Container("main", options->resources)});
  for (const auto& [key, value] : options->programme) pod["metadata"]["annotations"][key] = value;
  if (auto node = words.TakeOption("node")) pod["spec"]["nodeName"] = *node;
  if (options->priority) pod["spec"]["priorityClassName"] = *options->priority;
  TakeGroup(words, pod);
  return pod;
}

Result<kube::Taint> ParseTaint(std::string_view text) {
  size_t colon = text.rfind(':');
  Error wrong{"must be like key=value:NoSchedule, is \"" + std::string(text) + "\""};
  if (colon == std::string_view::npos || colon == 0) return wrong;
  kube::Taint taint;
  taint.effect = std::string(text.substr(colon + 1));
  if (taint.effect != "NoSchedule" && taint.effect != "NoExecute" && taint.effect != "PreferNoSchedule")
    return wrong;
  std::string_view key = text.substr(0, colon);
  size_t equals = key.find('=');
  taint.key = std::string(key.substr(0, equals));
  if (equals != std::string_view::npos) taint.value = std::string(key.substr(equals + 1));
  return taint;
}

Result<std::pair<std::string, std::string>> ParsePair(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Error{"must be like key=value, is \"" + std::string(text) + "\""};
  }
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

kube::Labels Scaled(kube::Labels programme, double factor) {
  for (const char* name : {"run-time", "start-delay"}) {
    auto found = programme.find(std::string(kHollow) + name);
    if (found == programme.end()) continue;
    Result<Duration> duration = ParseDuration(found->second);
    if (!duration.ok()) continue;  // "forever"
    found->second = FormatDuration(Duration(std::llround(static_cast<double>(duration->count()) / factor)));
  }
  return programme;
}

namespace {

// The kind of a job's manifest; null for anything else.
const jobs::Kind* KindOf(const json::Doc& manifest) {
  const kube::Resource* resource =
      kube::FindResource(json::GetString(manifest, "apiVersion"), json::GetString(manifest, "kind"));
  const jobs::Framework* framework = resource != nullptr ? jobs::FrameworkOf(*resource) : nullptr;
  return framework != nullptr ? &framework->kind() : nullptr;
}

// The metadata of every pod that a manifest describes.
std::vector<json::Doc*> PodMetadata(json::Doc& manifest) {
  std::vector<json::Doc*> found;
  if (json::GetString(manifest, "kind") == "Pod") return {&manifest["metadata"]};
  const jobs::Kind* kind = KindOf(manifest);
  if (kind == nullptr || jobs::RoleSpecs(*kind, manifest) == nullptr) return {};
  for (json::Doc& role : manifest["spec"][std::string(kind->role_specs)]) {
    if (role.is_object() && role.contains("template") && role["template"].is_object()) {
      found.push_back(&role["template"]["metadata"]);
    }
  }
  return found;
}

}  // namespace

void ScaleProgrammes(json::Doc& manifest, double factor) {
  for (json::Doc* metadata : PodMetadata(manifest)) {
    if (!metadata->is_object() || !metadata->contains("annotations")) continue;
    kube::Labels annotations;
    for (const auto& [key, value] : (*metadata)["annotations"].items()) {
      if (value.is_string()) annotations[key] = value.get<std::string>();
    }
    for (const auto& [key, value] : Scaled(std::move(annotations), factor))
      (*metadata)["annotations"][key] = value;
  }
}

void AddRendezvous(json::Doc& manifest, const std::string& job) {
  int64_t pods = 0;
  const jobs::Kind* kind = KindOf(manifest);
  const json::Doc* roles = kind != nullptr ? jobs::RoleSpecs(*kind, manifest) : nullptr;
  if (roles == nullptr) return;
  for (const json::Doc& role : *roles) pods += json::GetInt(role, "replicas", 1);
  for (json::Doc* metadata : PodMetadata(manifest)) {
    (*metadata)["annotations"][std::string(kHollow) + "rendezvous"] = job + "/" + std::to_string(pods);
  }
}

}  // namespace lockstep::sim
