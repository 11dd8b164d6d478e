#pragma once

#include <vector>

#include "json/doc.h"

namespace lockstep::json {

// Reads every document of a YAML stream (JSON is YAML too) as sigs.k8s.io/yaml does: YAML 1.1 booleans
// (yes/no/on/off are booleans), the other scalars by the core schema; duplicate keys are an error; anchors
// and aliases are allowed within a budget of expanded nodes; `<<` merges. Errors name line and column. Empty
// documents are left out.
Result<std::vector<Doc>> ParseYaml(std::string_view text, Limits limits = {});

// Block style, keys sorted, strings quoted when another reading is possible.
std::string DumpYaml(const Doc& doc);

}  // namespace lockstep::json
