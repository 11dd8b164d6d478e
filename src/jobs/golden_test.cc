// What upstream makes of whole manifests, written down in tests/manifests/<framework>/golden.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ascii.h"
#include "jobs/pod.h"
#include "jobs/testing.h"

namespace lockstep::jobs {
namespace {

size_t RoleIndex(const Job& job, const std::string& label) {
  for (size_t i = 0; i < job.roles.size(); ++i) {
    if (AsciiLower(job.roles[i].type) == label) return i;
  }
  return job.roles.size();
}

class Golden : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

// Every document of the golden file is what the framework makes for the role and index it is labelled with.
TEST_P(Golden, PodsAndServicesAreAsUpstreamMakesThem) {
  const auto [folder, name] = GetParam();
  Job job = ReadValid(Submitted(std::string(folder) + "/" + name + ".yaml"));
  std::vector<json::Doc> golden = Manifests(std::string(folder) + "/golden/" + name + ".yaml");
  ASSERT_FALSE(golden.empty());
  for (const json::Doc& want : golden) {
    const json::Doc& labels = want["metadata"]["labels"];
    size_t role = RoleIndex(job, labels["training.kubeflow.org/replica-type"]);
    ASSERT_LT(role, job.roles.size());
    int32_t index = std::stoi(labels["training.kubeflow.org/replica-index"].get<std::string>());
    json::Doc made = want["kind"] == "Pod" ? job.framework->PodFor(job, role, index)
                                           : ServiceFor(job, job.roles[role], index);
    EXPECT_EQ(made, want) << "difference: " << json::DumpPretty(json::Doc::diff(want, made));
  }
}

INSTANTIATE_TEST_SUITE_P(Manifests, Golden,
                         ::testing::Values(std::pair("pytorch", "seed"), std::pair("pytorch", "sidecar"),
                                           std::pair("pytorch", "elastic"),
                                           std::pair("tensorflow", "dist-mnist"),
                                           std::pair("tensorflow", "evaluated"),
                                           std::pair("tensorflow", "dynamic"),
                                           std::pair("tensorflow", "alone")));

}  // namespace
}  // namespace lockstep::jobs
