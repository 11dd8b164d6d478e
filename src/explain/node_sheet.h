#pragma once

#include <string>
#include <vector>

#include "json/doc.h"
#include "kube/model/quantity.h"

namespace lockstep::explain {

// Why a node is as empty, or as full, as it is; facts, not sentences.
struct NodeSheet {
  struct Resource {
    std::string name;
    kube::Amount offered = 0, used = 0;
  };
  struct Job {
    std::string name;
    int32_t pods = 0;
    kube::Resources holds;
  };
  // Jobs that wait, and what keeps all of them off this node.
  struct Waiting {
    std::vector<std::string> jobs;
    std::string why;  // "" where a pod of theirs would find a seat here: the gang as a whole does not
  };

  std::string name;
  std::vector<std::string> state;  // "cordoned", "not ready", "has the taint team=x:NoSchedule"
  std::vector<Resource> resources;
  std::vector<Job> jobs;
  int64_t others = 0;  // pods of no gang
  std::vector<Waiting> waiting;
};

std::string NodeSheetText(const NodeSheet& sheet);
json::Doc NodeSheetDoc(const NodeSheet& sheet);

}  // namespace lockstep::explain
