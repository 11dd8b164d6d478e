#pragma once

#include <z3.h>

#include <string>
#include <vector>

#include "gang/testing.h"

// Gangs of several kinds of pods as integer programs, for tests and benchmarks: Z3 says whether there is a
// placement, and what the best one is. Shares nothing with cluster/ and gang/ but the instance it is given.
namespace lockstep::gang::testing {

// Amounts are whole units: CPUs, GPUs, GiB, pods.
struct OracleNode {
  int cpu = 0, gpu = 0, memory = 0, pods = 0, zone = 0;
  int free_gpu = 0;  // at most gpu: others hold the rest
  bool tainted = false;

  bool fresh() const { return free_gpu == gpu; }
};

struct OracleKind {
  int cpu = 0, gpu = 0, memory = 0, count = 0, zone = -1, port = 0;
  bool tolerates = false;

  bool MayUse(const OracleNode& node) const {
    return (zone < 0 || zone == node.zone) && (!node.tainted || tolerates);
  }
};

struct OracleInstance {
  std::vector<OracleNode> nodes;
  std::vector<OracleKind> kinds;
};

class IntegerOracle {
 public:
  IntegerOracle() {
    Z3_config config = Z3_mk_config();
    context_ = Z3_mk_context(config);
    Z3_del_config(config);
  }
  ~IntegerOracle() { Z3_del_context(context_); }
  IntegerOracle(const IntegerOracle&) = delete;
  IntegerOracle& operator=(const IntegerOracle&) = delete;

  bool IsPossible(const OracleInstance& instance) {
    return Ask(Constraints(instance) + "(check-sat)\n").rfind("sat", 0) == 0;
  }

  // The fewest nodes that a placement can use; `fresh`: the fewest of those on which nobody was. -1: none.
  int Fewest(const OracleInstance& instance, bool fresh) {
    std::string sum = "(+ 0";
    for (size_t node = 0; node < instance.nodes.size(); ++node) {
      if (fresh && !instance.nodes[node].fresh()) continue;
      std::string any = "(or false";
      for (size_t kind = 0; kind < instance.kinds.size(); ++kind) any += " (> " + Pods(kind, node) + " 0)";
      sum += " (ite " + any + ") 1 0)";
    }
    // Whether at most `most` will do, from the fewest on: faster than an optimizer on such small numbers.
    for (int most = 0; most <= static_cast<int>(instance.nodes.size()); ++most) {
      std::string bound = "(assert (<= " + sum + ") " + std::to_string(most) + "))\n";
      if (Ask(Constraints(instance) + bound + "(check-sat)\n").rfind("sat", 0) == 0) return most;
    }
    return -1;
  }

 private:
  static std::string Pods(size_t kind, size_t node) {
    return "x" + std::to_string(kind) + "_" + std::to_string(node);
  }

  static std::string AtMost(const OracleInstance& instance, size_t node, int OracleKind::* amount, int most) {
    std::string sum = "(+ 0";
    for (size_t kind = 0; kind < instance.kinds.size(); ++kind) {
      int each = amount == nullptr ? 1 : instance.kinds[kind].*amount;
      sum += " (* " + std::to_string(each) + " " + Pods(kind, node) + ")";
    }
    return "(assert (<= " + sum + ") " + std::to_string(most) + "))\n";
  }

