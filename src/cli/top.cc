// `lockstep top`: who runs, who waits and why, live, on any API server.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/log.h"
#include "base/real_loop.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/signals.h"
#include "cli/view.h"
#include "kube/client/http_api.h"
#include "sim/bystander.h"

namespace lockstep::cli {

namespace {

struct Flags {
  std::string kubeconfig, context, ns, title = "lockstep";
  std::string interval = "200ms", longest;
  bool until_done = false;
  size_t jobs = 1;
};

bool AllDone(const View& view, size_t at_least) {
  return view.jobs.size() >= at_least && view.Count([](const JobRow& row) { return !row.finished; }) == 0;
}

// What is left to say when the screen has gone.
void PrintEnd(const View& view, Duration took) {
  size_t succeeded = view.Count([](const JobRow& row) { return row.succeeded; });
  size_t failed = view.Count([](const JobRow& row) { return row.finished && !row.succeeded; });
  size_t stuck = view.Count([](const JobRow& row) { return row.stuck; });
  std::printf("%zu jobs after %s: %zu succeeded, %zu failed, %zu unfinished", view.jobs.size(),
              FormatDuration(std::chrono::duration_cast<milliseconds>(took)).c_str(), succeeded, failed,
              view.jobs.size() - succeeded - failed);
  if (stuck > 0) std::printf(", %zu of them stuck: a part of their pods runs and none can finish", stuck);
  std::printf("\n");
}

int RunTop(const Flags& flags) {
  SetLog(LogLevel::kError, LogFormat::kText);
  Signals signals;
  Result<Duration> interval = ParseDuration(flags.interval);
  Result<Duration> longest = ParseDuration(flags.longest.empty() ? "8760h" : flags.longest);
  Result<kube::ClientConfig> config = Connect(flags.kubeconfig, flags.context);
  for (const std::string& error :
       {interval.ok() ? "" : interval.error().message, longest.ok() ? "" : longest.error().message,
        config.ok() ? "" : config.error().message}) {
    if (error.empty()) continue;
    std::fprintf(stderr, "lockstep top: %s\n", error.c_str());
    return 1;
  }
  RealLoop loop;
  kube::HttpApi api(loop, *config);
  sim::Picture picture;
  sim::Bystander bystander(api, flags.ns, picture);
  signals.Watch(loop, [&] { loop.Stop(); });
  MonoTime began = loop.now().mono;
  Viewer viewer;
  View view;
  bool done = false, seen = false;
  std::string trouble;
  {
    Screen screen;
    bool stopped = false;
    while (!done && !stopped && loop.now().mono < began + *longest) {
      MonoTime next = loop.now().mono + *interval;
      loop.RunUntilTrue([] { return false; }, *interval);
      stopped = loop.now().mono < next;  // a signal ended the wait
      if (!bystander.synced()) {
        std::string now = bystander.trouble().message;
        if (!now.empty() && now != trouble) std::fprintf(stderr, "lockstep top: %s\n", now.c_str());
        trouble = std::move(now);
        continue;
      }
      seen = true;
      view = viewer.Look(picture);
      Duration elapsed = std::chrono::duration_cast<seconds>(loop.now().mono - began);
      view.title = flags.title + " " + FormatDuration(elapsed);
      screen.Show(view);
      done = flags.until_done && AllDone(view, flags.jobs);
    }
  }
  if (!seen) {
    std::fprintf(stderr, "lockstep top: the cluster could not be read\n");
    return 1;
  }
  PrintEnd(view, loop.now().mono - began);
  return flags.until_done && !done ? 1 : 0;
}

}  // namespace

void AddTopCommand(CLI::App& app, Run& run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("top", "Shows live who runs, who waits and why, and whose each GPU is");
  command->add_option("--kubeconfig", flags->kubeconfig, "kubeconfig file");
  command->add_option("--context", flags->context, "context of the kubeconfig");
  command->add_option("-n,--namespace", flags->ns, "only this namespace")->check(NamespaceFault);
  command->add_option("--title", flags->title, "first words of the first line");
  command->add_option("--interval", flags->interval, "time between two looks")->capture_default_str();
  command->add_option("--for", flags->longest, "end after this time");
  command->add_flag("--until-done", flags->until_done,
                    "end when every job is over; exit status 1 if --for came first");
  command->add_option("--jobs", flags->jobs, "with --until-done: wait for at least so many jobs");
  command->callback([flags, &run] { run = [flags] { return RunTop(*flags); }; });
}

}  // namespace lockstep::cli
