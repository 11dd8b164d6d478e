#include "jobs/tensorflow/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/tensorflow/fixture.h"

namespace lockstep::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kSpecs = "/spec/tfReplicaSpecs";
const std::string kRoles = "spec.tfReplicaSpecs";

// Two servers and three workers with one thing changed.
json::Doc Changed(const std::string& pointer, const json::Doc& value) {
  return With(TFJobDoc({{"PS", 2}, {"Worker", 3}}), pointer, value);
}

struct Row {
  std::string pointer;
  json::Doc value;
  std::string error;  // the whole error
};

TEST(TFJobValidation, NamesTheOneBrokenField) {
  const std::string types = "replica type must be Chief or Evaluator or Master or PS or Worker";
  const std::string pod = kRoles + ".PS.template.spec.containers";
  const Row rows[] = {
      {"/metadata/name", "Bert",
       "metadata.name: must be a DNS-1035 label (a-z, 0-9, '-', first a letter, at most 63 characters), is "
       "\"Bert\""},
      {kSpecs, nullptr, kRoles + ": must be set"},
      {kSpecs, json::Doc::object(), kRoles + ": must be set"},
      {kSpecs, json::Doc::array(), kRoles + ": must be an object, is a list"},
      {kSpecs + "/Eval", RoleDoc("tensorflow", 1), kRoles + ": " + types + ", is \"Eval\""},
      {kSpecs + "/Ps1", RoleDoc("tensorflow", 1), kRoles + ": " + types + ", is \"Ps1\""},
      {kSpecs + "/worker", RoleDoc("tensorflow", 1), kRoles + ".worker: is the same replica type as Worker"},
      {kSpecs + "/PS/replicas", -1, kRoles + ".PS.replicas: must be at least 0, is -1"},
      {kSpecs + "/PS/replicas", "2", kRoles + ".PS.replicas: must be a whole number, is \"2\""},
      {kSpecs + "/Worker/replicas", 20000, kRoles + ": must have at most 20000 pods in all, has 20002"},
      {kSpecs + "/PS/restartPolicy", "Maybe",
       kRoles + ".PS.restartPolicy: must be one of Always, OnFailure, Never, ExitCode, is \"Maybe\""},
      {kSpecs + "/PS/template", nullptr, pod + ": must have at least one container"},
      {kSpecs + "/PS/template/spec/containers/0/name", "pytorch",
       pod + ": must have a container named tensorflow"},
      {kSpecs + "/PS/template/spec/containers/0/image", nullptr, pod + "[0].image: must be set"},
      {"/spec/successPolicy", "AnyWorker", "spec.successPolicy: must be one of AllWorkers, is \"AnyWorker\""},
      {"/spec/successPolicy", 1, "spec.successPolicy: must be a string, is 1"},
      {"/spec/enableDynamicWorker", "yes", "spec.enableDynamicWorker: must be true or false, is \"yes\""},
      {"/spec/runPolicy", {{"backoffLimit", -1}}, "spec.runPolicy.backoffLimit: must be at least 0, is -1"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(ErrorsOf(Changed(row.pointer, row.value)), ElementsAre(row.error))
        << row.pointer << " " << row.value;
  }
}

TEST(TFJobValidation, LetsOneChiefIn) {
  EXPECT_THAT(ErrorsOf(TFJobDoc({{"Chief", 1}, {"Worker", 1}})), IsEmpty());
  EXPECT_THAT(ErrorsOf(TFJobDoc({{"Master", 1}, {"Worker", 1}})), IsEmpty());
  EXPECT_THAT(ErrorsOf(TFJobDoc({{"Chief", 1}, {"Master", 1}, {"Worker", 1}})),
              ElementsAre(kRoles + ": must not have both Chief and Master"));
}

TEST(TFJobValidation, NeedsAPodAtAll) {
  EXPECT_THAT(ErrorsOf(TFJobDoc({{"PS", 0}, {"Worker", 0}})),
              ElementsAre(kRoles + ": must have at least one pod in all"));
}

TEST(TFJobValidation, ListsEveryBrokenField) {
  json::Doc object = Changed("/spec/successPolicy", "Some");
  object["spec"]["tfReplicaSpecs"]["PS"]["replicas"] = -2;
  object["spec"]["tfReplicaSpecs"]["Chief"] = 7;
  EXPECT_THAT(ErrorsOf(object), ElementsAre(kRoles + ".Chief: must be an object, is 7",
                                            kRoles + ".PS.replicas: must be at least 0, is -2",
                                            HasSubstr("spec.successPolicy")));
}

// A string of the environment has at most 128 KiB: no process of such a job could be started.
TEST(TFJobValidation, RefusesAConfigThatNoProcessCanTake) {
  auto workers = [](int32_t count) { return TFJobDoc({{"Worker", count}}); };
  EXPECT_THAT(ErrorsOf(workers(4000)), IsEmpty());
  EXPECT_THAT(ErrorsOf(workers(6000)),
              ElementsAre(HasSubstr("must have fewer replicas: TF_CONFIG would have")));
  EXPECT_THAT(ErrorsOf(With(workers(6000), "/spec/enableDynamicWorker", true)), IsEmpty())
      << "a dynamic worker is not told of the others";
}

TEST(TFJobValidation, ExamplesAreValid) {
  for (const char* name : {"first", "parameter-servers", "multi-worker"}) {
    for (const json::Doc& object : YamlFile("examples/tensorflow/" + std::string(name) + ".yaml")) {
      EXPECT_THAT(ErrorsOf(object), IsEmpty()) << name;
    }
  }
}

TEST(TFJobRead, AppliesUpstreamsDefaults) {
  json::Doc object = TFJobDoc({{"PS", 2}, {"Worker", 3}});
  object["spec"]["tfReplicaSpecs"]["PS"].erase("replicas");
  Job job = ReadValid(object);
  ASSERT_THAT(job.roles, SizeIs(2));
  EXPECT_EQ(job.roles[0].type, "PS");
  EXPECT_EQ(job.roles[0].replicas, 1);
  EXPECT_EQ(job.roles[0].restart_policy, "Never");
  EXPECT_EQ(job.roles[1].type, "Worker");
  EXPECT_EQ(job.run_policy.clean_pods, CleanPodPolicy::kNone);
  EXPECT_EQ(job.pods(), 4);
  EXPECT_TRUE(job.ours());
}

TEST(TFJobRead, TakesTypesInAnyCase) {
  json::Doc object = TFJobDoc({{"ps", 1}, {"WORKER", 2}, {"chief", 1}, {"evaluator", 1}});
  Job job = ReadValid(object);
  ASSERT_THAT(job.roles, SizeIs(4));
  EXPECT_EQ(job.roles[0].type, "Chief");
  EXPECT_EQ(job.roles[1].type, "Evaluator");
  EXPECT_EQ(job.roles[2].type, "PS");
  EXPECT_EQ(job.roles[3].type, "Worker");
  EXPECT_EQ(job.roles[3].replicas, 2);
  object["spec"]["tfReplicaSpecs"]["WORKER"]["replicas"] = -1;
  EXPECT_THAT(ErrorsOf(object), ElementsAre(kRoles + ".WORKER.replicas: must be at least 0, is -1"))
      << "the path is the user's own";
}

TEST(TFJobRead, LeavesATypeWithoutReplicasOut) {
  Job job = ReadValid(TFJobDoc({{"Chief", 0}, {"PS", 0}, {"Worker", 2}}));
  ASSERT_THAT(job.roles, SizeIs(1));
  EXPECT_EQ(job.roles[0].type, "Worker");
}

TEST(TFJobRead, LeavesAJobOfAnotherControllerAlone) {
  json::Doc object = Changed("/spec/successPolicy", "Some");
  object["spec"]["runPolicy"]["managedBy"] = "kueue.x-k8s.io/multikueue";
  auto read = TensorFlow().Read(object);
  ASSERT_TRUE(std::holds_alternative<Job>(read)) << "a job that is not ours is never judged";
  EXPECT_FALSE(std::get<Job>(read).ours());
}

}  // namespace
}  // namespace lockstep::jobs
