#include "Tool.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Error.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <sstream>
#include <unistd.h>

namespace epl::runtime::tool {

/// Takes the numbers of standard streams that the caller has closed: the next file that is opened, say the
/// plan, would get them, and what is printed would go into it. Input gets a stream that cannot be read, the
/// others one that cannot be written.
static void occupyClosedStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY); // gets the lowest free number
}

void print(std::string_view text) {
  while (!text.empty()) {
    ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      throw Error(std::string("cannot write standard output: ") + std::strerror(errno));
    text.remove_prefix(size_t(count));
  }
}

void printError(std::string_view message) { std::cerr << "error: " << message << '\n'; }

/// Prints what the command line asks for, help, or says what is wrong with it.
static ExitCode explain(const CLI::App &app, const CLI::ParseError &error) {
  std::ostringstream text;
  ExitCode code = app.exit(error, text, std::cerr) == 0 ? good : badUsage;
  print(text.str());
  return code;
}

static ExitCode parseAndRun(CLI::App &app, int argc, char **argv, const std::function<ExitCode()> &body) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return explain(app, error);
  }
  return body();
}

int runTool(CLI::App &app, int argc, char **argv, const std::function<ExitCode()> &body) {
  if (!app.get_version_ptr())
    app.set_version_flag("--version", app.get_name() + " " EPL_VERSION, "print the version and exit");
  occupyClosedStreams();
  std::signal(SIGXFSZ, SIG_IGN); // a file over the limit is an error of its write
  try {
    return parseAndRun(app, argc, argv, body);
  } catch (const PlanError &error) {
    for (const std::string &message : error.messages())
      printError(message);
  } catch (const NoDriverError &error) {
    printError(error.what());
    return noDriver;
  } catch (const std::exception &error) {
    printError(error.what());
  }
  return failed;
}

} // namespace epl::runtime::tool
