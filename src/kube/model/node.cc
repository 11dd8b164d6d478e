#include "kube/model/node.h"

#include <algorithm>

#include "kube/model/reader.h"

namespace lockstep::kube {

using json::Doc;

bool Node::ready() const {
  return std::ranges::any_of(conditions,
                             [](const NodeCondition& c) { return c.type == "Ready" && c.status == "True"; });
}

namespace {

// A node that claims less than nothing has nothing of it.
Resources ParseAmounts(Reader& read, const Doc& status, std::string_view key) {
  Resources amounts;
  const Doc* doc = read.Object(status, "status", key);
  if (doc == nullptr) return amounts;
  for (const auto& [name, value] : doc->items()) {
    Result<Amount> amount = ParseQuantity(value);
    if (!amount) read.Fail(Join(Join("status", key), name), amount.error().message);
    if (amount) amounts.emplace_hint(amounts.end(), name, std::max<Amount>(*amount, 0));
  }
  return amounts;
}

}  // namespace

Result<Node> ParseNode(const Doc& object) {
  if (!object.is_object()) return Error{std::string("node: must be an object, is ") + object.type_name()};
  Node node;
  node.meta = ParseMeta(object);
  if (node.meta.name.empty()) return Error{"metadata.name: must be a name, is missing"};

  Reader read;
  if (const Doc* spec = read.Object(object, "", "spec")) {
    node.unschedulable = read.Bool(*spec, "spec", "unschedulable");
    node.taints = ParseTaints(json::Key(spec, "taints"));
  }
  if (const Doc* status = read.Object(object, "", "status")) {
    std::string_view amounts = read.Object(*status, "status", "allocatable") ? "allocatable" : "capacity";
    node.allocatable = ParseAmounts(read, *status, amounts);
    node.boot_id = json::GetString(*status, "nodeInfo.bootID");
    std::string path = "status.conditions";
    for (const Doc* condition : read.Objects(*status, "status", "conditions")) {
      std::string at = Join(path, node.conditions.size());
      node.conditions.push_back({.type = read.Text(*condition, at, "type"),
                                 .status = read.Text(*condition, at, "status"),
                                 .reason = read.Text(*condition, at, "reason")});
    }
  }
  if (read.error()) return *read.error();
  return node;
}

}  // namespace lockstep::kube
