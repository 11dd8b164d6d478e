#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "sim/picture.h"
#include "sim/scenario.h"

namespace lockstep::sim {

// What `expect` can say. `Mismatch` answers what is not as expected, or nothing.
struct Expectation {
  using Mismatch = std::optional<std::string>;

  const char* name;
  bool takes_names;   // the word after it is a list
  int min_arguments;  // plain words after that
  int max_arguments;
  Mismatch (*check)(const Picture& picture, const std::string& ns,
                    const Expect& expect);  // null: the runner's own
};

const Expectation* FindExpectation(const std::string& name);
std::string ExpectationNames();  // for messages
// Whether the statement has as many words as its expectation wants.
Outcome CheckExpect(const Expect& expect);

// Names of the scenario are in namespace `ns`.
std::optional<std::string> Mismatch(const Picture& picture, const std::string& ns, const Expect& expect);

}  // namespace lockstep::sim
