//===- CrashReport.cpp - What a crash of the compiler says ----------------===//
//
// The handler of a signal may call only what POSIX lists for it. So all that it writes is put together
// before: there are the parts of the command, and the name of a file for a step that came by standard input.
//
//===----------------------------------------------------------------------===//

#include "CrashReport.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <new>
#include <unistd.h>

using namespace mlir;

namespace {

struct Signal {
  int number;
  const char *name;
};
constexpr Signal kCrashes[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}, {SIGABRT, "SIGABRT"}};

/// What the report says.
struct Report {
  std::vector<std::string> arguments; ///< as a shell takes them
  std::string command;                ///< with the file that has the step
  std::string kept;                   ///< the file to write the step to, empty if it is one already
  std::string reproducer;             ///< the file that has the phase, empty if there is none
  std::string versions;
  StringRef text;
  const char *phase = "start";
  std::atomic<const char *> reason = nullptr;
};
Report report;

alignas(16) char handlerStack[1 << 16]; // the process's own may have overflowed

/// Writes all of it, or as much as can be written.
bool put(int file, StringRef text) {
  while (!text.empty()) {
    ssize_t count = write(file, text.data(), text.size());
    if (count <= 0)
      return false;
    text = text.drop_front(size_t(count));
  }
  return true;
}

void putError(std::initializer_list<StringRef> parts) {
  for (StringRef part : parts)
    put(STDERR_FILENO, part);
}

/// Keeps the step; false if it cannot.
bool keepStep() {
  int file = open(report.kept.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0)
    return false;
  bool kept = put(file, report.text);
  close(file);
  return kept;
}

void writeReport(const char *signal) {
  putError({"error: epl-compile was ended by ", signal, " in phase \"", report.phase,
            "\": this is a bug of EPL\n"});
  if (const char *reason = report.reason)
    putError({"note: ", reason, "\n"});
  if (!report.kept.empty() && !keepStep())
    putError({"note: the step could not be kept as \"", report.kept, "\": give it as a file instead of -\n"});
  else if (!report.command.empty())
    putError(
        {"note: please send us the step and these lines; the command that shows it: ", report.command, "\n"});
  if (!report.reproducer.empty())
    putError({"note: the phase alone: epl-opt --run-reproducer ", report.reproducer, "\n"});
  putError({"note: ", report.versions, "\n"});
}

[[noreturn]] void endWithoutMemory() {
  putError({"error: memory ran out in phase \"", report.phase, "\"\n"});
  _exit(1);
}

void onCrash(int number) {
  for (const Signal &signal : kCrashes)
    if (signal.number == number)
      writeReport(signal.name);
  raise(number); // whose action is the default one again
}

std::string quote(StringRef argument) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  bool isPlain =
      !argument.empty() && argument.find_first_of(" \t\n\"'\\$&|;<>()*?[]{}~`#!") == StringRef::npos;
  if (isPlain)
    return argument.str();
  stream << '\'';
  for (char c : argument)
    c == '\'' ? stream << "'\\''" : stream << c;
  stream << '\'';
  return text;
}

bool isFile(StringRef name) { return name != "-" && llvm::sys::fs::is_regular_file(name); }

} // namespace

std::string mlir::epl::getVersions() {
  return "EPL " EPL_VERSION ", LLVM " LLVM_VERSION_STRING ", " + llvm::sys::getHostCPUName().str();
}

void mlir::epl::installCrashReport(int argc, char **argv) {
  for (const char *argument : ArrayRef(argv, size_t(argc)))
    report.arguments.push_back(quote(argument));
  report.versions = getVersions();
  std::vector<Signal> ours; // sanitizers have handlers of their own
  for (const Signal &signal : kCrashes) {
    struct sigaction action = {};
    if (sigaction(signal.number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL)
      ours.push_back(signal);
  }
  // Ends quietly where nobody reads the output; this sets actions for all signals.
  llvm::sys::SetOneShotPipeSignalFunction(llvm::sys::DefaultOneShotPipeSignalHandler);
  stack_t stack = {};
  stack.ss_sp = handlerStack;
  stack.ss_size = sizeof(handlerStack);
  sigaltstack(&stack, nullptr);
  for (const Signal &signal : ours) {
    struct sigaction action = {};
    action.sa_handler = onCrash;
    action.sa_flags = int(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
    sigaction(signal.number, &action, nullptr);
  }
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) { crash(reason); });
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { endWithoutMemory(); });
  std::set_new_handler(endWithoutMemory);
}

void mlir::epl::setCrashInput(StringRef file, StringRef text) {
  report.text = text;
  report.kept.clear();
  std::string step = quote(file);
  if (!isFile(file)) {
    SmallString<128> path;
    if (const char *folder = std::getenv("EPL_DUMP_DIR"); folder && *folder) {
      path = folder;
      (void)llvm::sys::fs::create_directories(path); // where it cannot, the report says so
    } else {
      llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
    }
    llvm::sys::path::append(path, "epl-crash-" + Twine(getpid()) + ".mlir");
    report.kept = path.str().str();
    step = quote(report.kept);
  }
  std::string command;
  for (const std::string &argument : report.arguments)
    command += (command.empty() ? "" : " ") + (argument == quote(file) ? step : argument);
  report.command = std::move(command);
}

void mlir::epl::setCrashPhase(const char *phase) { report.phase = phase; }

void mlir::epl::setCrashReproducer(StringRef file) { report.reproducer = file.empty() ? "" : quote(file); }

void mlir::epl::crash(const char *reason) {
  report.reason = reason;
  std::abort();
}
