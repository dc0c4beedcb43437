#include "runtime/device/cpu/Library.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

using namespace epl::runtime;

namespace {

constexpr std::array kNowhere = {"/nowhere/libnothing.so"};
constexpr std::array kFirst = {"/nowhere/libnothing.so", EPL_PREFIXED_1};

int answerOf(const Library &library) {
  int (*answer)() = nullptr;
  library.bind("epl_answer", answer);
  return answer();
}

} // namespace

TEST(Library, HasNothingWhereThereIsNone) {
  EXPECT_FALSE(Library::find("test", "EPL_TEST_NONE", "libnothing.so", kNowhere));
}

TEST(Library, FindsNamesWithThePrefixOfThePythonPackage) {
  std::optional<Library> library = Library::find("test", "EPL_TEST_PATHS", "libnothing.so", kFirst);
  ASSERT_TRUE(library);
  EXPECT_EQ(answerOf(*library), 1);
  EXPECT_EQ(library->path(), EPL_PREFIXED_1);
  void (*nothing)() = nullptr;
  library->bindIfThere("epl_question", nothing);
  EXPECT_EQ(nothing, nullptr);
  EXPECT_THAT([&] { library->bind("epl_question", nothing); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("no function \"epl_question\"")));
}

TEST(Library, PrefersTheVariableThenTheInstalledThenThePaths) {
  auto find = [] { return Library::find("test", "EPL_TEST_NAMED", "libepl_test.so", kFirst); };
  EXPECT_EQ(answerOf(*find()), 2);
  {
    ScopedVariable named("EPL_TEST_NAMED", EPL_PREFIXED_1);
    EXPECT_EQ(answerOf(*find()), 1);
  }
  {
    ScopedVariable none("EPL_TEST_NAMED", "");
    EXPECT_FALSE(find());
  }
  ScopedVariable wrong("EPL_TEST_NAMED", "/nowhere/libnothing.so");
  EXPECT_THAT([&] { find(); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("that EPL_TEST_NAMED names")));
}
