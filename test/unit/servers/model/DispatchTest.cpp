// Which server has which block, as Fluid deals them out.

#include "runtime/servers/model/Dispatch.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::servers {
namespace {

using testing::ElementsAre;
using Names = std::vector<std::string>;

TEST(Dispatch, RoundRobinGoesOnUntilItIsReset) {
  RoundRobin dispatcher(2);
  EXPECT_THAT(dispatcher.dispatch(Names{"a", "b", "c"}), ElementsAre(0, 1, 0));
  EXPECT_THAT(dispatcher.dispatch(Names{}), ElementsAre());
  EXPECT_THAT(dispatcher.dispatch(Names{"d"}), ElementsAre(1));
  dispatcher.dispatch(Names{"e"});
  dispatcher.reset();
  EXPECT_THAT(dispatcher.dispatch(Names{"a"}), ElementsAre(0));
}

TEST(Dispatch, HashNameIsZlibsCrc32) {
  // zlib.crc32: of b"123456789" 0xcbf43926, of b"fc_w.block0" 0xed3022fa, of b"fc_w.block1" 0x9a37126c
  HashName dispatcher(1000);
  EXPECT_THAT(dispatcher.dispatch(Names{"123456789", "fc_w.block0", "fc_w.block1", ""}),
              ElementsAre(0xcbf43926u % 1000, 0xed3022fau % 1000, 0x9a37126cu % 1000, 0));
}

TEST(Dispatch, NeedsServers) {
  EXPECT_THROW(RoundRobin(0), Error);
  EXPECT_THROW(HashName(0), Error);
}

} // namespace
} // namespace epl::runtime::servers
