#pragma once

#include <string_view>

#include "json/doc.h"

namespace lockstep::json {

// What a plain (unquoted) scalar means to sigs.k8s.io/yaml: null, a boolean (yes, on, y, true, ...), an
// integer (0x1f, 0o17, 017, 0b1, 1_000), a float, or a string. A float without a fraction becomes an integer,
// because it is one once the document has gone through JSON. Not a number: ".inf" and ".nan", which JSON
// can't hold, are kept as a float, so that the caller refuses them. Source: go.yaml.in/yaml/v2 resolve.go.
Doc ResolvePlainScalar(std::string_view text);

}  // namespace lockstep::json
