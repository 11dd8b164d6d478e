#include "api/crd.h"
#include "api/schema.h"
#include "kube/api/resource.h"

namespace lockstep::api {

namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): the builders read as the schema's own words

json::Doc Immutable(json::Doc schema, const char* field) {
  return With(
      std::move(schema), "x-kubernetes-validations",
      json::Doc::array({{{"rule", "self == oldSelf"}, {"message", std::string(field) + " is immutable"}}}));
}

json::Doc SpecSchema() {
  json::Doc job = Object("The job this gang runs. It owns the Gang.",
                         {{"apiVersion", Text("Group and version of the job.")},
                          {"kind", Text("Kind of the job, such as PyTorchJob.")},
                          {"name", Text("Name of the job, in the Gang's own namespace.")},
                          {"uid", Text("UID of the job. A new job of the same name gets a new Gang.")}},
                         {"apiVersion", "kind", "name", "uid"});
  json::Doc role = Object(
      "One replica type of the job.",
      {{"name", Text("Name of the replica type, such as Master or Worker.")},
       {"count", With(Int32("Number of pods."), "minimum", 0)},
       {"minCount", With(Int32("Pods that must be able to start; the others may follow."), "minimum", 0)}},
      {"name", "count"});
  return Object(
      "What must run at the same time. Lockstep writes it when it first sees the job.",
      {{"job", Immutable(std::move(job), "spec.job")},
       {"queuedAt", Immutable(Time("When the gang joined its queue, in microseconds. Set once: equal "
                                   "gangs start in this order."),
                              "spec.queuedAt")},
       {"roles", With(With(List("The roles of the gang; all their pods start together.", std::move(role)),
                           "minItems", 1),
                      "maxItems", 64)}},
      {"job", "queuedAt", "roles"});
}

json::Doc BarredSchema() {
  return List("Nodes whose kubelet refused a pod of this gang; not used again until the given time.",
              Object("One node.",
                     {{"node", Text("Name of the node.")},
                      {"until", Time("When the node may be used again.")},
                      {"times", Int32("Refusals in a row; the time grows with them.")},
                      {"reason", Text("What the kubelet said.")}},
                     {"node", "until"}));
}

json::Doc StatusSchema() {
  json::Doc restarts =
      Object("How often the gang was restarted. These counters survive every crash.",
             {{"policy", Int64("Restarts after failed ranks; counted against backoffLimit.")},
              {"fault", Int64("Restarts after node and GPU faults.")}});
  return Object(
      "The durable record of the gang: written before the first pod of an attempt is created.",
      {{"phase",
        Enum("Where the gang is in its life: Queued, Checking (a dry run asks the API server about its "
             "pods), Placing (seats are decided, pods are being created), Starting, Running, Restarting, "
             "Succeeded or Failed.",
             {"Queued", "Checking", "Placing", "Starting", "Running", "Restarting", "Succeeded", "Failed"})},
       {"phaseSince", Time("When the phase began.")},
       {"attempt",
        Int64("Number of the last placement that was written down. Numbers only grow and never come "
              "back, also not when a placement was undone.")},
       {"pods", Int32("Number of pods of all roles.")},
       {"placement",
        With(List("The seats of the current attempt: "
                  "\"gpu-7=Master/0,Worker/0-6\" seats the Master and Workers 0 to 6 on node gpu-7, "
                  "\"gpu-{07..31}=Worker/0-199\" Workers 0 to 199 on the nodes gpu-07 to gpu-31, as many on "
                  "each, and \"gpu-{1*2,4}=Worker/0-2\" two on gpu-1 and one on gpu-4.",
                  Text("Nodes and the ranges of indices that they seat.")),
             "maxItems", 20000)},
       {"way", Enum("How the pods of the placement get to their nodes: Assign (created with spec.nodeName; "
                    "so where it is "
                    "absent), Bind (created without a node and bound together) or Steer (created with an "
                    "affinity to the "
                    "node; a scheduler that they name binds them).",
                    {"Assign", "Bind", "Steer"})},
       {"restarts", std::move(restarts)},
       {"needs", Map("Requests of the whole gang, as admission left its pods.", Quantity("An amount."))},
       {"needsText", Text("The same in one line, for people.")},
       {"reason", Text("Why the gang is where it is, as one stable CamelCase word.")},
       {"message", Text("The same as a sentence with the numbers that matter.")},
       {"waitingSince",
        Time("When the gang began to wait again, after a restart or a suspension. Absent: since it "
             "was queued. Who has waited beyond the age limit goes first.")},
       {"priority",
        With(With(Int32("Priority of the gang: the highest of its pods, as admission set it. The higher "
                        "goes first."),
                  "minimum", INT32_MIN),
             "maximum", INT32_MAX)},
       {"notBefore", Time("Back-off: the gang is not placed before this time.")},
       {"startFailures",
        Int64("Attempts in a row that never reached Running; the back-off grows with them.")},
       {"barredNodes", BarredSchema()}});
}

}  // namespace

json::Doc GangCrd() {
  json::Doc columns =
      json::Doc::array({Column("Phase", "string", ".status.phase", "Where the gang is in its life."),
                        Column("Attempt", "integer", ".status.attempt", "Number of the last placement."),
                        Column("Pods", "integer", ".status.pods", "Number of pods of all roles."),
                        Column("Needs", "string", ".status.needsText", "Requests of the whole gang."),
                        Column("Reason", "string", ".status.reason", "Why the gang is where it is."),
                        Column("Message", "string", ".status.message", "The same as a sentence.", 1),
                        Column("Age", "date", ".metadata.creationTimestamp", "")});
  json::Doc root = Root(
      "A Gang is the set of pods of one job that must run at the same time: all of them get seats at once, "
      "or none. "
      "Lockstep makes one for each job it runs and keeps its durable record there.",
      SpecSchema(), StatusSchema(), true);
  json::Doc version = {{"name", kube::kGangs.version},
                       {"served", true},
                       {"storage", true},
                       {"additionalPrinterColumns", std::move(columns)},
                       {"subresources", {{"status", json::Doc::object()}}},
                       {"schema", {{"openAPIV3Schema", std::move(root)}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "gangs.lockstep.dev"}}},
          {"spec",
           {{"group", kube::kGangs.group},
            {"names",
             {{"kind", kube::kGangs.kind},
              {"listKind", "GangList"},
              {"plural", kube::kGangs.plural},
              {"singular", "gang"},
              {"shortNames", json::Doc::array({"gg"})},
              {"categories", json::Doc::array({"lockstep"})}}},
            {"scope", "Namespaced"},
            {"versions", json::Doc::array({std::move(version)})}}}};
}

}  // namespace lockstep::api
