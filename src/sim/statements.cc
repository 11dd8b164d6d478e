#include "sim/statements.h"

#include "jobs/framework.h"
#include "sim/expectations.h"
#include "sim/manifests.h"

namespace lockstep::sim {

namespace {

using NodeCounts = std::map<std::string, int64_t>;

Error In(const std::string& what, const Error& error) { return Error{what + ": " + error.message}; }

Outcome TakeNodeOptions(Words& words, AddNodes& nodes) {
  Result<kube::Resources> capacity = TakeResources(words);
  if (!capacity.ok()) return capacity.error();
  nodes.capacity = *capacity;
  const std::pair<const char*, const char*> defaults[] = {
      {"cpu", "64"}, {"memory", "256Gi"}, {"pods", "110"}};
  for (auto [resource, amount] : defaults) nodes.capacity.try_emplace(resource, *kube::ParseQuantity(amount));
  while (auto label = words.TakeOption("label")) {
    Result<std::pair<std::string, std::string>> pair = ParsePair(*label);
    if (!pair.ok()) return In("label", pair.error());
    nodes.labels[pair->first] = pair->second;
  }
  while (auto text = words.TakeOption("taint")) {
    Result<kube::Taint> taint = ParseTaint(*text);
    if (!taint.ok()) return In("taint", taint.error());
    nodes.taints.push_back(*taint);
  }
  return {};
}

Result<Deed> ParseCluster(Words& words, NodeCounts& nodes_so_far) {
  std::optional<std::string> text = words.TakeOption("nodes");
  if (!text) return Error{"cluster: must say nodes=N"};
  Result<int64_t> count = ParseCount(*text, 0, 100'000);
  if (!count.ok()) return In("nodes", count.error());
  std::string prefix = words.TakeOption("prefix").value_or("node-");
  AddNodes nodes;
  for (int64_t i = 0; i < *count; ++i) nodes.names.push_back(prefix + std::to_string(nodes_so_far[prefix]++));
  if (Outcome error = TakeNodeOptions(words, nodes)) return *error;
  return Deed(std::move(nodes));
}

// Names are the next word of every statement that has some.
Result<std::vector<std::string>> TakeNames(Words& words, const std::string& of_what) {
  if (words.empty()) return Error{"the name of a " + of_what + " is missing"};
  Result<std::vector<std::string>> names = ParseNames(words.Take());
  if (!names.ok()) return In(of_what + " names", names.error());
  return names;
}

Result<Deed> ParseAdd(Words& words) {
  if (!words.TakeIf("node")) return Error{"add: only nodes can be added: add node NAME gpu=8"};
  Result<std::vector<std::string>> names = TakeNames(words, "node");
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    if (name.back() < '0' || name.back() > '9')
      return Error{"add node: the name must end in a number, is " + name};
  }
  AddNodes nodes{*names, {}, {}, {}};
  if (Outcome error = TakeNodeOptions(words, nodes)) return *error;
  return Deed(std::move(nodes));
}

Result<Deed> ParseSubmit(Words& words) {
  std::string kind = words.Take();
  if (kind == "manifest") {
    if (words.empty()) return Error{"submit manifest: the path is missing"};
    return Deed(SubmitManifest{words.Take()});
  }
  const jobs::Framework* framework = jobs::FrameworkNamed(kind);
  if (framework == nullptr) {
    return Error{"submit: must be " + jobs::FrameworkNames() + " or manifest, is \"" + kind + "\""};
  }
  Result<std::vector<std::string>> names = TakeNames(words, "job");
  if (!names.ok()) return names.error();
  std::optional<std::string> rendezvous = words.TakeOption("rendezvous");
  Result<json::Doc> manifest = TakeJob(framework->kind(), words);
  if (!manifest.ok()) return manifest.error();
  return Deed(Submit{*names, *manifest, rendezvous == "yes"});
}

Result<Deed> ParsePod(Words& words) {
  Result<std::vector<std::string>> names = TakeNames(words, "pod");
  if (!names.ok()) return names.error();
  Result<json::Doc> manifest = TakePod(words);
  if (!manifest.ok()) return manifest.error();
  return Deed(ForeignPod{*names, *manifest});
}

Result<Deed> ParseExpect(Words& words) {
  Expect expect;
  expect.what = words.Take();
  const Expectation* known = FindExpectation(expect.what);
  if (known == nullptr)
    return Error{"expect: must be one of " + ExpectationNames() + ", is \"" + expect.what + "\""};
  if (known->takes_names) {
    Result<std::vector<std::string>> names = TakeNames(words, "job");
    if (!names.ok()) return names.error();
    expect.names = *names;
  }
  std::vector<std::string> rest = words.TakeRest();
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] != "because") {
      expect.arguments.push_back(rest[i]);
    } else if (i + 2 == rest.size()) {
      expect.because = rest[++i];
    } else {
      return Error{"because: must be the last word but one, followed by a text in quotes"};
    }
  }
  for (const auto& [key, value] : std::multimap(words.options()))
    expect.options[key] = *words.TakeOption(key);
  if (Outcome error = CheckExpect(expect)) return *error;
  return Deed(std::move(expect));
}