  static std::string Constraints(const OracleInstance& instance) {
    std::string text = "(reset)\n(set-logic QF_LIA)\n";
    for (size_t kind = 0; kind < instance.kinds.size(); ++kind) {
      std::string sum = "(+ 0";
      for (size_t node = 0; node < instance.nodes.size(); ++node) {
        text += "(declare-const " + Pods(kind, node) + " Int)\n(assert (>= " + Pods(kind, node) + " 0))\n";
        if (!instance.kinds[kind].MayUse(instance.nodes[node]))
          text += "(assert (= " + Pods(kind, node) + " 0))\n";
        sum += " " + Pods(kind, node);
      }
      text += "(assert (= " + sum + ") " + std::to_string(instance.kinds[kind].count) + "))\n";
    }
    for (size_t node = 0; node < instance.nodes.size(); ++node) {
      const OracleNode& has = instance.nodes[node];
      text += AtMost(instance, node, &OracleKind::cpu, has.cpu) +
              AtMost(instance, node, &OracleKind::gpu, has.free_gpu) +
              AtMost(instance, node, &OracleKind::memory, has.memory) +
              AtMost(instance, node, nullptr, has.pods);
      for (int port = 1; port <= 2; ++port) {
        std::string sum = "(+ 0";
        for (size_t kind = 0; kind < instance.kinds.size(); ++kind) {
          if (instance.kinds[kind].port == port) sum += " " + Pods(kind, node);
        }
        text += "(assert (<= " + sum + ") 1))\n";
      }
    }
    return text;
  }

  std::string Ask(const std::string& text) { return Z3_eval_smtlib2_string(context_, text.c_str()); }

  Z3_context context_;
};

// `random`: std::mt19937.
template <class Random>
OracleInstance RandomInstance(Random& random, int nodes, int kinds, int pods) {
  auto upto = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  OracleInstance instance;
  for (int i = 0; i < nodes; ++i) {
    int gpu = upto(3) == 0 ? 0 : 8;
    instance.nodes.push_back({.cpu = 8 + upto(24),
                              .gpu = gpu,
                              .memory = 16 + upto(48),
                              .pods = 4 + upto(12),
                              .zone = upto(1),
                              .free_gpu = upto(1) == 0 ? gpu : upto(gpu),
                              .tainted = upto(5) == 0});
  }
  bool ports = upto(3) == 0, constrained = upto(2) == 0;
  for (int kind = 0; kind < kinds; ++kind) {
    OracleKind pod{.cpu = 1 + upto(7),
                   .gpu = upto(2) == 0 ? 0 : 1 << upto(2),
                   .memory = 1 + upto(15),
                   .count = 1 + upto(pods - 1)};
    if (constrained && upto(2) == 0) pod.zone = upto(1);
    if (constrained) pod.tolerates = upto(1) == 0;
    if (ports) pod.port = upto(2);
    instance.kinds.push_back(pod);
  }
  return instance;
}

struct OracleCluster {
  cluster::Nodes nodes;
  Need need;
};

inline OracleCluster Build(const OracleInstance& instance) {
  using namespace cluster::testing;  // NOLINT: builders
  OracleCluster made;
  for (size_t i = 0; i < instance.nodes.size(); ++i) {
    const OracleNode& node = instance.nodes[i];
    std::vector<kube::Taint> taints;
    if (node.tainted) taints.push_back({"t", "", "NoSchedule"});
    std::string name = "node-" + std::to_string(i);
    // One pod of theirs holds what is taken.
    bool taken = node.free_gpu < node.gpu;
    made.nodes.Upsert(
        MakeNode(name, Cpu(node.cpu) + Gpu(node.gpu) + MemoryGi(node.memory) + Pods(node.pods + taken),
                 {{"zone", std::to_string(node.zone)}}, taints));
    if (taken) Busy(made.nodes, name, Gpu(node.gpu - node.free_gpu));
  }
  for (const OracleKind& kind : instance.kinds) {
    kube::PodNeed need = MakeNeed(Cpu(kind.cpu) + Gpu(kind.gpu) + MemoryGi(kind.memory));
    if (kind.zone >= 0) need = WithSelector(need, "zone", std::to_string(kind.zone));
    if (kind.tolerates) need = Tolerating(need, "t");
    if (kind.port != 0) need = WithHostPort(need, kind.port);
    made.need.roles.push_back({made.nodes.Class(need), kind.count});
  }
  return made;
}

}  // namespace lockstep::gang::testing
