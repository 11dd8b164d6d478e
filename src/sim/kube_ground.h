#pragma once

#include <memory>
#include <string>

#include "base/real_loop.h"
#include "kube/client/http_api.h"
#include "sim/bystander.h"
#include "sim/ground.h"

namespace lockstep::sim {

struct KubeGroundOptions {
  double scale = 20;      // a minute of the file is three seconds
  std::string name = "";  // of the scenario: part of the namespace's name
};

// A real API server in real time. One scenario at a time per server, for nodes belong to no namespace; each
// has a namespace of its own and takes its nodes away at the end.
class KubeGround final : public Ground {
 public:
  KubeGround(const kube::ClientConfig& config, KubeGroundOptions options);
  ~KubeGround() override;

  Outcome Prepare() override;
  void CleanUp() override;
  Loop& loop() override { return loop_; }
  bool virtual_time() const override { return false; }
  double scale() const override { return options_.scale; }
  const std::string& ns() const override { return ns_; }
  std::string operator_ns() const override { return ns_; }
  kube::Api& user() override { return user_; }
  Network& network() override { return network_; }
  hollow::Fleet& fleet() override { return *fleet_; }
  Picture& picture() override { return picture_; }
  // No client can compact etcd; every watch of the operators ends with 410 as it would after that.
  void Compact() override;
  Outcome Inject(const kube::Resources& sidecar) override;
  bool RunUntilTrue(const std::function<bool()>& done, Duration limit) override {
    return loop_.RunUntilTrue(done, limit);
  }
  void Refresh() override {}

 private:
  Outcome InstallKinds();
  Outcome MakeNamespace();
  void DeleteAll(const kube::Resource& resource);
  bool Empty(const kube::Resource& resource);

  const KubeGroundOptions options_;
  const std::string ns_;
  RealLoop loop_;
  kube::HttpApi user_, operators_, nodes_;
  Network network_;
  std::unique_ptr<hollow::Fleet> fleet_;
  Picture picture_;
  std::unique_ptr<Bystander> bystander_;
};

}  // namespace lockstep::sim
