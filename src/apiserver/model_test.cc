#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "apiserver/test_server.h"

// The server against a map that a reader understands at once: after any writes, it holds what the map holds,
// and whoever lists at any moment and then watches arrives at the same.
namespace lockstep::apiserver {
namespace {

using json::Doc;

struct Op {
  int kind = 0;  // create, blind update, stale update, patch, delete
  int name = 0;  // one of few, so that writes meet
  int value = 0;
};

std::ostream& operator<<(std::ostream& out, const Op& op) {
  return out << "{" << op.kind << " c" << op.name << " " << op.value << "}";
}

rc::Gen<std::vector<Op>> Ops() {
  return rc::gen::container<std::vector<Op>>(rc::gen::build<Op>(
      rc::gen::set(&Op::kind, rc::gen::inRange(0, 5)), rc::gen::set(&Op::name, rc::gen::inRange(0, 4)),
      rc::gen::set(&Op::value, rc::gen::inRange(0, 3))));
}

Doc Config(const Op& op) {
  Doc config = ConfigDoc("c" + std::to_string(op.name));
  config["metadata"]["labels"] = {{"value", std::to_string(op.value)}};
  config["data"] = {{"value", std::to_string(op.value)}};
  return config;
}

using Model = std::map<std::string, int>;

// Applies `op` to both and checks that the answer is the one that the map predicts.
void Apply(TestServer& api, Model& model, const Op& op) {
  std::string name = "c" + std::to_string(op.name);
  bool exists = model.contains(name);
  int code = 0;
  int expected = exists ? 200 : 404;
  Doc config = Config(op);
  if (op.kind == 0) {
    code = api.Create(kube::kConfigMaps, config).status.code;
    expected = exists ? 409 : 201;
  } else if (op.kind == 1) {
    code = api.Update(kube::kConfigMaps, config).status.code;
  } else if (op.kind == 2) {
    config["metadata"]["resourceVersion"] = "1";
    code = api.Update(kube::kConfigMaps, config).status.code;
    RC_ASSERT(code == (exists ? 409 : 404));
    return;
  } else if (op.kind == 3) {
    Doc patch = {{"data", config["data"]}, {"metadata", {{"labels", config["metadata"]["labels"]}}}};
    code = api.Patch(kube::kConfigMaps, name, patch).status.code;
  } else {
    code = api.Delete(kube::kConfigMaps, name).status.code;
    model.erase(name);
  }
  RC_ASSERT(code == expected);
  if (op.kind == 0 && exists) return;
  if (op.kind != 4 && (exists || op.kind == 0)) model[name] = op.value;
}

// Name to text, as a client that lists sees it.
using View = std::map<std::string, Doc>;

View ListAll(TestServer& api, const std::string& labels) {
  View view;
  Doc list = *json::Parse(api.List(kube::kConfigMaps, labels).body);
  for (Doc& item : list["items"]) {
    view[json::GetString(item, "metadata.name")] = item;
  }
  return view;
}

// A client that listed at a moment and then watches.
struct Replayer {
  View view;
  std::string labels;
  std::string version;

  void CatchUp(TestServer& api) {
    kube::WatchRequest watch;
    watch.resource = &kube::kConfigMaps;
    watch.resource_version = version;
    watch.label_selector = labels;
    auto id = api.server.StartWatch(watch, [&](WatchNotice notice) {
      Doc object = *notice.Tree();
      std::string name = json::GetString(object, "metadata.name");
      bool known = view.contains(name);
      // ADDED only of what wasn't there, the others only of what was.
      RC_ASSERT(known == (notice.type != kube::WatchEventType::kAdded));
      RC_ASSERT(std::stoull(json::GetString(object, "metadata.resourceVersion")) == notice.revision);
      object.erase("apiVersion");
      object.erase("kind");
      if (notice.type == kube::WatchEventType::kDeleted) {
        view.erase(name);
      } else {
        view[name] = std::move(object);
      }
    });
    RC_ASSERT(id.ok());
    api.server.StopWatch(*id);
  }
};

RC_GTEST_PROP(Model, TheServerHoldsWhatAMapHolds, ()) {
  TestServer api;
  Model model;
  for (const Op& op : *Ops()) {
    uint64_t before = api.server.revision();
    Apply(api, model, op);
    RC_ASSERT(api.server.revision() - before <= 1);
  }
  Model held;
  for (const auto& [name, object] : ListAll(api, ""))
    held[name] = std::stoi(json::GetString(object, "data.value"));
  RC_ASSERT(held == model);
}

RC_GTEST_PROP(Model, AWatcherFromAnyVersionArrivesAtTheList, ()) {
  TestServer api;
  Model model;
  std::vector<Replayer> replayers;
  for (const Op& op : *Ops()) {
    for (const char* labels : {"", "value=1", "value!=2"}) {
      replayers.push_back({ListAll(api, labels), labels, std::to_string(api.server.revision())});
    }
    Apply(api, model, op);
  }
  for (Replayer& replayer : replayers) {
    replayer.CatchUp(api);
    RC_ASSERT(replayer.view == ListAll(api, replayer.labels));
  }
}

RC_GTEST_PROP(Model, PagesAreTheListOfTheirFirstMoment, ()) {
  TestServer api;
  Model model;
  std::vector<Op> ops = *Ops();
  size_t half = ops.size() / 2;
  for (size_t i = 0; i < half; ++i) Apply(api, model, ops[i]);
  View expected = ListAll(api, "");
  kube::Request list = api.Make(kube::Verb::kList, kube::kConfigMaps, "");
  list.limit = *rc::gen::inRange(1, 4);
  View paged;
  do {
    Doc page = *json::Parse(api.Send(list).body);
    for (Doc& item : page["items"]) paged[json::GetString(item, "metadata.name")] = item;
    list.continue_token = json::GetString(page, "metadata.continue");
    if (half < ops.size()) Apply(api, model, ops[half++]);
  } while (!list.continue_token.empty());
  RC_ASSERT(paged == expected);
}

}  // namespace
}  // namespace lockstep::apiserver
