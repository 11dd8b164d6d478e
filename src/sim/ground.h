#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/result.h"
#include "hollow/fleet.h"
#include "kube/api/api.h"
#include "sim/network.h"
#include "sim/picture.h"

namespace lockstep::sim {

// What a scenario is played on: an API server with hollow nodes. The simulated one lives in virtual time, the
// other on a real kube-apiserver in real time, `scale` times faster than the file says. The operator, the
// nodes and the statements are the same code on both.
class Ground {
 public:
  virtual ~Ground() = default;

  // Makes what every scenario needs: kinds, a namespace, nodes' keeper. Before anything else.
  virtual Outcome Prepare() = 0;
  // Removes what the scenario left, so that the next one begins with nothing.
  virtual void CleanUp() = 0;

  virtual Loop& loop() = 0;
  virtual bool virtual_time() const = 0;
  virtual double scale() const = 0;             // file time / ground time
  virtual const std::string& ns() const = 0;    // where a scenario's objects live
  virtual std::string operator_ns() const = 0;  // what operators watch; empty: everything
  virtual kube::Api& user() = 0;                // for the statements
  virtual Network& network() = 0;               // between the operators and the server
  virtual hollow::Fleet& fleet() = 0;
  virtual Picture& picture() = 0;  // up to date whenever `done` below is asked
  virtual void Compact() = 0;
  // Admission gives every new pod a sidecar that asks for this, or takes it off again (nothing asked for).
  virtual Outcome Inject(const kube::Resources& sidecar) = 0;

  // Lets time pass until `done()` holds, asked after everything that happens, or for `limit` of ground time.
  virtual bool RunUntilTrue(const std::function<bool()>& done, Duration limit) = 0;
  // Brings the picture up to date now.
  virtual void Refresh() = 0;

  // A duration of the file, on this ground.
  Duration Scaled(Duration of_file) const {
    return Duration(static_cast<int64_t>(static_cast<double>(of_file.count()) / scale()));
  }
  // Sends one request of the user and waits for the answer.
  kube::Response Ask(kube::Request request);
};

}  // namespace lockstep::sim
