// What the programs of EPL have in common: how they take a command line, print, fail and exit.

#ifndef EPL_TOOLS_TOOL_H
#define EPL_TOOLS_TOOL_H

#include <CLI/CLI.hpp>

#include <functional>
#include <string_view>

namespace epl::runtime::tool {

enum ExitCode { good = 0, failed = 1, badUsage = 2 };

/// Parses the command line and runs `body`. --version prints the name and EPL's version, unless `app` has a
/// flag of its own for it. Wrong usage gives 2; an exception of `body` is an error on standard error, one
/// line for each message, and gives 1.
int runTool(CLI::App &app, int argc, char **argv, const std::function<ExitCode()> &body);

/// Writes to standard output, at once. Throws Error if not all of it arrives: on a full disk, or if the
/// caller has closed the stream.
void print(std::string_view text);

/// Writes `error: <message>` to standard error.
void printError(std::string_view message);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_TOOL_H
