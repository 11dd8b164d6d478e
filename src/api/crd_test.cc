#include "api/crd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/source_dir.h"
#include "json/yaml.h"

namespace lockstep::api {
namespace {

using json::Doc;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Doc& RootOf(const Doc& crd) { return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]; }

// Every broken rule of a structural schema in `schema` and below. Source: apiextensions "Specifying a
// structural schema": each node has a type or is int-or-string, and no properties beside
// additionalProperties.
void ListBroken(const Doc& schema, const std::string& path, bool described,
                std::vector<std::string>& broken) {
  bool any = schema.contains("x-kubernetes-int-or-string");
  if (!any && !schema.contains("type")) broken.push_back(path + ": has no type");
  if (schema.contains("properties") && schema.contains("additionalProperties"))
    broken.push_back(path + ": both");
  if (described && !schema.contains("description")) broken.push_back(path + ": has no description");
  if (schema.value("type", "") == "array" && !schema.contains("items")) broken.push_back(path + ": no items");
  if (schema.contains("items")) ListBroken(schema["items"], path + "[]", false, broken);
  if (schema.contains("additionalProperties")) {
    ListBroken(schema["additionalProperties"], path + ".*", false, broken);
  }
  if (!schema.contains("properties")) return;
  for (const auto& [name, field] : schema["properties"].items()) {
    ListBroken(field, path + "." + name, !path.empty() || name != "metadata", broken);
  }
  for (const Doc& name : schema.value("required", Doc::array())) {
    if (!schema["properties"].contains(name.get<std::string>()))
      broken.push_back(path + ": requires " + name.dump());
  }
}

TEST(Crds, AreStructuralAndEveryFieldIsDescribed) {
  for (const Doc& crd : Crds()) {
    std::vector<std::string> broken;
    ListBroken(RootOf(crd), "", true, broken);
    EXPECT_THAT(broken, IsEmpty()) << crd["metadata"]["name"];
  }
}

TEST(Crds, AreNamedByTheirResource) {
  for (const Doc& crd : Crds()) {
    const Doc& spec = crd["spec"];
    EXPECT_EQ(crd["metadata"]["name"],
              spec["names"]["plural"].get<std::string>() + "." + spec["group"].get<std::string>());
    EXPECT_EQ(spec["scope"], "Namespaced");
    EXPECT_TRUE(spec["versions"][0]["subresources"].contains("status"));
  }
}

std::vector<std::string> ColumnsOf(const Doc& crd) {
  std::vector<std::string> columns;
  for (const Doc& column : crd["spec"]["versions"][0]["additionalPrinterColumns"]) {
    columns.push_back(column["name"].get<std::string>() + " " + column["jsonPath"].get<std::string>());
  }
  return columns;
}

TEST(GangCrd, ShowsWhyAGangWaits) {
  EXPECT_THAT(ColumnsOf(GangCrd()),
              ElementsAre("Phase .status.phase", "Attempt .status.attempt", "Pods .status.pods",
                          "Needs .status.needsText", "Reason .status.reason", "Message .status.message",
                          "Age .metadata.creationTimestamp"));
}

TEST(PyTorchJobCrd, HasUpstreamsColumnsAndScale) {
  Doc crd = PyTorchJobCrd();
  EXPECT_THAT(ColumnsOf(crd),
              ElementsAre("State .status.conditions[-1:].type", "Age .metadata.creationTimestamp"));
  EXPECT_EQ(crd["spec"]["versions"][0]["subresources"]["scale"],
            Doc({{"labelSelectorPath", ".status.replicaStatuses.Worker.selector"},
                 {"specReplicasPath", ".spec.pytorchReplicaSpecs.Worker.replicas"},
                 {"statusReplicasPath", ".status.replicaStatuses.Worker.active"}}));
}

TEST(TFJobCrd, HasUpstreamsColumnsAndNoScale) {
  Doc crd = TFJobCrd();
  EXPECT_EQ(crd["metadata"]["name"], "tfjobs.kubeflow.org");
  EXPECT_EQ(crd["spec"]["names"],
            Doc({{"kind", "TFJob"}, {"listKind", "TFJobList"}, {"plural", "tfjobs"}, {"singular", "tfjob"}}));
  EXPECT_THAT(ColumnsOf(crd),
              ElementsAre("State .status.conditions[-1:].type", "Age .metadata.creationTimestamp"));
  EXPECT_EQ(crd["spec"]["versions"][0]["subresources"], Doc({{"status", Doc::object()}}));
}

TEST(KubeflowCrd, TakesAnyPodTemplate) {
  for (const auto& [crd, roles] :
       {std::pair(PyTorchJobCrd(), "pytorchReplicaSpecs"), std::pair(TFJobCrd(), "tfReplicaSpecs")}) {
    const Doc& spec = RootOf(crd)["properties"]["spec"];
    EXPECT_EQ(spec["required"], Doc::array({roles}));
    const Doc& replica = spec["properties"][roles]["additionalProperties"];
    EXPECT_EQ(replica["properties"]["template"]["x-kubernetes-preserve-unknown-fields"], true);
  }
}

TEST(KubeflowCrd, SaysWhichRestartPolicyIsTheDefault) {
  auto text = [](const Doc& crd, const char* roles) {
    const Doc& replica = RootOf(crd)["properties"]["spec"]["properties"][roles]["additionalProperties"];
    return replica["properties"]["restartPolicy"]["description"];
  };
  EXPECT_EQ(text(PyTorchJobCrd(), "pytorchReplicaSpecs"), "Always, OnFailure (default), Never or ExitCode.");
  EXPECT_EQ(text(TFJobCrd(), "tfReplicaSpecs"), "Always, OnFailure, Never (default) or ExitCode.");
}

std::string FileText(const std::string& path) {
  std::ifstream file(std::string(kSourceDir) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Crds, FilesInDeployAreWhatTheProgramPrints) {
  for (const Doc& crd : Crds()) {
    std::string path = "deploy/crds/" + crd["metadata"]["name"].get<std::string>() + ".yaml";
    EXPECT_EQ(FileText(path), CrdYaml(crd))
        << path << " is stale: run `build/lockstep crds --dir deploy/crds`";
  }
}

TEST(Crds, YamlReadsBackAsTheSameDocument) {
  for (const Doc& crd : Crds()) {
    Result<std::vector<Doc>> read = json::ParseYaml(CrdYaml(crd));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_THAT(*read, ElementsAre(crd));
  }
}

TEST(ApiDocs, AreWhatTheProgramPrints) {
  EXPECT_EQ(FileText("docs/api.md"), ApiMarkdown())
      << "docs/api.md is stale: run `build/lockstep crds --markdown > docs/api.md`";
}

TEST(ApiDocs, NameEveryKindAndDeepFields) {
  std::string text = ApiMarkdown();
  EXPECT_THAT(text, HasSubstr("## Gang\n"));
  EXPECT_THAT(text, HasSubstr("`status.restarts.fault`"));
  EXPECT_THAT(text, HasSubstr("`spec.pytorchReplicaSpecs.*.template`"));
  EXPECT_THAT(text, HasSubstr("`spec.tfReplicaSpecs.*.template`"));
  EXPECT_THAT(text, HasSubstr("| `status.placement` | list of string |"));
}

}  // namespace
}  // namespace lockstep::api
