#include "sim/ground.h"

namespace lockstep::sim {

kube::Response Ground::Ask(kube::Request request) {
  auto answer = std::make_shared<std::optional<kube::Response>>();
  user().Send(std::move(request), [answer](kube::Response response) { *answer = std::move(response); });
  if (!RunUntilTrue([&] { return answer->has_value(); }, seconds(60))) {
    return {kube::NoAnswer("the API server gave no answer to the scenario's request"), ""};
  }
  return **answer;
}

}  // namespace lockstep::sim
