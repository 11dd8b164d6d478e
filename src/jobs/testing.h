#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/source_dir.h"
#include "jobs/framework.h"
#include "json/yaml.h"

// Builders for tests of any kind of job.
namespace lockstep::jobs {

inline json::Doc Template(const std::string& container) {
  return {{"spec",
           {{"containers", json::Doc::array({{{"name", container}, {"image", "example.com/train:1"}}})}}}};
}

// One replica type of a kind whose own container is `container`.
inline json::Doc RoleDoc(const std::string& container, int32_t replicas,
                         const std::string& restart_policy = "") {
  json::Doc spec = {{"replicas", replicas}, {"template", Template(container)}};
  if (!restart_policy.empty()) spec["restartPolicy"] = restart_policy;
  return spec;
}

inline const Framework& FrameworkOfDoc(const json::Doc& object) {
  return *FrameworkOf(
      *kube::FindResource(json::GetString(object, "apiVersion"), json::GetString(object, "kind")));
}

inline Job ReadValid(const json::Doc& object) {
  auto read = FrameworkOfDoc(object).Read(object);
  if (auto* invalid = std::get_if<InvalidJob>(&read)) {
    for (const std::string& error : invalid->errors) ADD_FAILURE() << error;
    return {};
  }
  return std::get<Job>(std::move(read));
}

// Empty for a valid job.
inline std::vector<std::string> ErrorsOf(const json::Doc& object) {
  auto read = FrameworkOfDoc(object).Read(object);
  auto* invalid = std::get_if<InvalidJob>(&read);
  return invalid != nullptr ? invalid->errors : std::vector<std::string>{};
}

// A document with the value at a JSON pointer changed; null removes.
inline json::Doc With(json::Doc object, const std::string& pointer_text, const json::Doc& value) {
  json::Doc::json_pointer pointer(pointer_text);
  if (value.is_null()) {
    object[pointer.parent_pointer()].erase(pointer.back());
  } else {
    object[pointer] = value;
  }
  return object;
}

// "NAME=value" of each variable of one main container.
inline std::vector<std::string> EnvOf(const json::Doc& pod, size_t container = 0) {
  std::vector<std::string> env;
  const json::Doc& one = pod["spec"]["containers"][container];
  for (const json::Doc& variable : one.value("env", json::Doc::array())) {
    env.push_back(variable["name"].get<std::string>() + "=" + variable.value("value", ""));
  }
  return env;
}

inline RoleCounts Counts(int32_t active, int32_t succeeded, int32_t failed) {
  return {.active = active, .succeeded = succeeded, .failed = failed};
}

inline RoleCounts Retryable(RoleCounts counts) {
  counts.retryable_failure = true;
  return counts;
}

inline RoleCounts Permanent(RoleCounts counts) {
  counts.permanent_failure = true;
  return counts;
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
