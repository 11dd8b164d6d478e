#pragma once

#include <memory>
#include <string>

#include "base/loop.h"
#include "kube/api/api.h"

namespace lockstep::shell {

// Asks the API server for next to nothing, again and again. A watch can be silent for two minutes on a
// healthy server (bookmarks of a quiet kube-apiserver come so rarely), and a frozen one keeps its connections
// open: only a question without an answer shows the difference.
class Pulse {
 public:
  static constexpr Duration kInterval = seconds(15);
  static constexpr Duration kPatience = seconds(15);  // for one answer

  explicit Pulse(kube::Api& api) : api_(api), timer_(api.loop()) {}
  ~Pulse() { *alive_ = false; }
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  void Start() { Ask(); }
  // "" while answers come, whatever they say; logged when that changes.
  const std::string& trouble() const { return trouble_; }

 private:
  void Ask();
  void Answered(uint64_t question, const kube::Status& status);
  void Set(std::string trouble);

  kube::Api& api_;
  Timer timer_;
  uint64_t question_ = 0;  // the one that is waited for
  std::string trouble_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockstep::shell
