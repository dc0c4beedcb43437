// What the programs of EPL have in common: how they take a command line, print, fail and exit.

#ifndef EPL_TOOLS_TOOL_H
#define EPL_TOOLS_TOOL_H

#include <CLI/CLI.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace epl::runtime::tool {

enum ExitCode { good = 0, failed = 1, badUsage = 2, noDriver = 3 };

/// Parses the command line and runs `body`. --version prints the name and EPL's version, unless `app` has a
/// flag of its own for it. Wrong usage gives 2; an exception of `body` is an error on standard error, one
/// line for each message, and gives 1, or 3 if there is no driver for the devices of a plan.
int runTool(CLI::App &app, int argc, char **argv, const std::function<ExitCode()> &body);

/// For options that are a number above 0. (CLI11's own check speaks of the largest double.)
inline CLI::Validator isPositive() {
  auto check = [](const std::string &text) -> std::string {
    double value = 0;
    bool isGood = CLI::detail::lexical_cast(text, value) && value > 0;
    return isGood ? "" : "must be above 0, found \"" + text + "\"";
  };
  return {check, "POSITIVE"};
}

/// For options that are one of the names in `choices`, in letters of any case.
template <typename T> CLI::Validator isOneOf(const std::map<std::string, T> &choices) {
  auto choose = [choices](std::string &text) -> std::string {
    if (auto found = choices.find(CLI::detail::to_lower(text)); found != choices.end()) {
      text = std::to_string(static_cast<int>(found->second));
      return {};
    }
    std::string names;
    for (const auto &choice : choices)
      names += (names.empty() ? "" : ", ") + choice.first;
    return "must be one of " + names + ", found \"" + text + "\"";
  };
  return {choose, ""};
}

/// Writes to standard output, at once. Throws Error if not all of it arrives: on a full disk, or if the
/// caller has closed the stream.
void print(std::string_view text);

/// Writes `error: <message>` to standard error.
void printError(std::string_view message);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_TOOL_H
