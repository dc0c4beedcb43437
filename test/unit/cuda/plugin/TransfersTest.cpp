// Where the bytes of other processes are, in the messages that have come.

#include "runtime/device/cuda/collectives/Transfers.h"

#include <gmock/gmock.h>

namespace epl::runtime::cuda {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

constexpr CUdeviceptr kStaging = 1 << 20;

/// From a rank of part 0, of some runs of 8 bytes each, one behind the other, from an offset on.
Message messageOf(uint32_t rank, std::vector<ByteRun> runs, uint64_t offset) {
  Message message{0, rank, rank, false};
  for (const ByteRun &run : runs) {
    message.places.push_back(message.bytes);
    message.bytes += (run.bytes.end - run.bytes.begin + 15) / 16 * 16;
  }
  message.runs = std::move(runs);
  message.offset = offset;
  return message;
}

TEST(RemoteAddresses, AreThoseOfTheMessagesBytes) {
  std::vector<Message> received = {messageOf(1, {{3, {0, 8}}, {3, {100, 120}}, {5, {8, 16}}}, 0),
                                   messageOf(2, {{3, {40, 48}}}, 256)};
  RemoteAddresses remote(received, kStaging);
  EXPECT_EQ(remote.locate(remote.add(0, 1, 3) + 4), kStaging + 4);
  EXPECT_EQ(remote.locate(remote.add(0, 1, 3) + 119), kStaging + 16 + 19);
  EXPECT_EQ(remote.locate(remote.add(0, 1, 5) + 8), kStaging + 48);
  EXPECT_EQ(remote.locate(remote.add(0, 2, 3) + 47), kStaging + 256 + 7);
  EXPECT_EQ(remote.locate(12345), 12345UL) << "an address of this process";
}

/// Moves ask for a buffer again for each row.
TEST(RemoteAddresses, AreManyOfFewBuffers) {
  std::vector<Message> received;
  for (uint32_t rank = 1; rank < 4; ++rank)
    received.push_back(messageOf(rank, {{0, {0, 8 << 20}}}, rank * (16UL << 20)));
  RemoteAddresses remote(received, kStaging);
  for (uint64_t row = 0; row < (1 << 20); ++row)
    for (uint32_t rank = 1; rank < 4; ++rank)
      ASSERT_EQ(remote.locate(remote.add(0, rank, 0) + 8 * row), kStaging + rank * (16UL << 20) + 8 * row);
}

TEST(Packs, PutTogetherWhatIsInPieces) {
  auto addressOf = [](uint32_t buffer) { return CUdeviceptr(1000 * buffer); };
  std::vector<Message> sent = {messageOf(1, {{3, {0, 8}}, {3, {100, 108}}}, 0),
                               messageOf(2, {{4, {8, 24}}}, 32)};
  EXPECT_THAT(packsOf(sent, kStaging, addressOf),
              ElementsAre(AllOf(Field(&CopyRun::to, kStaging), Field(&CopyRun::from, 3000)),
                          AllOf(Field(&CopyRun::to, kStaging + 16), Field(&CopyRun::from, 3100))));
  Transfer transfer;
  transfer.sent = sent;
  EXPECT_THAT(callsOf(transfer, kStaging, addressOf),
              ElementsAre(AllOf(Field(&LibraryCall::from, kStaging), Field(&LibraryCall::count, 24)),
                          AllOf(Field(&LibraryCall::from, 4008), Field(&LibraryCall::count, 16))));
}

/// A call for 16 bytes to the staging memory, and what is moved from there.
std::vector<LibraryCall> receive(Moves &moves) {
  std::vector<LibraryCall> calls = {{LibraryCall::Kind::receive, 0, kStaging, 16}};
  receiveInPlace(calls, moves);
  return calls;
}

TEST(Receive, GoesToWhereItIsCopiedTo) {
  Moves moves{{{500, kStaging, 16}, {700, 600, 8}}, {}};
  EXPECT_EQ(receive(moves)[0].to, 500UL);
  EXPECT_THAT(moves.copies, ElementsAre(Field(&CopyRun::to, 700)));
}

TEST(Receive, StaysWhereSeveralReadIt) {
  for (Moves moves : {Moves{{{500, kStaging, 16}, {700, kStaging, 16}}, {}}, Moves{{{500, kStaging, 8}}, {}},
                      Moves{{{500, kStaging, 16}}, {Sums{}}}, Moves{}}) {
    size_t before = moves.copies.size();
    EXPECT_EQ(receive(moves)[0].to, kStaging);
    EXPECT_EQ(moves.copies.size(), before);
  }
}

} // namespace
} // namespace epl::runtime::cuda