Result<Deed> ParseCrash(bool leader, Words& words) {
  ChangeOperators crash;
  crash.what = leader ? ChangeOperators::What::kCrashLeader : ChangeOperators::What::kCrashAll;
  if (auto after = words.TakeOption("after")) {
    Result<int64_t> writes = ParseCount(*after, 0, 1'000'000'000);
    if (!writes.ok()) return In("after", writes.error());
    crash.after = *writes;
    crash.lost = words.TakeOption("lost") == "yes";
  }
  return Deed(crash);
}

Result<Deed> ParseOperators(const std::string& verb, Words& words) {
  using What = ChangeOperators::What;
  if (verb == "operators") {
    Result<int64_t> count = ParseCount(words.Take(), 1, 5);
    if (!count.ok()) return In("operators", count.error());
    return Deed(ChangeOperators{What::kReplicas, static_cast<int>(*count)});
  }
  std::string who = words.Take();
  if (verb == "start" && who == "operator") return Deed(ChangeOperators{What::kStart});
  if (verb == "crash" && (who == "operator" || who == "leader")) return ParseCrash(who == "leader", words);
  if (verb == "stop" && who == "leader") return Deed(ChangeOperators{What::kStopLeader});
  return Error{verb + ": must be start operator, crash operator, crash leader or stop leader"};
}

Result<Deed> ParseConfigure(Words& words) {
  std::string text = words.TakeOption("assign").value_or("");
  std::optional<api::Way> way = api::ParseWay(text);
  if (!way || *way == api::Way::kSteer) return Error{"operator: must say assign=assign or assign=bind"};
  return Deed(Configure{*way});
}

Result<Deed> ParseDelete(Words& words) {
  Delete deed;
  deed.kind = words.Take();
  if (deed.kind != "job" && deed.kind != "pod" && deed.kind != "gang" && deed.kind != "node" &&
      deed.kind != "service" && deed.kind != "quota" && deed.kind != "daemonset") {
    return Error{"delete: must be job, pod, gang, node, service, quota or daemonset, is \"" + deed.kind +
                 "\""};
  }
  Result<std::vector<std::string>> names = TakeNames(words, deed.kind);
  if (!names.ok()) return names.error();
  deed.names = *names;
  if (auto grace = words.TakeOption("grace")) {
    Result<int64_t> grace_seconds = ParseCount(*grace, 0, 3600);
    if (!grace_seconds.ok()) return In("grace", grace_seconds.error());
    deed.grace_seconds = *grace_seconds;
  }
  deed.disruption = words.TakeOption("disruption").value_or("");
  if (!deed.disruption.empty() && deed.kind != "pod") return Error{"disruption=: only pods are disrupted"};
  return Deed(std::move(deed));
}

Result<Deed> ParseChangeNode(const std::string& verb, Words& words) {
  Result<std::vector<std::string>> names = TakeNames(words, "node");
  if (!names.ok()) return names.error();
  ChangeNode change;
  change.names = *names;
  if (verb == "cordon" || verb == "uncordon") change.unschedulable = verb == "cordon";
  if (verb == "untaint") change.remove_taints = words.TakeRest();
  if (verb == "taint") {
    // "k=v:NoSchedule" was taken for an option, "k:NoSchedule" was not.
    std::vector<std::string> texts = words.TakeRest();
    for (const auto& [key, value] : std::multimap(words.options()))
      texts.push_back(key + "=" + *words.TakeOption(key));
    for (const std::string& text : texts) {
      Result<kube::Taint> taint = ParseTaint(text);
      if (!taint.ok()) return In("taint", taint.error());
      change.add_taints.push_back(*taint);
    }
  }
  if (verb == "label") {
    for (const auto& [key, value] : std::multimap(words.options()))
      change.labels[key] = *words.TakeOption(key);
  }
  if (verb == "set") {
    Result<kube::Resources> capacity = TakeResources(words);
    if (!capacity.ok()) return In("set", capacity.error());
    change.capacity = *capacity;
  }
  return Deed(std::move(change));
}

Result<Deed> ParseChangeJob(const std::string& verb, Words& words) {
  Result<std::vector<std::string>> names = TakeNames(words, "job");
  if (!names.ok()) return names.error();
  ChangeJob change{*names, json::Doc::object(), {}};
  if (verb == "scale") {
    std::optional<std::string> workers = words.TakeOption("workers");
    if (!workers) return Error{"scale: must say workers=N"};
    Result<int64_t> count = ParseCount(*workers, 0, 100'000);
    if (!count.ok()) return In("workers", count.error());
    change.workers = *count;
  } else if (verb == "hand") {
    std::optional<std::string> manager = words.TakeOption("managed-by");
    if (!manager) return Error{"hand: must say managed-by=CONTROLLER"};
    change.patch["spec"]["runPolicy"]["managedBy"] = *manager;
  } else {
    change.patch["spec"]["runPolicy"]["suspend"] = verb == "suspend";
  }
  return Deed(std::move(change));
}

Result<Deed> ParseRank(Words& words) {
  Rank rank;
  rank.pod = words.Take();
  if (rank.pod.empty()) return Error{"rank: must name a pod of the first attempt, as a-worker-3"};
  if (auto attempt = words.TakeOption("attempt")) {
    Result<int64_t> number = ParseCount(*attempt, 1, 1000);
    if (!number.ok()) return In("attempt", number.error());
    rank.attempt = *number;
  }
  Result<kube::Labels> programme = TakeProgramme(words);
  if (!programme.ok()) return programme.error();
  rank.programme = *programme;
  return Deed(std::move(rank));
}

Outcome ParseEffect(Words& words, Fault& fault) {
  using Effect = Fault::Effect;
  static const std::map<std::string, Effect> effects = {
      {"fails", Effect::kFails},   {"lost", Effect::kLost},       {"dropped", Effect::kDropped},
      {"late", Effect::kLate},     {"slow", Effect::kSlow},       {"stalls", Effect::kStalls},
      {"breaks", Effect::kBreaks}, {"expires", Effect::kExpires}, {"refused", Effect::kRefused}};
  std::string word = words.Take();
  auto found = effects.find(word);
  if (found == effects.end()) {
    return Error{
        "fault: the effect must be fails, lost, dropped, late, slow, stalls, breaks, expires or refused, is "
        "\"" +
        word + "\""};
  }
  fault.effect = found->second;
  if (fault.effect == Effect::kFails) {
    Result<int64_t> code = ParseCount(words.Take(), 400, 599);
    if (!code.ok()) return In("fails", code.error());
    fault.code = static_cast<int>(*code);
    if (words.Peek() != "for") fault.message = words.Take();
  }
  if (fault.effect == Effect::kLate || fault.effect == Effect::kSlow) {
    Result<Duration> delay = ParseDuration(words.Take());
    if (!delay.ok()) return In(word, delay.error());
    fault.delay = *delay;
  }
  bool of_watch = fault.effect >= Effect::kStalls;
  if (of_watch != (fault.verb == "watch"))
    return Error{"fault: " + word + " is not for the verb " + fault.verb};
  return {};
}

Result<Deed> ParseFault(Words& words) {
  if (words.TakeIf("clear")) return Deed(ClearFaults{});
  Fault fault;
  fault.verb = words.Take();
  static const char* verbs[] = {"get",    "list", "check", "create", "update", "patch",
                                "delete", "read", "write", "all",    "watch"};
  if (std::find(std::begin(verbs), std::end(verbs), fault.verb) == std::end(verbs)) {
    return Error{
        "fault: the verb must be get, list, check, create, update, patch, delete, read, write, all or watch, "
        "is \"" +
        fault.verb + "\""};
  }
  fault.resource = words.Take();
  if (fault.resource.empty()) return Error{"fault: must name a resource (pods, gangs, ...) or all"};
  if (Outcome error = ParseEffect(words, fault)) return *error;
  if (words.TakeIf("for")) {
    Result<Duration> lasts = ParseDuration(words.Take());
    if (!lasts.ok()) return In("for", lasts.error());
    fault.lasts = *lasts;
  }
  if (auto count = words.TakeOption("count")) {
    Result<int64_t> number = ParseCount(*count, 1, 1'000'000);
    if (!number.ok()) return In("count", number.error());
    fault.count = *number;
  }
  fault.name = words.TakeOption("name").value_or("");
  return Deed(std::move(fault));
}

Result<Deed> ParseKubelet(Words& words) {
  using What = Kubelet::What;
  static const std::map<std::string, What> known = {{"freeze", What::kFreeze},
                                                    {"thaw", What::kThaw},
                                                    {"crash", What::kCrash},
                                                    {"boot", What::kBoot},
                                                    {"restart", What::kRestart}};
  std::string word = words.Take();
  auto found = known.find(word);
  if (found == known.end()) {
    return Error{"kubelet: must be freeze, thaw, crash, boot or restart, is \"" + word + "\""};
  }
  Result<std::vector<std::string>> names = TakeNames(words, "node");
  if (!names.ok()) return names.error();
  return Deed(Kubelet{found->second, *names});
}

Result<Deed> ParseNetwork(Words& words) {
  ShapeNetwork shape;
  if (auto seed = words.TakeOption("seed")) {
    Result<int64_t> number = ParseCount(*seed, 0, INT64_MAX);
    if (!number.ok()) return In("seed", number.error());
    shape.seed = static_cast<uint64_t>(*number);
  }
  for (auto [option, into] : {std::pair("latency", &shape.latency), std::pair("jitter", &shape.jitter)}) {
    std::optional<std::string> text = words.TakeOption(option);
    if (!text) continue;
    Result<Duration> duration = ParseDuration(*text);
    if (!duration.ok()) return In(option, duration.error());
    *into = *duration;
  }
  return Deed(shape);
}

Result<Deed> ParseQuota(Words& words) {
  Result<std::vector<std::string>> names = TakeNames(words, "quota");
  if (!names.ok()) return names.error();
  SetQuota quota{names->front(), {{"hard", json::Doc::object()}}};
  while (auto scope = words.TakeOption("scope")) quota.spec["scopes"].push_back(*scope);
  if (auto priority = words.TakeOption("priority")) {
    quota.spec["scopeSelector"]["matchExpressions"] = json::Doc::array(
        {{{"scopeName", "PriorityClass"}, {"operator", "In"}, {"values", json::Doc::array({*priority})}}});
  }
  for (const auto& [key, value] : std::multimap(words.options()))
    quota.spec["hard"][key == "gpu" ? "requests.nvidia.com/gpu" : key] = *words.TakeOption(key);
  return Deed(std::move(quota));
}

Result<Deed> ParseInject(Words& words) {
  Result<kube::Resources> sidecar = TakeResources(words);
  if (!sidecar.ok()) return In("inject", sidecar.error());
  return Deed(Inject{*std::move(sidecar)});
}

Result<Deed> ParseWait(Words& words) {
  Result<Duration> duration = ParseDuration(words.Take());
  if (!duration.ok()) return In("wait", duration.error());
  return Deed(Wait{*duration});
}

}  // namespace

Result<Deed> ParseDeed(const std::string& verb, Words& words, NodeCounts& nodes_so_far) {
  if (verb == "cluster") return ParseCluster(words, nodes_so_far);
  if (verb == "add") return ParseAdd(words);
  if (verb == "submit") return ParseSubmit(words);
  if (verb == "pod") return ParsePod(words);
  if (verb == "expect") return ParseExpect(words);
  if (verb == "operators" || verb == "start" || verb == "crash" || verb == "stop")
    return ParseOperators(verb, words);
  if (verb == "operator") return ParseConfigure(words);
  if (verb == "scheduler") {
    if (words.empty()) return Error{"scheduler: its name is missing"};
    std::string refuses = words.TakeOption("refuses").value_or("");
    return Deed(AddScheduler{words.Take(), std::move(refuses)});
  }
  if (verb == "delete") return ParseDelete(words);
  if (verb == "cordon" || verb == "uncordon" || verb == "taint" || verb == "untaint" || verb == "label" ||
      verb == "set") {
    return ParseChangeNode(verb, words);
  }
  if (verb == "suspend" || verb == "resume" || verb == "scale" || verb == "hand")
    return ParseChangeJob(verb, words);
  if (verb == "rank") return ParseRank(words);
  if (verb == "fault") return ParseFault(words);
  if (verb == "compact") return Deed(Compact{});
  if (verb == "kubelet") return ParseKubelet(words);
  if (verb == "network") return ParseNetwork(words);
  if (verb == "quota") return ParseQuota(words);
  if (verb == "inject") return ParseInject(words);
  if (verb == "wait") return ParseWait(words);
  return Error{
      "unknown statement \"" + verb +
      "\"; known are cluster, add, submit, pod, expect, operator, scheduler, operators, start, crash, stop, "
      "delete, cordon, "
      "uncordon, taint, untaint, label, set, suspend, resume, scale, hand, rank, fault, compact, kubelet, "
      "network, quota, inject, wait, "
      "virtual-only"};
}

}  // namespace lockstep::sim
