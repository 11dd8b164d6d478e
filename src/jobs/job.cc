#include "jobs/job.h"

namespace lockstep::jobs {

int32_t Job::pods() const {
  int32_t sum = 0;
  for (const Role& role : roles) sum += role.replicas;
  return sum;
}

const Role* Job::role(std::string_view type) const {
  auto found = std::ranges::find(roles, type, &Role::type);
  return found == roles.end() || found->replicas == 0 ? nullptr : &*found;
}

}  // namespace lockstep::jobs
