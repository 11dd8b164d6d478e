#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/source_dir.h"
#include "jobs/framework.h"
#include "json/yaml.h"

// Builders for tests of PyTorchJob.
namespace lockstep::jobs {

inline const Framework& PyTorch() { return *FrameworkOf(kube::kPyTorchJobs); }

inline json::Doc Template(const std::string& container = "pytorch") {
  return {{"spec",
           {{"containers", json::Doc::array({{{"name", container}, {"image", "example.com/train:1"}}})}}}};
}

inline json::Doc ReplicaSpec(int32_t replicas, const std::string& restart_policy) {
  json::Doc spec = {{"replicas", replicas}, {"template", Template()}};
  if (!restart_policy.empty()) spec["restartPolicy"] = restart_policy;
  return spec;
}

// ml/bert with a Master and `workers` workers; no Master where `master` is false.
inline json::Doc JobDoc(int32_t workers, const std::string& restart_policy = "", bool master = true) {
  json::Doc specs = json::Doc::object();
  if (master) specs["Master"] = ReplicaSpec(1, restart_policy);
  if (workers > 0) specs["Worker"] = ReplicaSpec(workers, restart_policy);
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "PyTorchJob"},
          {"metadata", {{"name", "bert"}, {"namespace", "ml"}, {"uid", "uid-1"}}},
          {"spec", {{"pytorchReplicaSpecs", std::move(specs)}}}};
}

inline Job ReadValid(const json::Doc& object) {
  auto read = PyTorch().Read(object);
  if (auto* invalid = std::get_if<InvalidJob>(&read)) {
    for (const std::string& error : invalid->errors) ADD_FAILURE() << error;
    return {};
  }
  return std::get<Job>(std::move(read));
}

// Empty for a valid job.
inline std::vector<std::string> ErrorsOf(const json::Doc& object) {
  auto read = PyTorch().Read(object);
  auto* invalid = std::get_if<InvalidJob>(&read);
  return invalid != nullptr ? invalid->errors : std::vector<std::string>{};
}

// The documents of a YAML file of the tree.
inline std::vector<json::Doc> YamlFile(const std::string& path) {
  std::ifstream file(std::string(kSourceDir) + "/" + path);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  Result<std::vector<json::Doc>> docs = json::ParseYaml(text.str());
  EXPECT_TRUE(docs.ok()) << path << ": " << (docs.ok() ? "" : docs.error().message);
  return docs.ok() ? *docs : std::vector<json::Doc>{};
}

// The documents of tests/manifests/<path>.
inline std::vector<json::Doc> Manifests(const std::string& path) {
  return YamlFile("tests/manifests/" + path);
}

// A manifest as the API server stores it: with UID and namespace.
inline json::Doc Submitted(const std::string& path) {
  json::Doc object = Manifests(path).at(0);
  object["metadata"]["uid"] = "uid-1";
  if (!object["metadata"].contains("namespace")) object["metadata"]["namespace"] = "default";
  return object;
}

}  // namespace lockstep::jobs
