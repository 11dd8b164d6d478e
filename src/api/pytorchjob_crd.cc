#include "api/crd.h"
#include "api/schema.h"
#include "kube/api/resource.h"

namespace lockstep::api {

namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): the builders read as the schema's own words

// autoscaling/v2 MetricSpec, which elasticPolicy.metrics takes over.
json::Doc LabelSelectorSchema(std::string description) {
  json::Doc requirement = Object(
      "A requirement on one label.",
      {{"key", Text("The label.")},
       {"operator", Text("In, NotIn, Exists or DoesNotExist.")},
       {"values", With(List("Values for In and NotIn.", Text("")), "x-kubernetes-list-type", "atomic")}},
      {"key", "operator"});
  return With(
      Object(std::move(description),
             {{"matchExpressions", With(List("Requirements that must all hold.", std::move(requirement)),
                                        "x-kubernetes-list-type", "atomic")},
              {"matchLabels", Map("Labels that must have these values.", Text(""))}}),
      "x-kubernetes-map-type", "atomic");
}

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

json::Doc RunPolicySchema() {
  json::Doc queue =
      With(Text("Queue of the gang scheduler."), "x-kubernetes-validations",
           json::Doc::array({{{"rule", "self == oldSelf"},
                              {"message", "spec.runPolicy.schedulingPolicy.queue is immutable"}}}));
  json::Doc scheduling = Object("Settings for gang scheduling.",
                                {{"minAvailable", Int32("Pods that must be able to start; all by default.")},
                                 {"minResources", Map("Resources that must be free.", Quantity(""))},
                                 {"priorityClass", Text("Priority class of the gang.")},
                                 {"queue", std::move(queue)},
                                 {"scheduleTimeoutSeconds", Int32("Seconds that a gang scheduler waits.")}});
  return Object(
      "How the job runs as a whole.",
      {{"activeDeadlineSeconds", Int64("Seconds after startTime at which the job fails.")},
       {"backoffLimit", Int32("Restarts after which the job fails; no limit by default.")},
       {"cleanPodPolicy", Text("Pods to delete when the job is over: None (default), Running or All.")},
       {"managedBy",
        Text("Controller of the job. Another value than kubeflow.org/training-operator leaves the job "
             "to somebody else.")},
       {"schedulingPolicy", std::move(scheduling)},
       {"suspend", With(Bool("A suspended job has no pods and waits."), "default", false)},
       {"ttlSecondsAfterFinished",
        Int32("Seconds after which a job that is over is deleted; never by default.")}});
}

json::Doc SpecSchema() {
  json::Doc replica =
      Object("One replica type.", {{"replicas", Int32("Number of pods; 1 by default.")},
                                   {"restartPolicy", Text("Always, OnFailure (default), Never or ExitCode.")},
                                   {"template", FreeObject("The pods: a core/v1 PodTemplateSpec.")}});
  return Object(
      "What to run.",
      {{"pytorchReplicaSpecs",
        Map("The roles by type: Master (at most one pod) and Worker.", std::move(replica))},
       {"elasticPolicy", ElasticPolicySchema()},
       {"nprocPerNode", Text("Processes on a node for torchrun: auto (default), cpu, gpu or a number.")},
       {"runPolicy", RunPolicySchema()}},
      {"pytorchReplicaSpecs"});
}

json::Doc StatusSchema() {
  json::Doc condition =
      Object("The state of the job at some time.",
             {{"type", Text("Placed, Created, Running, Restarting, Suspended, Succeeded or Failed.")},
              {"status", Text("True, False or Unknown.")},
              {"reason", Text("Why, as one word.")},
              {"message", Text("Why, as a sentence.")},
              {"lastUpdateTime", Time("When the condition was last written.")},
              {"lastTransitionTime", Time("When its status last changed.")}},
             {"type", "status"});
  json::Doc role = Object("How many pods of a type are where.",
                          {{"active", Int32("Running pods.")},
                           {"succeeded", Int32("Pods that succeeded.")},
                           {"failed", Int32("Pods that failed.")},
                           {"selector", Text("Label selector of the pods.")},
                           {"labelSelector", LabelSelectorSchema("Deprecated: use selector.")}});
  return Object("What was last seen of the job. Read only.",
                {{"conditions", List("The last one is the state of the job.", std::move(condition))},
                 {"replicaStatuses", Map("Pods by replica type.", std::move(role))},
                 {"startTime", Time("When the first pods were created.")},
                 {"completionTime", Time("When the job was over.")},
                 {"lastReconcileTime", Time("Not written by Lockstep.")}});
}

}  // namespace

json::Doc PyTorchJobCrd() {
  json::Doc columns = json::Doc::array({Column("State", "string", ".status.conditions[-1:].type", ""),
                                        Column("Age", "date", ".metadata.creationTimestamp", "")});
  json::Doc scale = {{"specReplicasPath", ".spec.pytorchReplicaSpecs.Worker.replicas"},
                     {"statusReplicasPath", ".status.replicaStatuses.Worker.active"},
                     {"labelSelectorPath", ".status.replicaStatuses.Worker.selector"}};
  json::Doc root = Root("A PyTorchJob trains with torch.distributed: a Master and Workers, or Workers alone.",
                        SpecSchema(), StatusSchema(), false);
  json::Doc version = {{"name", kube::kPyTorchJobs.version},
                       {"served", true},
                       {"storage", true},
                       {"additionalPrinterColumns", std::move(columns)},
                       {"subresources", {{"status", json::Doc::object()}, {"scale", std::move(scale)}}},
                       {"schema", {{"openAPIV3Schema", std::move(root)}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "pytorchjobs.kubeflow.org"}}},
          {"spec",
           {{"group", kube::kPyTorchJobs.group},
            {"names",
             {{"kind", kube::kPyTorchJobs.kind},
              {"listKind", "PyTorchJobList"},
              {"plural", kube::kPyTorchJobs.plural},
              {"singular", "pytorchjob"}}},
            {"scope", "Namespaced"},
            {"versions", json::Doc::array({std::move(version)})}}}};
}

}  // namespace lockstep::api
