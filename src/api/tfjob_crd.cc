#include "api/crd.h"
#include "api/kubeflow_crd.h"
#include "api/schema.h"

namespace lockstep::api {

using namespace schema;  // NOLINT(google-build-using-namespace): the builders read as the schema's own words

json::Doc TFJobCrd() {
  json::Doc spec = Object(
      "What to run.",
      {{"tfReplicaSpecs",
        Map("The roles by type, in any case: PS (parameter servers), Worker, Evaluator, and Chief or Master, "
            "of which a job has at most one. Without a chief worker 0 is the chief worker. All pods of all "
            "types start together.",
            ReplicaSpecSchema("Never"))},
       {"successPolicy",
        Text(
            "Without a chief: the job has succeeded when worker 0 has (default), or with AllWorkers when all "
            "workers have. With one the chief alone decides.")},
       {"enableDynamicWorker",
        Bool("Workers learn the parameter servers and themselves from TF_CONFIG, not each other, and the job "
             "goes on without a worker that failed and is not to be replaced, as long as it can succeed.")},
       {"runPolicy", RunPolicySchema()}},
      {"tfReplicaSpecs"});
  return KubeflowCrd(kube::kTFJobs,
                     "A TFJob trains with TensorFlow: parameter servers, workers, a chief and evaluators, or "
                     "workers alone, that find each other by TF_CONFIG.",
                     std::move(spec));
}

}  // namespace lockstep::api
