#include "sim/chaos.h"

#include <algorithm>
#include <initializer_list>
#include <random>
#include <utility>
#include <vector>

namespace lockstep::sim {

namespace {

constexpr int64_t kStorm = 20'000;  // milliseconds, all of these
constexpr int64_t kCalm = 100'000;  // longer than the patience after trouble
constexpr int64_t kEndWithin = 7'200'000;
constexpr const char* kEnds[] = {"", "", "", " clean=All", " clean=Running", " clean=None"};
// A parameter server that nobody cleans up holds its seat for ever.
constexpr const char* kCleanEnds[] = {" clean=All", " clean=Running"};

class Storyteller {
 public:
  explicit Storyteller(uint64_t seed) : seed_(seed), random_(seed) {}
  std::string Tell();

 private:
  struct Job {
    std::string name;
    std::string first_role;  // of the ranks that may fail or be deleted
    int64_t ranks = 0;       // of that role
    std::string end;         // "succeeded", "failed", or "" where it depends on time
    bool exact = true;       // nothing that counts as a fault can happen to it
    bool fits = false;       // surely, on the empty cluster
    int64_t changed = 0;     // when it was submitted or changed last
    bool gone = false, suspended = false;
  };

  int64_t Below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  bool Chance(int percent) { return Below(100) < percent; }
  std::string Pick(std::initializer_list<const char*> words) {
    return words.begin()[Below(static_cast<int64_t>(words.size()))];
  }
  std::string Node() { return "node-" + std::to_string(Below(nodes_)); }
  static std::string Seconds(int64_t ms) { return std::to_string(ms) + "ms"; }
  void Say(int64_t at, std::string text) { told_.emplace_back(at, std::move(text)); }

  void MakeCluster();
  void SubmitOne(int64_t at);
  void SubmitPyTorch(int64_t at, Job& job);
  void SubmitTensorFlow(int64_t at, Job& job);
  std::string Shape(int64_t pods, Job& job);
  void FailARank(int64_t at, Job& job, const std::string& restart, bool master);
  void ChangeAJob(int64_t at);
  void Crash(int64_t at);
  void BreakTheNetwork(int64_t at);
  void BreakAWatch(int64_t at);
  void HurtANode(int64_t at);
  void LoseAPod(int64_t at);
  void Stranger(int64_t at);
  void Storm(int64_t from);
  void MakeWell(int64_t at);
  void Expect(std::string& story) const;

