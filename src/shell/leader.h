#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "kube/api/api.h"

namespace lockstep::shell {

struct LeaderOptions {
  std::string ns = "lockstep-system";
  std::string name = "lockstep-operator";
  std::string identity;  // of this process; unique among replicas
  // After a leader is killed the next one writes within this and one retry.
  Duration lease = seconds(3);
  Duration renew = seconds(1);
  Duration retry = milliseconds(200);  // so much of a second after a lease was given up is lost
  // A leader stops writing this long before its lease can be taken.
  Duration margin = milliseconds(500);
};

// One leader at a time by a coordination.k8s.io Lease, as client-go does it: a lease is free when it names no
// holder or when its record has not changed for its own duration by *our* clock, so the clocks of two
// machines are never compared.
//
//   Standby ──free, write accepted──► Leading ──Release()──► Released
//      ▲                                 │
//      └──── not renewed in time ────────┘
//
// Who gives a lease up leaves in an annotation how far it had seen: a standby that has seen as much need not
// list everything again.
class LeaderGate {
 public:
  // By plural, the highest resource version of an object.
  using Seen = std::map<std::string, uint64_t>;
  struct Callbacks {
    // This process leads now. `left`: by the one who gave the lease up; null when nobody did.
    std::function<void(const Seen* left)> on_lead;
    std::function<void()> on_lost;  // and now no longer; may destroy what it guards, not the gate itself
  };

  LeaderGate(kube::Api& api, LeaderOptions options, Callbacks callbacks);
  ~LeaderGate();
  LeaderGate(const LeaderGate&) = delete;
  LeaderGate& operator=(const LeaderGate&) = delete;

  void Start();
  // Gives the lease up so that a standby need not wait for it; `done` when the server has answered.
  void Release(const Seen& seen, std::function<void()> done);

  // Whether a write may be sent now. Asks the boot-time clock each time: a process that slept knows it.
  bool MayWrite() const { return MayWriteUntil().has_value(); }
  // Until when, unless the lease is renewed meanwhile; nothing: not at all.
  std::optional<MonoTime> MayWriteUntil() const;
  bool leading() const { return leading_; }
  // Who holds the lease, as last seen.
  const std::string& holder() const { return holder_; }
  // Why the Lease can't be read or written; empty when it can.
  const std::string& trouble() const { return trouble_; }

 private:
  void Try();
  void OnRead(const kube::Response& response);
  void Write(const json::Doc& lease, bool create);
  void OnWritten(const kube::Response& response, MonoTime sent_at);
  void CheckStillLeading();
  void Failed(const kube::Status& status);
  void Again(Duration delay);
  json::Doc OurSpec(int64_t transitions) const;
  kube::Request LeaseRequest(kube::Verb verb) const;

  kube::Api& api_;
  const LeaderOptions options_;
  const Callbacks callbacks_;
  Timer timer_;
  Timer expiry_;
  bool leading_ = false;
  bool released_ = false;
  MonoTime valid_until_{};
  std::string holder_, trouble_;
  std::string record_;      // resource version of the lease as last seen
  MonoTime record_seen_{};  // when it was first seen so
  json::Doc lease_;         // as last seen
  std::optional<Seen> left_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockstep::shell
