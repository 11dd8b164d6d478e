#include "shell/pulse.h"

#include "base/log.h"

namespace lockstep::shell {

void Pulse::Ask() {
  kube::Request request;
  request.verb = kube::Verb::kList;
  request.resource = &kube::kNodes;
  request.limit = 1;
  request.resource_version = "0";  // from the server's cache
  uint64_t question = ++question_;
  timer_.SetAfter(kPatience, [this] {
    Set("the API server has not answered for " + FormatDuration(kPatience));
    Ask();
  });
  api_.Send(std::move(request), [this, question, alive = alive_](const kube::Response& response) {
    if (*alive) Answered(question, response.status);
  });
}

void Pulse::Answered(uint64_t question, const kube::Status& status) {
  if (question != question_) return;
  Set(status.unknown() ? "the API server can't be reached: " + status.message : "");
  timer_.SetAfter(kInterval, [this] { Ask(); });
}

void Pulse::Set(std::string trouble) {
  if (trouble == trouble_) return;
  if (trouble.empty()) {
    LogLine(LogLevel::kInfo, "the API server answers again");
  } else {
    LogLine(LogLevel::kWarning, "no answer", {{"error", trouble}});
  }
  trouble_ = std::move(trouble);
}

}  // namespace lockstep::shell
