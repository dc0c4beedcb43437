// Pieces cover a tensor once, in order, and are held to that where they come.

#include "runtime/servers/protocol/Pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::servers {
namespace {

using testing::ElementsAre;

TEST(Pieces, CoverATensor) {
  EXPECT_THAT(cutPieces(10, 4), ElementsAre(Piece{0, 4}, Piece{4, 4}, Piece{8, 2}));
  EXPECT_THAT(cutPieces(8, 4), ElementsAre(Piece{0, 4}, Piece{4, 4}));
  EXPECT_THAT(cutPieces(0, 4), ElementsAre(Piece{0, 0}));
  EXPECT_EQ(cutPieces(uint64_t(64) << 20).size(), 65u);
}

TEST(Pieces, ComeInOrder) {
  for (uint64_t total : {0, 3, 4, 8, 10}) {
    PieceOrder order;
    for (Piece piece : cutPieces(total, 4)) {
      EXPECT_FALSE(order.complete());
      EXPECT_EQ(order.accept(piece, total, total), "");
    }
    EXPECT_TRUE(order.complete());
  }
}

TEST(Pieces, MayBeginAgain) {
  PieceOrder order;
  EXPECT_EQ(order.accept({0, 4}, 10, 10), "");
  EXPECT_EQ(order.accept({4, 4}, 10, 10), "");
  EXPECT_EQ(order.accept({0, 4}, 10, 10), "");
  EXPECT_EQ(order.accept({8, 2}, 10, 10), "goes on at byte 8, expected byte 4");
  EXPECT_EQ(order.accept({4, 6}, 10, 10), "");
  EXPECT_TRUE(order.complete());
  EXPECT_EQ(order.accept({10, 0}, 10, 10), "goes on at byte 10, expected byte 10");
}

TEST(Pieces, AreOfTheTensorThatIsExpected) {
  PieceOrder order;
  EXPECT_EQ(order.accept({0, 4}, 10, 12), "has 10 bytes, expected 12");
}

} // namespace
} // namespace epl::runtime::servers
