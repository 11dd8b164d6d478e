#pragma once

#include "json/doc.h"

namespace lockstep::json {

// RFC 7386: objects merge, null removes, everything else replaces.
void MergePatch(Doc& target, const Doc& patch);

// RFC 6902. On an error `target` is unchanged.
Outcome JsonPatch(Doc& target, const Doc& operations);

// The RFC 7386 patch that turns `from` into `to`; an empty object when they are equal.
Doc MergeDiff(const Doc& from, const Doc& to);

// Kubernetes' strategic merge for the built-in lists that have a merge key (containers by name, conditions
// by type, env by name, ports by containerPort, tolerations atomic, ...), with $patch: delete|replace and
// $deleteFromPrimitiveList. Source: the patchMergeKey tags of k8s.io/api/core/v1.
Outcome StrategicMergePatch(Doc& target, const Doc& patch);

}  // namespace lockstep::json