  const uint64_t seed_;
  std::mt19937_64 random_;
  bool elect_ = false;       // replicas with leader election
  bool nodes_sick_ = false;  // nodes and pods have faults too: nobody is held to an exact end
  bool late_ = false;        // writes may be applied long after
  bool ruled_ = false;       // some jobs have rules between their pods
  std::vector<std::pair<int64_t, int64_t>> groups_;  // nodes, GPUs of each
  int64_t nodes_ = 0, gpus_per_node_ = 0;
  int64_t strangers_ = 0;
  std::vector<Job> jobs_;
  std::vector<std::pair<int64_t, std::string>> told_;
};

void Storyteller::MakeCluster() {
  std::vector<std::string> zones = {"a", "b", "c"};
  int64_t groups = Between(1, 3);
  for (int64_t group = 0; group < groups; ++group) {
    int64_t count = Between(1, 4), gpus = int64_t{1} << Between(0, 3);
    Say(0, "cluster nodes=" + std::to_string(count) + " gpu=" + std::to_string(gpus) +
               " label=zone=" + zones[static_cast<size_t>(group)]);
    groups_.emplace_back(count, gpus);
    nodes_ += count;
    gpus_per_node_ = std::max(gpus_per_node_, gpus);
  }
}

// What the pods of a job ask for: mostly something that fits.
std::string Storyteller::Shape(int64_t pods, Job& job) {
  auto room = [&](int64_t gpu) {
    int64_t pods_there = 0;
    for (const auto& [count, gpus] : groups_) pods_there += count * (gpus / gpu);
    return pods_there;
  };
  int64_t gpu = Between(0, 2);
  if (!Chance(5)) {
    while (gpu > 0 && room(gpu) < pods) --gpu;
  }
  job.fits = gpu == 0 || room(gpu) >= pods;
  std::string shape = " gpu=" + std::to_string(gpu);
  if (Chance(30)) shape += " cpu=" + std::to_string(Between(1, 8));
  if (Chance(10)) shape += " priority=system-cluster-critical";
  if (ruled_ && Chance(40)) {
    job.fits = false;
    shape += Pick({" near=zone", " apart=kubernetes.io/hostname", " spread=zone:1", " spread=zone:2"});
  }
  if (Chance(5)) {
    job.fits = false;
    shape += " port=23456";
  }
  return shape;
}

void Storyteller::SubmitPyTorch(int64_t at, Job& job) {
  int64_t pods = Between(2, Between(2, 8));  // more small ones than large ones
  bool master = Chance(60);
  job.first_role = "worker";
  job.ranks = master ? pods - 1 : pods;
  std::string text = "submit pytorchjob " + job.name + (master ? " master=1" : "") +
                     " workers=" + std::to_string(job.ranks) + Shape(pods, job);
  text += kEnds[Below(std::size(kEnds))];
  std::string restart = Pick({"OnFailure", "ExitCode", "Never"});
  text += " runtime=" + std::to_string(Between(5, 15)) + "s restart=" + restart;
  if (Chance(10)) text += " ignore-term=yes";
  if (Chance(10)) text += " start-delay=" + std::to_string(Between(1, 4)) + "s";
  Say(at, text);
  job.end = "succeeded";
  if (Chance(35)) FailARank(at, job, restart, master);
}

void Storyteller::SubmitTensorFlow(int64_t at, Job& job) {
  int64_t ps = Between(1, 2), workers = Between(1, 4);
  bool chief = Chance(60);
  job.first_role = "worker";
  job.ranks = workers;
  std::string text = "submit tfjob " + job.name + (chief ? " chief=1" : "") + " ps=" + std::to_string(ps) +
                     " workers=" + std::to_string(workers) + (Chance(20) ? " evaluator=1" : "") +
                     Shape(ps + workers + 2, job);
  text += kCleanEnds[Below(std::size(kCleanEnds))];
  text += " runtime=" + std::to_string(Between(5, 15)) + "s ps.runtime=forever restart=ExitCode";
  if (Chance(20)) text += " success=AllWorkers";
  if (Chance(10)) text += " dynamic=yes";
  Say(at, text);
  job.end = "succeeded";
}

// The rank fails once, or each time: it does so before anybody could end. What becomes of the job then is its
// restart policy's to say, whatever happens to operators and network; but a Master's success decides where
// both are seen for the first time together, by an operator that comes late.
void Storyteller::FailARank(int64_t at, Job& job, const std::string& restart, bool master) {
  std::string rank = job.name + "-" + job.first_role + "-" + std::to_string(Below(job.ranks));
  std::string fails = "rank " + rank;
  std::string after = " runtime=" + std::to_string(Between(1, 4)) + "s exit=";
  if (restart == "OnFailure") {  // in place: the second try ends well
    Say(at - 1, fails + after + "1,0");
  } else if (Chance(70)) {
    Say(at - 1, fails + " attempt=1" + after + "137");
    job.exact = false;  // of an attempt that was undone no rank fails
    if (restart == "Never") job.end.clear();
  } else {
    Say(at - 1, fails + after + "3");  // for good
    job.end = master ? "" : "failed";
  }
}

void Storyteller::SubmitOne(int64_t at) {
  Job job;
  job.name = "j" + std::to_string(jobs_.size() + 1);
  job.changed = at;
  if (Chance(75)) {
    SubmitPyTorch(at, job);
  } else {
    SubmitTensorFlow(at, job);
  }
  jobs_.push_back(std::move(job));
}

void Storyteller::ChangeAJob(int64_t at) {
  if (jobs_.empty()) return;
  Job& job = jobs_[static_cast<size_t>(Between(std::max<int64_t>(0, static_cast<int64_t>(jobs_.size()) - 8),
                                               static_cast<int64_t>(jobs_.size()) - 1))];
  if (job.gone) return;
  at = job.changed = std::max(at, job.changed + 1);
  switch (Below(6)) {
    case 0:
      Say(at, "try delete job " + job.name);
      job.gone = true;
      break;
    case 1:
    case 2:
      Say(at, std::string("try ") + (job.suspended ? "resume " : "suspend ") + job.name);
      job.suspended = !job.suspended;
      break;
    case 3:
      if (job.suspended) Say(at, "try resume " + job.name);
      job.suspended = false;
      break;
    case 4:
      Say(at, "try scale " + job.name + " workers=" + std::to_string(Between(1, 7)));
      job.end.clear();
      break;
    default:
      Say(at, "try delete gang " + job.name);
      job.exact = false;  // what the pods no longer show is forgotten with it
      break;
  }
}

void Storyteller::Crash(int64_t at) {
  std::string after = " after=" + std::to_string(Below(12)) + (Chance(50) ? " lost=yes" : "");
  if (!elect_ || Chance(20)) return Say(at, "crash operator" + after);
  if (Chance(70)) return Say(at, "crash leader" + after);
  if (Chance(50)) return Say(at, "fault update leases fails 500 for " + Seconds(Between(500, 6000)));
  Say(at, "try stop leader");
  Say(at + Between(10, 3000), "operators 2");
}

void Storyteller::BreakTheNetwork(int64_t at) {
  std::string what =
      Pick({"create pods", "create gangs", "patch gangs", "write all", "create services", "check pods",
            "delete pods", "get gangs", "all all", "update pytorchjobs", "patch pytorchjobs"});
  std::string effect = Pick({"lost", "dropped", "fails 500", "fails 503", "fails 429", "fails 409", "slow"});
  if (late_ && Chance(50)) effect = "late";
  if (effect == "slow") effect += " " + Seconds(Between(1, 3000));
  if (effect == "late") effect += " " + Seconds(Between(100, 40'000));
  std::string text = "fault " + what + " " + effect;
  if (Chance(40)) text += " for " + Seconds(Between(50, 4000));
  Say(at, text + " count=" + std::to_string(Between(1, 8)));
}

void Storyteller::BreakAWatch(int64_t at) {
  if (Chance(15)) return Say(at, "compact");
  std::string what = Pick({"pods", "gangs", "nodes", "services", "pytorchjobs", "tfjobs", "all"});
  std::string effect = Pick({"breaks", "expires", "stalls", "stalls", "stalls", "refused"});
  if (effect == "stalls" || effect == "refused") effect += " for " + Seconds(Between(5, 5000));
  Say(at, "fault watch " + what + " " + effect);
}

void Storyteller::HurtANode(int64_t at) {
  std::string node = Node();
  int64_t later = at + Between(1000, 15'000);
  switch (Below(6)) {
    case 0:
      Say(at, "try cordon " + node);
      return Say(later, "try uncordon " + node);
    case 1:
      Say(at, "try taint " + node + " sick=yes:" + Pick({"NoSchedule", "NoExecute"}));
      return Say(later, "try untaint " + node + " sick");
    case 2:
      Say(at, "try kubelet freeze " + node);
      return Say(later, "try kubelet thaw " + node);
    case 3:
      Say(at, "try kubelet crash " + node);
      return Say(later, "try kubelet boot " + node);
    case 4:
      return Say(at, "try kubelet restart " + node);
    default:
      Say(at, "try add node node-" + std::to_string(nodes_++) + " gpu=" + std::to_string(gpus_per_node_));
  }
}

void Storyteller::LoseAPod(int64_t at) {
  if (jobs_.empty()) return;
  Job& job = jobs_[static_cast<size_t>(Below(static_cast<int64_t>(jobs_.size())))];
  Say(at, "try delete pod " + job.name + "-" + job.first_role + "-" + std::to_string(Below(job.ranks)) +
              (Chance(30) ? " grace=0" : ""));
}

// A pod of nobody's, with a node or not.
void Storyteller::Stranger(int64_t at) {
  Say(at, "try pod stranger-" + std::to_string(++strangers_) + " gpu=1 node=" + Node() +
              " runtime=" + std::to_string(Between(1, 60)) + "s");
}

void Storyteller::Storm(int64_t from) {
  int64_t events = Between(3, 14);
  for (int64_t i = 0; i < events; ++i) {
    int64_t at = from + Below(kStorm);
    // Much goes wrong right after something began.
    if (Chance(50) && !told_.empty()) at = std::max(told_.back().first + Below(40), from);
    int64_t what = Below(100);
    if (what < 30) {
      Crash(at);
    } else if (what < 60) {
      BreakTheNetwork(at);
    } else if (what < 75) {
      BreakAWatch(at);
    } else if (what < 85) {
      Stranger(at);
    } else if (nodes_sick_) {
      what < 95 ? HurtANode(at) : LoseAPod(at);
    }
  }
}

void Storyteller::MakeWell(int64_t at) {
  Say(at, "fault clear");
  if (elect_) Say(at, "operators 2");
  for (int64_t node = 0; nodes_sick_ && node < nodes_; ++node) {
    std::string name = "node-" + std::to_string(node);
    Say(at, "try kubelet thaw " + name);
    Say(at, "try uncordon " + name);
    Say(at, "try untaint " + name + " sick");
  }
}

void Storyteller::Expect(std::string& story) const {
  std::string by = "by " + Seconds(told_.back().first + kEndWithin);
  story += by + " expect over\n";
  for (const Job& job : jobs_) {
    if (job.gone) story += by + " expect absent " + job.name + "\n";
    if (job.gone || nodes_sick_) continue;
    if (job.exact && !job.end.empty()) story += by + " expect restarts " + job.name + " policy=0 fault=0\n";
    if (job.fits && !job.suspended && !job.end.empty())
      story += by + " expect " + job.end + " " + job.name + "\n";
  }
}

std::string Storyteller::Tell() {
  elect_ = Chance(50);
  nodes_sick_ = Chance(50);
  late_ = Chance(40);
  ruled_ = Chance(30);
  MakeCluster();
  int64_t now = 1000;
  int64_t rounds = Between(1, 3);
  for (int64_t round = 0; round < rounds; ++round) {
    int64_t jobs = Between(3, 16);
    for (int64_t i = 0; i < jobs; ++i) SubmitOne(now + 1 + Below(kStorm));
    for (int64_t i = Below(5); i > 0; --i) ChangeAJob(now + Below(kStorm + kCalm));
    Storm(now);
    now += kStorm + 15'000;
    Say(now, "fault clear");
    now += kCalm;
    if (Chance(50)) SubmitOne(now - Below(kCalm / 2));
  }
  MakeWell(now);
  std::stable_sort(told_.begin(), told_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string story = "# Chaos of seed " + std::to_string(seed_) + ".\nvirtual-only random\n";
  story +=
      "network seed=" + std::to_string(seed_) + " jitter=" + Seconds(Between(0, 1) * Between(1, 30)) + "\n";
  if (Chance(25)) story += "operator assign=bind\n";
  if (elect_) story += "operators 2\n";
  for (const auto& [at, text] : told_) story += "at " + Seconds(at) + " " + text + "\n";
  Expect(story);
  return story;
}

}  // namespace

std::string TellChaos(uint64_t seed) { return Storyteller(seed).Tell(); }

}  // namespace lockstep::sim
