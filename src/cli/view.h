#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/picture.h"

namespace lockstep::cli {

// A cluster as people look at it: who runs, who waits and why, and whose each GPU is.
struct JobRow {
  std::string name;  // "ns/name", without a namespace that all share
  std::string phase;
  int running = 0, pods = 0, wanted = 0;
  std::string reason;
  int colour = 0;  // from 1; 0 for jobs that hold nothing
  bool finished = false;
  bool succeeded = false;
  bool stuck = false;  // a part runs and holds its places, the rest can't come
};

struct NodeMap {
  std::string name;
  std::vector<int> units;  // per GPU: 0 free, a job's colour, or -1 for a pod of nobody's
  bool usable = true;
};

struct View {
  std::string title;
  std::string unit;          // what the map counts: "nvidia.com/gpu", "cpu"
  std::vector<JobRow> jobs;  // in the order of the queue
  std::vector<NodeMap> nodes;
  std::vector<std::string> log;  // the last things that happened

  size_t Count(bool (*test)(const JobRow&)) const;
};

// Keeps every job's colour as long as it is looked at.
class Viewer {
 public:
  View Look(const sim::Picture& picture);

 private:
  int ColourOf(const std::string& job);

  std::map<std::string, int> colours_;
};

struct DrawOptions {
  int width = 100, height = 40;  // of the terminal, in characters
  bool colour = true;
};

// The view as lines of text, at most `height`.
std::vector<std::string> Draw(const View& view, const DrawOptions& options);

// A terminal that is drawn over in place; restored by the destructor. When standard output is none, `Show`
// prints only the rows of jobs that changed.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_terminal() const { return terminal_; }
  void Show(const View& view);

 private:
  const bool terminal_;
  std::map<std::string, std::string> printed_;
};

}  // namespace lockstep::cli
