#pragma once

#include <sstream>
#include <string>

#include "audit/judge.h"
#include "audit/log_reader.h"

namespace lockstep::audit {

// A pod as a test names it; "a-worker-1" of job "a" has UID "uid-a-worker-1" unless told otherwise.
struct TestPod {
  std::string job, role = "worker";
  int index = 0;
  std::string node;  // empty: created unassigned
  int gpu = 1;
  std::string attempt = "1";  // empty: a plain pod, of another system
  std::string uid;

  std::string name() const {
    return job + "-" + role + "-" + std::to_string(index) + (attempt > "1" ? "-r" + attempt : "");
  }
  std::string Uid() const { return uid.empty() ? "uid-" + name() : uid; }
};

// Writes an audit log as kube-apiserver 1.34 does. Every request takes 10 ms; `at` is in milliseconds.
class TestLog {
 public:
  TestLog& Node(int at, const std::string& name, int gpu) {
    json::Doc status = {{"allocatable", {{"cpu", "64"}, {"memory", "256Gi"}, {"pods", "110"}}}};
    status["allocatable"]["nvidia.com/gpu"] = std::to_string(gpu);
    return Add(at, "create", "nodes", name, 201,
               {{"kind", "Node"}, {"metadata", {{"name", name}}}, {"status", status}});
  }

  TestLog& NodeGpus(int at, const std::string& name, int gpu) {
    json::Doc patch;
    patch["status"]["allocatable"]["nvidia.com/gpu"] = std::to_string(gpu);
    return Add(at, "patch", "nodes/status", name, 200, patch);
  }

  TestLog& Job(int at, const std::string& name, int workers) {
    json::Doc job = {{"kind", "PyTorchJob"}, {"metadata", {{"name", name}, {"uid", "uid-" + name}}}};
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = workers;
    return Add(at, "create", "kubeflow.org/pytorchjobs", name, 201, job, job);
  }

  TestLog& Create(int at, const TestPod& pod, int code = 201, const std::string& query = "") {
    json::Doc sent = PodDoc(pod), stored = sent;
    stored["metadata"]["uid"] = pod.Uid();
    return Add(at, "create", "pods", pod.name(), code, sent, code == 201 ? stored : json::Doc(), query);
  }

  TestLog& Bind(int at, const TestPod& pod, const std::string& node) {
    return Add(at, "create", "pods/binding", pod.name(), 201,
               {{"target", {{"kind", "Node"}, {"name", node}}}});
  }

  TestLog& Phase(int at, const TestPod& pod, const std::string& phase) {
    agent = "lockstep-hollow/0.1.0";
    Add(at, "patch", "pods/status", pod.name(), 200,
        {{"metadata", {{"uid", pod.Uid()}}}, {"status", {{"phase", phase}}}});
    agent = "lockstep/0.1.0";
    return *this;
  }

  // `grace` is what the API server answers: what remains before the object goes.
  TestLog& Delete(int at, const TestPod& pod, int grace, const json::Doc& options = {}) {
    json::Doc stored = PodDoc(pod);
    stored["metadata"]["uid"] = pod.Uid();
    stored["metadata"]["deletionGracePeriodSeconds"] = grace;
    return Add(at, "delete", "pods", pod.name(), 200, options, stored);
  }

  // `path` is "resource", "resource/subresource" or "group/resource" where the group has a dot.
  TestLog& Add(int at, const std::string& verb, const std::string& path, const std::string& name, int code,
               const json::Doc& request, const json::Doc& response = {}, const std::string& query = "") {
    json::Doc ref = {{"namespace", "default"}, {"name", name}};
    size_t slash = path.find('/');
    bool grouped = slash != std::string::npos && path.find('.') < slash;
    ref["resource"] = grouped ? path.substr(slash + 1) : path.substr(0, slash);
    if (grouped) ref["apiGroup"] = path.substr(0, slash);
    if (slash != std::string::npos && !grouped) ref["subresource"] = path.substr(slash + 1);
    json::Doc event = {{"kind", "Event"},
                       {"apiVersion", "audit.k8s.io/v1"},
                       {"stage", "ResponseComplete"},
                       {"verb", verb},
                       {"requestURI", "/" + path + "?fieldManager=test" + query},
                       {"userAgent", agent},
                       {"objectRef", ref},
                       {"responseStatus", {{"code", code}}},
                       {"requestReceivedTimestamp", Time(at)},
                       {"stageTimestamp", Time(at + 10)}};
    if (!request.is_null()) event["requestObject"] = request;
    if (!response.is_null()) event["responseObject"] = response;
    return Raw(json::Dump(event));
  }

  TestLog& Raw(const std::string& line) {
    text += line + "\n";
    return *this;
  }

  Record Read(Grouping grouping = {}) const {
    Record record(std::move(grouping));
    std::istringstream in(text);
    counts = ReadLog(in, record);
    return record;
  }

  // By default every excess counts, however short.
  Report Judged(Limits limits = {.excess_after = {}}) const { return Judge(Read(), limits); }

  static std::string Time(int at) {
    return FormatMicroTime(WallTime(seconds(1'772'366'400) + milliseconds(at)));
  }

  std::string text;
  std::string agent = "lockstep/0.1.0";
  mutable ReadCounts counts;  // of the last Read

 private:
  static json::Doc PodDoc(const TestPod& pod) {
    json::Doc labels = {{"training.kubeflow.org/job-name", pod.job},
                        {"training.kubeflow.org/replica-type", pod.role},
                        {"training.kubeflow.org/replica-index", std::to_string(pod.index)}};
    json::Doc container = {{"name", "pytorch"}};
    container["resources"]["limits"]["nvidia.com/gpu"] = std::to_string(pod.gpu);
    json::Doc doc = {
        {"kind", "Pod"}, {"metadata", {{"name", pod.name()}}}, {"spec", {{"containers", {container}}}}};
    if (!pod.node.empty()) doc["spec"]["nodeName"] = pod.node;
    if (!pod.attempt.empty()) {
      labels["lockstep.dev/attempt"] = pod.attempt;
      json::Doc owner = {
          {"kind", "PyTorchJob"}, {"name", pod.job}, {"uid", "uid-" + pod.job}, {"controller", true}};
      doc["metadata"]["ownerReferences"] = json::Doc::array({owner});
    }
    doc["metadata"]["labels"] = labels;
    return doc;
  }
};

inline TestPod Worker(const std::string& job, int index, const std::string& node) {
  return {.job = job, .index = index, .node = node};
}

}  // namespace lockstep::audit
