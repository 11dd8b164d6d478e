#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace lockstep::cli {

// What main calls once the command line is read; returns the exit status of the program.
using Run = std::function<int()>;

// Each adds one subcommand to `app` and, should it be the chosen one, sets `run`.
void AddOperatorCommand(CLI::App& app, Run& run);
void AddHollowCommand(CLI::App& app, Run& run);
void AddCrdsCommand(CLI::App& app, Run& run);
void AddExplainCommand(CLI::App& app, Run& run);
void AddPlayCommand(CLI::App& app, Run& run);
void AddTopCommand(CLI::App& app, Run& run);
void AddAuditCommand(CLI::App& app, Run& run);

}  // namespace lockstep::cli
