#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "shell/operator.h"
#include "web/metrics.h"

namespace lockstep::cli {

// Turns what an operator does into metrics. On the operator's loop; a scrape reads the metrics from any
// thread.
class OperatorMetrics final : public shell::Observer {
 public:
  explicit OperatorMetrics(web::Metrics& metrics) : metrics_(metrics) {}

  void OnStep(const cluster::World& world, Duration took, size_t events, size_t actions) override;
  void OnAnswer(const cluster::Action& action, const kube::Status& status, Duration took) override;
  void OnLeader(bool leading) override { metrics_.SetLeader(leading); }

 private:
  void CountGangs(const cluster::World& world);

  web::Metrics& metrics_;
  std::set<std::string> written_;              // gangs whose record was written since the last step
  std::map<std::string, WallTime> placed_at_;  // gangs on their way from Placing to Running
  std::optional<MonoTime> counted_;
};

}  // namespace lockstep::cli
