#pragma once

#include <string>
#include <string_view>
#include <vector>

// The name rules of k8s.io/apimachinery/pkg/util/validation. Each returns what is wrong, in the server's
// words; empty if nothing is.
namespace lockstep::apiserver {

using Faults = std::vector<std::string>;

Faults CheckDns1123Label(std::string_view name);      // container names, namespaces, hostnames
Faults CheckDns1123Subdomain(std::string_view name);  // most object names
Faults CheckDns1035Label(std::string_view name);      // services
Faults CheckQualifiedName(std::string_view name);     // label keys, "example.com/name" or "name"
Faults CheckLabelValue(std::string_view value);

}  // namespace lockstep::apiserver
