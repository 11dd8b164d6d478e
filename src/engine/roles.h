#pragma once

#include "engine/draft.h"
#include "gang/place.h"

namespace lockstep::engine {

// What the roles of a gang need: at first as the user wrote the template, then as a dry-run create came back
// from admission (DESIGN: Checking). Asks for the dry runs that are missing or too old while the gang waits.
void DeriveRoles(Draft& draft, cluster::GangState& gang);

// A role of pods that exist, so admission has seen them.
cluster::RoleState RoleOfPods(cluster::World& world, const cluster::GangState& gang, kube::PodNeed need,
                              kube::Labels labels, int32_t priority);

// Every role's need is known as admission leaves it.
bool RolesChecked(const cluster::GangState& gang);
// The refusal of one role's template that is in force, or null.
const kube::Status* RefusedTemplate(const cluster::World& world, const cluster::GangState& gang);

// What keeps a role's template from being checked: a full quota; or null.
const kube::Status* QuotaRefusal(const cluster::World& world, const cluster::GangState& gang);
// What the whole gang would be charged for in quotas, its services included.
std::vector<cluster::QuotaAsk> AsksOf(const cluster::GangState& gang);
// The quota of its own that keeps it from starting now.
std::optional<cluster::QuotaLack> QuotaLackOf(const cluster::World& world, const cluster::GangState& gang,
                                              Now now);

// A rule of its pods that can't be met, by its path; or null.
const std::string* UnmetRule(const cluster::GangState& gang);

// Some dry run got no answer and is asked again.
bool CheckFailure(const cluster::World& world, const cluster::GangState& gang);

// How the gang's pods will get to their nodes, as far as its checks tell.
api::Way WayOf(const cluster::World& world, const cluster::GangState& gang);

gang::Need NeedOf(const cluster::GangState& gang);
// The same without its claims, which only narrow it: where that does not fit, the gang does not. Nothing if
// it has none.
std::optional<gang::Need> NeedWithoutClaims(const cluster::GangState& gang);
// The whole gang's effective requests.
kube::Resources TotalNeed(const cluster::GangState& gang);

}  // namespace lockstep::engine
