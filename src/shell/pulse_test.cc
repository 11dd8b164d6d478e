#include "shell/pulse.h"

#include <gmock/gmock.h>

#include "base/virtual_loop.h"

namespace lockstep::shell {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Answers while it is not frozen; what came meanwhile is answered afterwards.
class FreezableApi final : public kube::Api {
 public:
  explicit FreezableApi(Loop& l) : loop_(l) {}
  Loop& loop() override { return loop_; }
  void Send(kube::Request, Done done) override {
    ++asked;
    waiting_.push_back(std::move(done));
    if (!frozen_) Thaw();
  }
  std::unique_ptr<kube::Watch> StartWatch(kube::WatchRequest, kube::WatchHandler&) override {
    return nullptr;
  }

  void Freeze() { frozen_ = true; }
  void Thaw() {
    frozen_ = false;
    for (Done& done : waiting_) loop_.Post([this, done = std::move(done)] { done({answer, ""}); });
    waiting_.clear();
  }

  int asked = 0;
  kube::Status answer = kube::OkStatus();

 private:
  Loop& loop_;
  bool frozen_ = false;
  std::vector<Done> waiting_;
};

class PulseTest : public testing::Test {
 protected:
  VirtualLoop loop;
  FreezableApi api{loop};
  Pulse pulse{api};
};

TEST_F(PulseTest, AFrozenServerIsToldWithinHalfAMinuteAndItsReturnToo) {
  pulse.Start();
  loop.RunFor(minutes(1));
  EXPECT_THAT(pulse.trouble(), IsEmpty());
  api.Freeze();
  loop.RunFor(seconds(31));
  EXPECT_THAT(pulse.trouble(), HasSubstr("has not answered for 15s"));
  loop.RunFor(minutes(2));
  api.Thaw();
  loop.RunFor(seconds(1));
  EXPECT_THAT(pulse.trouble(), IsEmpty());
}

TEST_F(PulseTest, ARefusalIsAnAnswerAndABrokenConnectionIsNone) {
  pulse.Start();
  api.answer = kube::ErrorStatus(403, "Forbidden", "nodes is forbidden");
  loop.RunFor(minutes(1));
  EXPECT_THAT(pulse.trouble(), IsEmpty());
  api.answer = kube::NoAnswer("connection refused");
  loop.RunFor(minutes(1));
  EXPECT_THAT(pulse.trouble(), HasSubstr("connection refused"));
}

TEST_F(PulseTest, AsksSeldom) {
  pulse.Start();
  loop.RunFor(minutes(10));
  EXPECT_LE(api.asked, 41);
}

}  // namespace
}  // namespace lockstep::shell
