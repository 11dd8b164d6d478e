#include "base/check.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"

// Pods and nodes of documents: read or refused with a message, and a pod's need is the same on its own.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  Result<json::Doc> doc = json::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!doc.ok()) return 0;
  Result<kube::Pod> pod = kube::ParsePod(*doc);
  Result<kube::PodNeed> need = kube::ParsePodNeed(*doc);
  if (pod.ok()) {
    CHECK(need.ok() && *need == pod->need) << "two readings of one pod";
    for (const auto& [name, amount] : pod->need.requests) CHECK(amount > 0) << name;
    CHECK(pod->terminal() || kube::HoldsResources(*pod)) << "a live pod holds nothing";
  } else {
    CHECK(!pod.error().message.empty()) << "an error without a message";
  }
  if (Result<kube::Node> node = kube::ParseNode(*doc); node.ok()) {
    for (const auto& [name, amount] : node->allocatable) CHECK(amount >= 0) << name;
    if (pod.ok()) (void)pod->need.nodes.Matches(node->meta.name, node->meta.labels);
    if (pod.ok()) (void)kube::FirstUntolerated(node->taints, pod->need.tolerations);
  }
  return 0;
}
