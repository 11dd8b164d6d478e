#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Lockstep starts and restarts distributed training jobs together on Kubernetes.", "lockstep"};
  app.set_version_flag("--version", LOCKSTEP_VERSION);
  app.require_subcommand(1);
  lockstep::cli::Run run;
  lockstep::cli::AddOperatorCommand(app, run);
  lockstep::cli::AddHollowCommand(app, run);
  lockstep::cli::AddCrdsCommand(app, run);
  lockstep::cli::AddExplainCommand(app, run);
  lockstep::cli::AddPlayCommand(app, run);
  lockstep::cli::AddTopCommand(app, run);
  lockstep::cli::AddAuditCommand(app, run);
  CLI11_PARSE(app, argc, argv);
  return run ? run() : 1;
}
