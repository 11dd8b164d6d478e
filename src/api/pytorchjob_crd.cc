#include "api/crd.h"
#include "api/kubeflow_crd.h"
#include "api/schema.h"
#include "kube/api/resource.h"

namespace lockstep::api {

namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): the builders read as the schema's own words

// autoscaling/v2 MetricSpec, which elasticPolicy.metrics takes over.
json::Doc MetricIdentifier() {
  return Object(
      "Which metric.",
      {{"name", Text("Name of the metric.")}, {"selector", LabelSelectorSchema("Narrows the metric.")}},
      {"name"});
}

json::Doc MetricTarget() {
  return Object("The value to hold.",
                {{"type", Text("Utilization, Value or AverageValue.")},
                 {"averageUtilization", Int32("Per cent of the requests, as a mean over the pods.")},
                 {"averageValue", Quantity("Mean over the pods.")},
                 {"value", Quantity("The value itself.")}},
                {"type"});
}

json::Doc MetricSpec() {
  json::Doc object = Object("The object.",
                            {{"apiVersion", Text("Its group and version.")},
                             {"kind", Text("Its kind.")},
                             {"name", Text("Its name.")}},
                            {"kind", "name"});
  return Object(
      "One metric: `type` and the field it names.",
      {{"type", Text("ContainerResource, External, Object, Pods or Resource.")},
       {"containerResource", Object("A resource of one container of each pod.",
                                    {{"container", Text("Name of the container.")},
                                     {"name", Text("Name of the resource.")},
                                     {"target", MetricTarget()}},
                                    {"container", "name", "target"})},
       {"external",
        Object("A metric from outside the cluster.",
               {{"metric", MetricIdentifier()}, {"target", MetricTarget()}}, {"metric", "target"})},
       {"object", Object("A metric of one object.",
                         {{"describedObject", std::move(object)},
                          {"metric", MetricIdentifier()},
                          {"target", MetricTarget()}},
                         {"describedObject", "metric", "target"})},
       {"pods", Object("A metric of each pod.", {{"metric", MetricIdentifier()}, {"target", MetricTarget()}},
                       {"metric", "target"})},
       {"resource",
        Object("A resource of each pod.",
               {{"name", Text("Name of the resource.")}, {"target", MetricTarget()}}, {"name", "target"})}},
      {"type"});
}

json::Doc ElasticPolicySchema() {
  json::Doc conf = Object("One setting.", {{"key", Text("Its name.")}, {"value", Text("Its value.")}});
  return Object("How torchrun's elastic agents meet and how many nodes they need.",
                {{"minReplicas", Int32("Fewest nodes; maxReplicas by default.")},
                 {"maxReplicas",
                  Int32("Most nodes; minReplicas by default, the workers' replicas if both are absent.")},
                 {"maxRestarts", Int32("Restarts of the worker processes within a pod (PET_MAX_RESTARTS).")},
                 {"nProcPerNode", Int32("Deprecated: use spec.nprocPerNode.")},
                 {"rdzvBackend", Text("Rendezvous backend: c10d (default), etcd or etcd-v2.")},
                 {"rdzvHost", Text("Host of the rendezvous; worker 0 by default.")},
                 {"rdzvPort", Int32("Port of the rendezvous; the workers' pytorchjob-port by default.")},
                 {"rdzvId", Text("Id of the rendezvous.")},
                 {"rdzvConf", List("More settings of the rendezvous.", std::move(conf))},
                 {"standalone", Bool("One node with a rendezvous of its own.")},
                 {"metrics", List("Metrics for horizontal autoscaling of the workers.", MetricSpec())}});
}

json::Doc SpecSchema() {
  return Object(
      "What to run.",
      {{"pytorchReplicaSpecs",
        Map("The roles by type: Master (at most one pod) and Worker.", ReplicaSpecSchema("OnFailure"))},
       {"elasticPolicy", ElasticPolicySchema()},
       {"nprocPerNode", Text("Processes on a node for torchrun: auto (default), cpu, gpu or a number.")},
       {"runPolicy", RunPolicySchema()}},
      {"pytorchReplicaSpecs"});
}

}  // namespace

json::Doc PyTorchJobCrd() {
  json::Doc crd = KubeflowCrd(
      kube::kPyTorchJobs,
      "A PyTorchJob trains with torch.distributed: a Master and Workers, or Workers alone.", SpecSchema());
  crd["spec"]["versions"][0]["subresources"]["scale"] = {
      {"specReplicasPath", ".spec.pytorchReplicaSpecs.Worker.replicas"},
      {"statusReplicasPath", ".status.replicaStatuses.Worker.active"},
      {"labelSelectorPath", ".status.replicaStatuses.Worker.selector"}};
  return crd;
}

}  // namespace lockstep::api
