#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/gang.h"
#include "explain/reason.h"
#include "gang/no_fit.h"

namespace lockstep::explain {

// One thing that alone would let a waiting gang start.
struct Change {
  enum class Kind {
    kJobsEnd,      // `jobs` have ended; with `any`, one of them
    kMoreNodes,    // `count` more nodes like `node`, which offers `shape`
    kLargerNodes,  // nodes of at least `amount` of `resource`, of which the largest offers `was`
    kUncordon,     // `count` nodes, the first of them `node`
    kTolerate,     // its pods tolerate `taints`
    kSelector,     // its pods may use any node
    kSmaller,      // each pod (of `role`) asks for `amount` of `resource` and not for `was`
    kFewer,        // `count` pods of `role` and not `of`
    kQuota,        // quota `quota` allows `amount` of `resource` and not `was`
    kResume,       // spec.runPolicy.suspend is taken back
  };
  Kind kind = Kind::kJobsEnd;
  std::vector<std::string> jobs, taints;
  bool any = false;
  std::string node, role, resource, quota;
  kube::Resources shape;
  int64_t count = 0, of = 0;
  kube::Amount amount = 0, was = 0;
};

struct RoleSheet {
  std::string type;
  int32_t pods = 0;
  kube::Resources each;   // as admission leaves a pod
  kube::Resources added;  // of it what the template does not say: by admission, or by our init container
};

// Why nodes don't do for the pods of some roles; `seats` of `wanted` are there.
struct NodesSheet {
  std::vector<std::string> roles;
  int64_t seats = 0;
  int32_t wanted = 0;
  std::vector<gang::RefusedNodes> refused;
};

// All that can be said of why a gang waits; facts, not sentences.
struct Sheet {
  std::string kind, ns, job;
  WallTime now;
  api::GangReason reason;          // the one sentence, and its code
  WallTime since;                  // waits since then
  int64_t ahead = 0, waiting = 0;  // in the queue: before it, and all
  std::vector<std::string> next;   // at most three of those before it, the next to go first
  std::vector<RoleSheet> roles;
  bool checked = true;  // `each` is what admission leaves, not only what was written
  int32_t nodes = 0;    // of the cluster
  std::vector<NodesSheet> lacks;
  std::optional<gang::Supply> shortest;
  std::vector<Holder> holders;  // of `shortest`, most first
  kube::Amount others = 0;      // of `shortest`, held by pods of nobody's gang
  bool possible = true;         // on this cluster, were it empty
  std::vector<Change> changes;
};

// For people: the sentence first, then what stands behind it.
std::string SheetText(const Sheet& sheet);
// For programs; docs/explain.md has the fields.
json::Doc SheetDoc(const Sheet& sheet);

// "when bert has ended", "with 2 more nodes like node-7 (8 nvidia.com/gpu, 128 cpu)".
std::string ChangeText(const Change& change);

}  // namespace lockstep::explain
