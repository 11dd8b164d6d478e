#pragma once

#include "jobs/framework.h"

namespace lockstep::jobs {

// Stands in for a framework where pods form a gang that no job of ours made: whoever owns them makes, judges
// and replaces them. Lockstep gives them seats, and nothing else is ever asked of it.
class PodSet final : public Framework {
 public:
  const Kind& kind() const override;
  std::variant<Job, InvalidJob> Read(const json::Doc& object) const override;
  json::Doc PodFor(const Job& job, size_t role, int32_t index) const override;
  bool LookedUp(const Job&, size_t, int32_t) const override { return false; }
  Verdict Judge(const Job&, std::span<const RoleCounts>, size_t*) const override { return Verdict::kGoesOn; }
  std::string RunningMessage(const Job&) const override { return ""; }
  std::string SucceededMessage(const Job&) const override { return ""; }
  std::string FailedMessage(const Job&, size_t, const RoleCounts&) const override { return ""; }
};

const Framework& PodSets();

}  // namespace lockstep::jobs
