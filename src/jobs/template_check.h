#pragma once

#include "jobs/field_errors.h"

namespace lockstep::jobs {

// Checks what Lockstep itself reads or writes in a pod template, and what the API server would refuse in
// every pod of it: containers, names, images, ports, env, quantities, scheduling fields. `path` is that of
// the template, `container` the name that one container must have. Other fields are carried through unread;
// the dry run tells what the API server thinks of them.
void CheckTemplate(const json::Doc* pod_template, const std::string& path, std::string_view container,
                   FieldErrors& errors);

}  // namespace lockstep::jobs
