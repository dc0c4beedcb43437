// Rows that come in pieces, as the network gives them.

#include "runtime/servers/drive/RowPulls.h"

#include "test/unit/servers/RowDescent.h"
#include "test/unit/session/Tensors.h"

#include <gtest/gtest.h>
#include <numeric>

namespace epl::runtime::servers::test {
namespace {

using runtime::test::elements;

/// Frames and their pieces begin and end within rows, and within numbers.
TEST(RowPulls, PutRowsTogetherFromAnyPieces) {
  constexpr int64_t kDim = 5, kRows = 4;
  auto manifest = rowDescentManifest({.dim = kDim});
  auto job = std::make_shared<Job>(*manifest);
  RowsKept kept{IdSplits(job)};
  std::vector<int64_t> ids = {9, 2, 2, 30, 4, 9};
  RowPulls pulls(job, kept, std::vector<Lookup>{{0, ids}}, /*all=*/false);
  ASSERT_EQ(pulls.requests().size(), 1u);
  std::vector<float> coming(kRows * kDim); // of ids 2, 4, 9, 30
  std::iota(coming.begin(), coming.end(), 1.0F);
  std::span<const std::byte> bytes = std::as_bytes(std::span(coming));
  uint32_t part = pulls.requests().front().block;
  for (size_t frame = 0; frame < bytes.size(); frame += 33) {
    std::vector<std::span<const std::byte>> pieces;
    for (std::span<const std::byte> left = bytes.subspan(frame, std::min<size_t>(33, bytes.size() - frame));
         !left.empty(); left = left.subspan(std::min<size_t>(7, left.size())))
      pieces.push_back(left.first(std::min<size_t>(7, left.size())));
    pulls.store(part, frame, Payload(pieces));
  }
  std::vector<float> expected;
  for (size_t row : {2, 0, 0, 3, 1, 2})
    expected.insert(expected.end(), coming.begin() + int64_t(row) * kDim,
                    coming.begin() + int64_t(row + 1) * kDim);
  EXPECT_EQ(elements<float>(pulls.rows().front()), expected);
}

} // namespace
} // namespace epl::runtime::servers::test
