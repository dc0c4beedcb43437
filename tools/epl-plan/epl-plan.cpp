// epl-plan: shows and checks plan files.

#include "tools/Tool.h"

#include "runtime/plan/Dump.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Summary.h"
#include "runtime/plan/Verifier.h"

#include <sstream>

namespace {

using namespace epl::runtime;
using namespace epl::runtime::tool;

/// Prints a plan even if the verifier rejects it: then the text is what helps to see why.
ExitCode dump(const std::string &path) {
  plan::PlanT plan = parsePlanUnverified(readBytes(path), path);
  print(dumpPlan(plan));
  std::vector<std::string> messages = verifyPlan(plan);
  for (const std::string &message : messages)
    printError(message);
  return messages.empty() ? good : failed;
}

ExitCode verify(const std::string &path) {
  Summary summary = summarize(readPlan(path));
  std::ostringstream text;
  text << path << ": " << summary.layout << ", " << summary.kernels << " kernels, " << summary.launches
       << " launches, " << summary.contractions << " contractions, " << summary.collectives
       << " collectives, arena " << summary.arenaBytes << " bytes\n";
  print(text.str());
  return good;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Shows and checks the plans that epl-compile writes.", "epl-plan");
  app.footer("Exit codes: 0 the plan is good, 1 it is not (or cannot be read), 2 wrong usage.");
  app.require_subcommand(1);
  std::string path;
  CLI::App *dumpCommand = app.add_subcommand("dump", "Print a plan as text: tables, then lanes and commands");
  CLI::App *verifyCommand = app.add_subcommand(
      "verify", "Check a plan as the runtime does (sizes, races, use before definition) and print a summary");
  for (CLI::App *command : {dumpCommand, verifyCommand})
    command->add_option("file", path, "The plan file (.eplan)")->required();
  return runTool(app, argc, argv,
                 [&] { return app.got_subcommand(dumpCommand) ? dump(path) : verify(path); });
}
