//===- CrashReportTest.cpp - What a crash of the compiler says ------------===//

#include "tools/epl-compile/CrashReport.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <new>

using namespace mlir::epl;
using testing::HasSubstr;
using testing::KilledBySignal;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EPL_SANITIZED
#endif
#endif

namespace {

constexpr const char *kStep = "module {}\n";

/// What epl-compile has done when it comes to the kernels of a step from standard input.
void begin(const char *file = "-") {
  static const char *arguments[] = {"epl-compile", "-", "--devices=cpu:2", "-o", "a plan.eplan"};
  installCrashReport(std::size(arguments), const_cast<char **>(arguments));
  setCrashInput(file, kStep);
  setCrashPhase("kernel");
}

auto saysSignal(const std::string &name) {
  return testing::AllOf(
      HasSubstr("error: epl-compile was ended by " + name + " in phase \"kernel\": this is a bug of EPL\n"),
      HasSubstr("--devices=cpu:2 -o 'a plan.eplan'\n"), HasSubstr("LLVM 22."),
      testing::Not(HasSubstr("PLEASE")), testing::Not(HasSubstr("#1 ")));
}

volatile bool goesOn = true;

/// A recursion without end, which no compiler knows to be one.
[[clang::noinline]] int recurse(int depth) {
  volatile char room[1024];
  room[0] = char(depth);
  return goesOn ? recurse(depth + 1) + room[0] : 0;
}

class CrashReportDeathTest : public testing::Test {
protected:
  CrashReportDeathTest() {
    llvm::sys::fs::createUniqueDirectory("crash-report-test", folder);
    setenv("TMPDIR", folder.c_str(), 1);
  }
  ~CrashReportDeathTest() override {
    unsetenv("TMPDIR");
    llvm::sys::fs::remove_directories(folder);
  }

  llvm::SmallString<128> folder;
};

TEST_F(CrashReportDeathTest, OfASignalThatSomebodySends) {
  EXPECT_EXIT((begin(), raise(SIGBUS)), KilledBySignal(SIGBUS), saysSignal("SIGBUS"));
}

TEST_F(CrashReportDeathTest, OfAStackThatOverflows) {
#ifdef EPL_SANITIZED
  GTEST_SKIP() << "sanitizers report these";
#endif
  EXPECT_EXIT((begin(), recurse(0)), KilledBySignal(SIGSEGV), saysSignal("SIGSEGV"));
}

TEST_F(CrashReportDeathTest, OfAnErrorThatLlvmCallsFatal) {
  EXPECT_EXIT((begin(), llvm::report_fatal_error("no such register")), KilledBySignal(SIGABRT),
              testing::AllOf(saysSignal("SIGABRT"), HasSubstr("note: no such register\n")));
}

TEST_F(CrashReportDeathTest, OfAnExceptionThatNobodyCatches) {
  EXPECT_EXIT((begin(), std::terminate()), KilledBySignal(SIGABRT), saysSignal("SIGABRT"));
  EXPECT_EXIT((begin(), crash("bad_function_call")), KilledBySignal(SIGABRT),
              testing::AllOf(saysSignal("SIGABRT"), HasSubstr("note: bad_function_call\n")));
}

TEST_F(CrashReportDeathTest, MemoryThatRunsOutIsAnError) {
  EXPECT_EXIT((begin(), std::get_new_handler()()), testing::ExitedWithCode(1),
              "^error: memory ran out in phase \"kernel\"\n$");
}

TEST_F(CrashReportDeathTest, KeepsAStepThatIsNoFile) {
  EXPECT_EXIT((begin(), raise(SIGABRT)), KilledBySignal(SIGABRT), HasSubstr((folder + "/epl-crash-").str()));
  std::error_code error;
  llvm::sys::fs::directory_iterator file(folder, error);
  ASSERT_FALSE(error);
  auto text = llvm::MemoryBuffer::getFile(file->path());
  ASSERT_TRUE(text);
  EXPECT_EQ((*text)->getBuffer(), kStep);
}

TEST_F(CrashReportDeathTest, NamesAStepThatIsAFile) {
  std::string file = (folder + "/step.mlir").str();
  std::ofstream(file) << kStep;
  EXPECT_EXIT((begin(file.c_str()), raise(SIGABRT)), KilledBySignal(SIGABRT),
              testing::Not(HasSubstr("/epl-crash-")));
}

TEST_F(CrashReportDeathTest, SaysIfItCannotKeepTheStep) {
  std::string missing = (folder + "/missing").str();
  setenv("TMPDIR", missing.c_str(), 1);
  EXPECT_EXIT((begin(), raise(SIGABRT)), KilledBySignal(SIGABRT),
              HasSubstr("could not be kept as \"" + missing + "/epl-crash-"));
}

} // namespace
