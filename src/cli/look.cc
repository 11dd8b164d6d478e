#include "cli/look.h"

#include "engine/step.h"
#include "shell/kinds.h"

namespace lockstep::cli {

namespace {

using cluster::Event;

struct Lists {
  std::vector<std::unique_ptr<shell::Reflector>> reflectors;
  std::vector<Event> events;
};

// Whether nothing more is to be expected of it.
bool Told(const shell::Reflector& reflector) { return reflector.synced() || !reflector.last_error().ok(); }

std::unique_ptr<Lists> ListAll(kube::Api& api, RealLoop& loop, Duration limit) {
  auto lists = std::make_unique<Lists>();
  for (shell::WatchedKind& kind : shell::WatchedKinds("")) {
    shell::Reflector::Callbacks callbacks;
    callbacks.on_upsert = [&events = lists->events, resource = kind.resource](
                              const std::string&, const std::string&, json::DocPtr object) {
      events.push_back(cluster::Observed{resource, std::move(object), /*gone=*/false});
    };
    shell::ReflectorOptions quiet;
    quiet.optional = true;
    lists->reflectors.push_back(std::make_unique<shell::Reflector>(api, *kind.resource, std::move(kind.scope),
                                                                   std::move(callbacks), quiet));
    lists->reflectors.back()->Start();
  }
  loop.RunUntilTrue(
      [&] { return std::ranges::all_of(lists->reflectors, [](const auto& r) { return Told(*r); }); }, limit);
  return lists;
}

// The user may not create pods: then nobody knows what admission adds.
bool MayNotAsk(const kube::Status& status) {
  return status.code == 401 ||
         (status.code == 403 && status.message.find("cannot create resource") != std::string::npos);
}

// Sends those of the actions that are dry runs of the gang's templates; their answers.
std::vector<Event> DryRuns(kube::Api& api, RealLoop& loop, const cluster::GangState& gang,
                           std::vector<cluster::Action> actions, Duration limit) {
  auto answers = std::make_shared<std::vector<Event>>();
  auto pending = std::make_shared<size_t>(0);
  for (cluster::Action& action : actions) {
    bool ours =
        std::ranges::any_of(gang.roles, [&](const auto& role) { return role.check_key == action.touches; });
    if (action.kind != cluster::ActionKind::kCheckTemplate || !ours) continue;
    ++*pending;
    api.Send(std::move(action.request), [answers, pending, id = action.id](kube::Response response) {
      --*pending;
      cluster::ActionDone done{id, std::move(response.status), nullptr};
      Result<json::Doc> object = done.status.ok() ? json::Parse(response.body) : Result<json::Doc>(Error{});
      if (object.ok()) done.object = std::make_shared<const json::Doc>(*std::move(object));
      if (!MayNotAsk(done.status)) answers->push_back(std::move(done));
    });
  }
  loop.RunUntilTrue([pending] { return *pending == 0; }, limit);
  return std::move(*answers);
}

}  // namespace

Result<cluster::World> LookAtCluster(kube::Api& api, RealLoop& loop, const std::string& asked,
                                     Duration limit) {
  std::unique_ptr<Lists> lists = ListAll(api, loop, limit);
  for (const auto& reflector : lists->reflectors) {
    const kube::Resource* resource = &reflector->resource();
    bool needed = resource == &kube::kNodes || resource == &kube::kPods || resource == &kube::kGangs;
    if (needed && !reflector->synced()) return Error{reflector->trouble()};
  }
  cluster::World world;
  std::vector<cluster::Action> actions = engine::Consider(world, lists->events, loop.now());
  if (const cluster::GangState* gang = world.gangs.Get(asked)) {
    std::vector<Event> answers = DryRuns(api, loop, *gang, std::move(actions), limit);
    engine::Consider(world, answers, loop.now());
  }
  return world;
}

}  // namespace lockstep::cli
