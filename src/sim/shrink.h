#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lockstep::sim {

// Makes a failing scenario smaller: leaves out jobs, then statements, then makes numbers smaller, as long as
// it still fails. `fails` says what kind of failure a text shows, nothing if it plays well; only the kind
// that the whole text shows counts. At most `plays` tries.
std::string Shrink(std::string text,
                   const std::function<std::optional<std::string>(const std::string&)>& fails, int plays);

}  // namespace lockstep::sim
