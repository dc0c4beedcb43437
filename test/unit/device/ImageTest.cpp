#include "runtime/device/cpu/Image.h"

#include "runtime/Error.h"

#include <fstream>
#include <gmock/gmock.h>
#include <iterator>

namespace epl::runtime {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<uint8_t> readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Image, RefusesWhatIsNoElf) {
  std::vector<uint8_t> bytes(100, 42);
  EXPECT_THAT([&] { Image image(bytes); }, ThrowsMessage<Error>(HasSubstr("cannot load the plan's kernels")));
}

TEST(Image, NamesTheMissingKernel) {
  EXPECT_THAT([] { Image().find("k7"); }, ThrowsMessage<Error>("the plan's image has no kernel \"k7\""));
}

TEST(Image, KeepsTwoImagesApart) {
  Image first(readFile(EPL_FIRST_IMAGE)), second(readFile(EPL_SECOND_IMAGE));
  EXPECT_NE(first.find("first"), nullptr);
  EXPECT_NE(second.find("second"), nullptr);
  EXPECT_THAT([&] { second.find("first"); }, ThrowsMessage<Error>(HasSubstr("no kernel \"first\"")));
}

TEST(Image, LoadsManyInTurn) {
  for (int i = 0; i < 3000; ++i)
    Image(readFile(i % 2 ? EPL_FIRST_IMAGE : EPL_SECOND_IMAGE)).find(i % 2 ? "first" : "second");
}

} // namespace
} // namespace epl::runtime
