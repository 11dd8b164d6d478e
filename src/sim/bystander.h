#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kube/api/api.h"
#include "shell/reflector.h"
#include "sim/picture.h"

namespace lockstep::sim {

// Keeps a Picture of any API server: lists and watches of its own, nobody else's view. Kinds that the server
// does not serve stay empty.
class Bystander {
 public:
  // `ns` empty: all namespaces; nodes are always looked at.
  Bystander(kube::Api& api, const std::string& ns, Picture& picture);

  // Every kind was listed once, or is not served.
  bool synced() const;
  // The first failure that keeps it from looking; ok while there is none.
  kube::Status trouble() const;

 private:
  std::vector<std::unique_ptr<shell::Reflector>> reflectors_;
};

}  // namespace lockstep::sim
