#include "runtime/device/cpu/Features.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>

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

TEST(Features, CountsAtLeastOneCore) { EXPECT_GE(availableCores(), 1u); }

} // namespace
} // namespace epl::runtime
