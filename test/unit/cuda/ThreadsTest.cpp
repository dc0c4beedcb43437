//===- ThreadsTest.cpp - Threads that work together -----------------------===//

#include "test/unit/cuda/Kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

using namespace cuda_double;

namespace {
class MachineThreads : public testing::TestWithParam<uint64_t> {
protected:
  /// What each thread has in %r5 at the end.
  std::vector<uint32_t> run(const std::string &body, unsigned threads,
                            std::array<unsigned, 3> grid = {1, 1, 1}) {
    TestDevice device;
    device.options.seed = GetParam();
    size_t size = size_t(threads) * grid[0] * grid[1] * grid[2];
    uint64_t result = device.allocate<uint32_t>(size);
    Module module = parse(
        makeKernel(1, body + "\nmul.wide.u32 %w1, %r0, 4; add.u64 %w1, %w0, %w1; st.global.u32 [%w1], %r5;",
                   ".shared .align 4 .b8 tile[4096];"));
    device.run(module, grid, {threads, 1, 1}, result);
    EXPECT_TRUE(device.findings.empty()) << device.findings.front().text;
    return device.download<uint32_t>(result, size);
  }
};
} // namespace

INSTANTIATE_TEST_SUITE_P(Seeds, MachineThreads, testing::Range<uint64_t>(1, 7));

/// What PTX's own description of shfl says.
static uint32_t shuffled(const std::string &mode, int lane, int by, int limits,
                         const std::vector<uint32_t> &values) {
  int clamp = limits & 31, segment = limits >> 8 & 31;
  int last = (lane & segment) | (clamp & ~segment), first = lane & segment, from = 0;
  bool inside = true;
  if (mode == "up")
    from = lane - by, inside = from >= last;
  else if (mode == "down")
    from = lane + by, inside = from <= last;
  else if (mode == "bfly")
    from = lane ^ by, inside = from <= last;
  else
    from = first | (by & ~segment), inside = from <= last;
  return values[inside ? from : lane] * 2 + (inside ? 1 : 0);
}

TEST_P(MachineThreads, Shuffle) {
  for (std::string mode : {"up", "down", "bfly", "idx"})
    for (int by : {0, 1, 5, 16, 31})
      for (int width : {32, 8}) {
        int limits = (32 - width) << 8 | (mode == "up" ? 0 : 31);
        std::vector<uint32_t> found = run(
            "mad.lo.u32 %r4, %r0, 7, 3; shfl.sync." + mode + ".b32 %r5|%p1, %r4, " + std::to_string(by) +
                ", " + std::to_string(limits) + ", -1; selp.u32 %r6, 1, 0, %p1; mad.lo.u32 %r5, %r5, 2, %r6;",
            32);
        std::vector<uint32_t> values(32), wanted;
        for (uint32_t i = 0; i < 32; ++i)
          values[i] = 7 * i + 3;
        for (int i = 0; i < 32; ++i)
          wanted.push_back(shuffled(mode, i, by, limits, values));
        EXPECT_EQ(found, wanted) << mode << " by " << by << " of " << width;
      }
}

TEST_P(MachineThreads, Vote) {
  std::string odd = "and.b32 %r4, %r0, 1; setp.eq.u32 %p1, %r4, 1;\n";
  EXPECT_THAT(run(odd + "vote.sync.ballot.b32 %r5, %p1, -1;", 64), testing::Each(0xAAAAAAAAU));
  EXPECT_THAT(run(odd + "vote.sync.any.pred %p2, %p1, -1; selp.u32 %r5, 1, 0, %p2;", 32), testing::Each(1U));
  EXPECT_THAT(run(odd + "vote.sync.all.pred %p2, %p1, -1; selp.u32 %r5, 1, 0, %p2;", 32), testing::Each(0U));
  EXPECT_THAT(run("setp.lt.u32 %p1, %r0, 32; vote.sync.uni.pred %p2, !%p1, -1; selp.u32 %r5, 1, 0, %p2;", 64),
              testing::Each(1U));
}

