// Blocks and their servers, as Fluid deals them out.

#include "runtime/servers/model/Placement.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace epl::runtime::servers {
namespace {

using testing::ElementsAre;
using Names = std::vector<std::string>;

/// "name:begin:size@server" of every block.
std::vector<std::string> placed(const std::vector<Variable> &variables, const SliceOptions &options,
                                Dispatcher &dispatcher) {
  std::vector<std::string> result;
  for (const auto &blocks : placeVariables(variables, options, dispatcher))
    for (const PlacedBlock &block : blocks)
      result.push_back(block.name + ":" + std::to_string(block.slice.begin) + ":" +
                       std::to_string(block.slice.size) + "@" + std::to_string(block.server));
  return result;
}

const std::vector<Variable> fc = {{"fc_b", {1000}}, {"fc_w", {1000, 1000}}};

/// A user's own.
class Mapping : public Dispatcher {
public:
  explicit Mapping(std::map<std::string, uint32_t> servers) : servers(std::move(servers)) {}

  std::vector<uint32_t> dispatch(std::span<const std::string> blocks) override {
    std::vector<uint32_t> result;
    for (const std::string &name : blocks)
      if (auto found = servers.find(name); found != servers.end())
        result.push_back(found->second);
    return result;
  }

private:
  std::map<std::string, uint32_t> servers;
};

std::string errorOf(const std::vector<Variable> &variables, const SliceOptions &options,
                    Dispatcher &dispatcher) {
  try {
    placeVariables(variables, options, dispatcher);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Dispatch, RoundRobinGoesOnUntilItIsReset) {
  RoundRobin dispatcher(2);
  EXPECT_THAT(dispatcher.dispatch(Names{"a", "b", "c"}), ElementsAre(0, 1, 0));
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

TEST(Placement, IsThatOfFluidsTranspiler) {
  RoundRobin dispatcher(2);
  EXPECT_THAT(placed(fc, {.servers = 2}, dispatcher),
              ElementsAre("fc_b:0:1000@0", "fc_w.block0:0:500000@1", "fc_w.block1:500000:500000@0"));
  EXPECT_EQ(placeVariables(fc, {.servers = 2}, dispatcher)[1][1],
            (PlacedBlock{"fc_w.block1", {500000, 500000}, {500, 1000}, 0}));
}

TEST(Placement, LeavesWholeWhatIsNotSliced) {
  RoundRobin dispatcher(2);
  EXPECT_THAT(placed(fc, {.servers = 2, .minBlockSize = 1048576}, dispatcher),
              ElementsAre("fc_b:0:1000@0", "fc_w:0:1000000@1"));
  EXPECT_THAT(placed(fc, {.servers = 2, .sliceVarUp = false}, dispatcher),
              ElementsAre("fc_b:0:1000@0", "fc_w:0:1000000@1"));
  EXPECT_THAT(placed({{"w", {1000, 1000}, /*sliced=*/false}}, {.servers = 2}, dispatcher),
              ElementsAre("w:0:1000000@0"));
}

TEST(Placement, MayLeaveAServerWithNothing) {
  RoundRobin dispatcher(3);
  EXPECT_THAT(placed({{"w", {4}}}, {.servers = 3}, dispatcher), ElementsAre("w:0:4@0"));
  EXPECT_THAT(placed({}, {.servers = 3}, dispatcher), ElementsAre());
}

TEST(Placement, IsThatOfAUsersMapping) {
  Mapping dispatcher({{"fc_b", 1}, {"fc_w.block0", 1}, {"fc_w.block1", 1}});
  EXPECT_THAT(placed(fc, {.servers = 2}, dispatcher),
              ElementsAre("fc_b:0:1000@1", "fc_w.block0:0:500000@1", "fc_w.block1:500000:500000@1"));
}

TEST(Placement, NamesWhatIsWrong) {
  Mapping missing({{"fc_b", 0}, {"fc_w.block0", 0}}), outside({{"fc_b", 2}});
  RoundRobin dispatcher(2);
  EXPECT_EQ(errorOf(fc, {.servers = 2}, missing),
            "the dispatcher has given servers to 1 blocks from \"fc_w.block0\" on, expected 2");
  EXPECT_EQ(errorOf(fc, {.servers = 2}, outside),
            "the dispatcher has given block \"fc_b\" to server 2, expected one below 2");
  EXPECT_EQ(errorOf(fc, {.servers = 0}, dispatcher), "there are 0 servers, expected at least 1");
  EXPECT_EQ(errorOf({{"w", {-3}}}, {.servers = 2}, dispatcher),
            "variable \"w\" cannot be cut: a tensor has extent -3, expected none below 0");
  EXPECT_EQ(errorOf(fc, {.servers = 2, .minBlockSize = 0}, dispatcher),
            "variable \"fc_b\" cannot be cut: min_block_size is 0, expected at least 1");
}

} // namespace
} // namespace epl::runtime::servers
