#include "api/kubeflow_crd.h"

#include "api/schema.h"
#include "base/ascii.h"

namespace lockstep::api {

using namespace schema;  // NOLINT(google-build-using-namespace): the builders read as the schema's own words

namespace {

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

json::Doc ReplicaSpecSchema(const std::string& restart_default) {
  std::string policies;
  for (std::string policy : {"Always", "OnFailure", "Never", "ExitCode"}) {
    policies += policies.empty() ? "" : policy == "ExitCode" ? " or " : ", ";
    policies += policy + (policy == restart_default ? " (default)" : "");
  }
  return Object("One replica type.", {{"replicas", Int32("Number of pods; 1 by default.")},
                                      {"restartPolicy", Text(policies + ".")},
                                      {"template", FreeObject("The pods: a core/v1 PodTemplateSpec.")}});
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

json::Doc KubeflowCrd(const kube::Resource& resource, std::string description, json::Doc spec) {
  std::string kind(resource.kind), singular = AsciiLower(kind);
  json::Doc columns = json::Doc::array({Column("State", "string", ".status.conditions[-1:].type", ""),
                                        Column("Age", "date", ".metadata.creationTimestamp", "")});
  json::Doc root = Root(std::move(description), std::move(spec), StatusSchema(), false);
  json::Doc version = {{"name", resource.version},
                       {"served", true},
                       {"storage", true},
                       {"additionalPrinterColumns", std::move(columns)},
                       {"subresources", {{"status", json::Doc::object()}}},
                       {"schema", {{"openAPIV3Schema", std::move(root)}}}};
  return {
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "CustomResourceDefinition"},
      {"metadata", {{"name", std::string(resource.plural) + "." + std::string(resource.group)}}},
      {"spec",
       {{"group", resource.group},
        {"names",
         {{"kind", kind}, {"listKind", kind + "List"}, {"plural", resource.plural}, {"singular", singular}}},
        {"scope", "Namespaced"},
        {"versions", json::Doc::array({std::move(version)})}}}};
}

}  // namespace lockstep::api
