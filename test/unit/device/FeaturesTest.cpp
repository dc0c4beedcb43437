#include "runtime/device/cpu/Features.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <iostream>

namespace epl::runtime {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Features, KnowsWhatEveryCpuHas) {
  for (const char *feature : {"64bit", "cx8", "fxsr", "sse", "sse2"})
    EXPECT_TRUE(cpuSupports(feature)) << feature;
  EXPECT_FALSE(cpuSupports("no-such-feature"));
  EXPECT_FALSE(cpuSupports(""));
}

TEST(Features, NamesEveryMissingOne) {
  EXPECT_NO_THROW(checkCpuFeatures({"sse2", "sse"}));
  EXPECT_THAT([] { checkCpuFeatures({"sse2", "avx9000", "other"}); },
              ThrowsMessage<Error>(HasSubstr("\"avx9000\", \"other\"")));
}

TEST(Features, DescribesTheCpuAlwaysInTheSameWords) {
  EXPECT_THAT(describeCpu(), HasSubstr(" sse2"));
  EXPECT_EQ(describeCpu().find(" avx512f") != std::string::npos, cpuSupports("avx512f"));
  EXPECT_EQ(describeCpu(), describeCpu());
}

/// The environment is read once in a process: each of these runs in a process of its own.
class FeaturesDeathTest : public testing::Test {
protected:
  FeaturesDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(FeaturesDeathTest, HidesWhatIsBeyondTheLevelOfTheEnvironment) {
  auto check = [] {
    setenv("EPL_CPU", "x86-64-v2", 1);
    bool right = cpuSupports("sse2") && cpuSupports("64bit") && !cpuSupports("avx") && !cpuSupports("aes") &&
                 cpuSupports("crc32") == cpuSupports("sse4.2") && describeCpu().starts_with("x86-64-v2 ");
    std::exit(right ? 0 : 1);
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(0), "");
}

TEST_F(FeaturesDeathTest, NamesTheLimitWithWhatItHides) {
  auto check = [] {
    setenv("EPL_CPU", "x86-64-v3", 1);
    try {
      checkCpuFeatures({"sse2", "avx512f", "avx512vl"});
    } catch (const Error &error) {
      std::cerr << error.what();
      std::exit(3);
    }
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(3),
              "\"avx512f\", \"avx512vl\", which EPL_CPU=x86-64-v3 lacks");
}

TEST_F(FeaturesDeathTest, RefusesAnUnknownLevel) {
  auto check = [] {
    setenv("EPL_CPU", "pentium", 1);
    try {
      cpuSupports("sse2");
    } catch (const Error &error) {
      std::cerr << error.what();
      std::exit(3);
    }
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(3), "EPL_CPU is \"pentium\", expected host, x86-64,");
}

TEST_F(FeaturesDeathTest, HidesMoreLater) {
  auto check = [] {
    setenv("EPL_CPU", "x86-64-v2", 1);
    bool had = cpuSupports("sse4.2");
    try {
      limitCpu("x86-64-v3");
    } catch (const Error &error) {
      std::cerr << error.what();
    }
    limitCpu("x86-64");
    std::exit(had && !cpuSupports("sse4.2") && describeLevel() == "x86-64" ? 3 : 1);
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(3),
              "\"x86-64-v3\" is no level of the CPU, which has x86-64-v2");
}

} // namespace
} // namespace epl::runtime