TEST_P(MachineThreads, ReadSpecialRegisters) {
  std::vector<uint32_t> lanes = run("mov.u32 %r5, %laneid;", 70);
  std::vector<uint32_t> warps = run("mov.u32 %r5, %warpid;", 70);
  std::vector<uint32_t> masks = run("mov.u32 %r5, %lanemask_lt;", 70);
  std::vector<uint32_t> blocks = run("mov.u32 %r5, %nctaid.x;", 4, {3, 1, 1});
  for (uint32_t i = 0; i < 70; ++i) {
    EXPECT_EQ(lanes[i], i % 32);
    EXPECT_EQ(warps[i], i / 32);
    EXPECT_EQ(std::popcount(masks[i]), static_cast<int>(i % 32));
  }
  EXPECT_THAT(blocks, testing::Each(3U));
}

TEST_P(MachineThreads, TakeTheirOwnWays) {
  // Each thread counts its steps of Collatz: all in one warp go different ways.
  std::vector<uint32_t> found = run(R"(
    add.u32 %r4, %r0, 1; mov.u32 %r5, 0;
  $loop: setp.eq.u32 %p1, %r4, 1; @%p1 bra $end;
    add.u32 %r5, %r5, 1; and.b32 %r6, %r4, 1; setp.eq.u32 %p2, %r6, 0; @%p2 bra $even;
    mad.lo.u32 %r4, %r4, 3, 1; bra $loop;
  $even: shr.u32 %r4, %r4, 1; bra $loop;
  $end:)",
                                    45);
  for (uint32_t i = 0; i < 45; ++i) {
    uint32_t steps = 0;
    for (uint32_t n = i + 1; n != 1; n = n % 2 ? 3 * n + 1 : n / 2)
      ++steps;
    EXPECT_EQ(found[i], steps);
  }
}

TEST_P(MachineThreads, SumInSharedMemory) {
  std::vector<uint32_t> found = run(R"(
    mov.u32 %r9, tile; shl.b32 %r10, %r2, 2; add.u32 %r10, %r9, %r10; st.shared.u32 [%r10], %r0; bar.sync 0;
    mov.u32 %r7, 64;
  $loop: setp.ge.u32 %p1, %r2, %r7; @%p1 bra $next;
    shl.b32 %r11, %r7, 2; add.u32 %r11, %r10, %r11; ld.shared.u32 %r12, [%r11]; ld.shared.u32 %r13, [%r10];
    add.u32 %r13, %r13, %r12; st.shared.u32 [%r10], %r13;
  $next: bar.sync 0; shr.u32 %r7, %r7, 1; setp.ne.u32 %p2, %r7, 0; @%p2 bra $loop;
    ld.shared.u32 %r5, [tile];)",
                                    128, {3, 1, 1});
  for (uint32_t block = 0; block < 3; ++block)
    EXPECT_EQ(found[128 * block + 5], 128 * 128 * block + 127 * 64);
}

TEST_P(MachineThreads, MeetInGroupsOfAWarp) {
  // Even and odd lanes shuffle among themselves, at different instructions and times.
  std::vector<uint32_t> found = run(R"(
    and.b32 %r4, %r0, 1; setp.eq.u32 %p1, %r4, 0; @%p1 bra $even;
    shfl.sync.down.b32 %r5, %r0, 2, 31, 0xAAAAAAAA; shfl.sync.idx.b32 %r5, %r5, 1, 31, 0xAAAAAAAA; bra $end;
  $even: shfl.sync.down.b32 %r5, %r0, 4, 31, 0x55555555;
  $end:)",
                                    32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(found[i], i % 2 ? 3 : i + 4 < 32 ? i + 4 : i);
}

TEST_P(MachineThreads, AreNumberedInThreeDimensions) {
  TestDevice device;
  device.options.seed = GetParam();
  uint64_t result = device.allocate<uint32_t>(2 * 3 * 4 * 5);
  Module module = parse(makeKernel(1, R"(
    mov.u32 %r3, %tid.y; mov.u32 %r4, %ntid.y; mov.u32 %r5, %tid.z; mov.u32 %r6, %ctaid.y; mov.u32 %r7, %ntid.z;
    mad.lo.u32 %r8, %r6, %r7, %r5; mad.lo.u32 %r8, %r8, %r4, %r3; mad.lo.u32 %r8, %r8, %r1, %r2;
    mul.wide.u32 %w1, %r8, 4; add.u64 %w1, %w0, %w1; st.global.u32 [%w1], %r8;)"));
  device.run(module, {1, 5, 1}, {2, 3, 4}, result);
  std::vector<uint32_t> found = device.download<uint32_t>(result, 120);
  for (uint32_t i = 0; i < 120; ++i)
    EXPECT_EQ(found[i], i);
}
