#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "api/crd.h"
#include "cli/commands.h"

namespace lockstep::cli {

namespace {

struct Flags {
  std::string directory;
  std::vector<std::string> names;  // plurals; none: all
  bool markdown = false;
};

bool WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file.good()) return true;
  std::fprintf(stderr, "lockstep crds: %s: cannot be written\n", path.c_str());
  return false;
}

int RunCrds(const Flags& flags) {
  if (flags.markdown) {
    std::fputs(api::ApiMarkdown().c_str(), stdout);
    return 0;
  }
  bool first = true;
  for (const json::Doc& crd : api::Crds()) {
    std::string plural = json::GetString(crd, "spec.names.plural");
    if (!flags.names.empty() && std::ranges::find(flags.names, plural) == flags.names.end()) continue;
    std::string text = api::CrdYaml(crd);
    if (flags.directory.empty()) {
      std::printf("%s%s", first ? "" : "---\n", text.c_str());
      first = false;
    } else if (!WriteFile(flags.directory + "/" + json::GetString(crd, "metadata.name") + ".yaml", text)) {
      return 1;
    }
  }
  return 0;
}

}  // namespace

void AddCrdsCommand(CLI::App& app, Run& run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("crds", "Print the CustomResourceDefinitions, for kubectl apply -f -");
  std::vector<std::string> plurals;
  for (const json::Doc& crd : api::Crds()) plurals.push_back(json::GetString(crd, "spec.names.plural"));
  command->add_option("name", flags->names, "only these, by their plural (default: all)")
      ->check(CLI::IsMember(plurals));
  CLI::Option* directory = command->add_option("--dir", flags->directory,
                                               "write one file per definition into this folder instead");
  command->add_flag("--markdown", flags->markdown, "print the reference of all fields instead")
      ->excludes(directory);
  command->callback([flags, &run] { run = [flags] { return RunCrds(*flags); }; });
}

}  // namespace lockstep::cli
