//===- FindingsTest.cpp - What the machine finds wrong --------------------===//
//
// A kernel for each rule that breaks it, and one beside it that does not.
//
//===----------------------------------------------------------------------===//

#include "test/unit/cuda/Kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace cuda_double;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {
class MachineFindings : public testing::Test {
protected:
  /// Runs a kernel on one array of 32-bit numbers in several orders.
  void run(const std::string &body, std::array<unsigned, 3> grid, std::array<unsigned, 3> block,
           const std::string &variables = "") {
    Module module = parse(makeKernel(1, body, variables));
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      device.options.seed = seed;
      device.run(module, grid, block, numbers);
    }
  }

  std::string failure(const std::string &body, unsigned threads = 1, const std::string &variables = "") {
    try {
      run(body, {1, 1, 1}, {threads, 1, 1}, variables);
    } catch (const Fault &fault) {
      return fault.what();
    }
    return "";
  }

  TestDevice device;
  uint64_t numbers = device.upload(std::vector<uint32_t>(4096, 7));
};
} // namespace

/// %w1: where the thread's own number is; %w2: that of thread %tid ^ 1; %w3: of the thread a warp further.
static const char *const kOwn = "mul.wide.u32 %w4, %r0, 4; add.u64 %w1, %w0, %w4;\n"
                                "xor.b32 %r3, %r0, 1; mul.wide.u32 %w4, %r3, 4; add.u64 %w2, %w0, %w4;\n"
                                "xor.b32 %r3, %r0, 32; mul.wide.u32 %w4, %r3, 4; add.u64 %w3, %w0, %w4;\n";
static const char *const kTile = ".shared .align 4 .b8 tile[256];";
/// The same places of shared memory: %r10 its own, %r11 of the lane beside, %r12 of the warp beside.
static const char *const kOwnShared =
    "mov.u32 %r9, tile; shl.b32 %r10, %r2, 2; add.u32 %r10, %r9, %r10;\n"
    "xor.b32 %r3, %r2, 1; shl.b32 %r11, %r3, 2; add.u32 %r11, %r9, %r11;\n"
    "xor.b32 %r3, %r2, 32; shl.b32 %r12, %r3, 2; add.u32 %r12, %r9, %r12;\n";

TEST_F(MachineFindings, NoneOfThreadsThatKeepApart) {
  run(std::string(kOwn) + "ld.global.u32 %r4, [%w1]; add.u32 %r4, %r4, %r0; st.global.u32 [%w1], %r4;",
      {8, 1, 1}, {128, 1, 1});
  EXPECT_THAT(device.findings, IsEmpty());
  EXPECT_EQ(device.download<uint32_t>(numbers, 4096)[1000], 7 + 5 * 1000U);
}

TEST_F(MachineFindings, RacesOfBlocks) {
  run("st.global.u32 [%w0], %r0;", {2, 1, 1}, {1, 1, 1});
  EXPECT_THAT(device.found(Finding::race), ElementsAre(HasSubstr("a write of thread 0 of block"), testing::_,
                                                       testing::_, testing::_, testing::_));
}

TEST_F(MachineFindings, NoBarrierOrdersBlocks) {
  run(std::string(kOwn) + "st.global.u32 [%w1], %r0; bar.sync 0; membar.gl; ld.global.u32 %r4, [%w2];",
      {64, 1, 1}, {1, 1, 1});
  EXPECT_THAT(device.found(Finding::race), testing::Contains(HasSubstr("are in no order")));
}

TEST_F(MachineFindings, ReadsAndEqualWritesAreNoRace) {
  run("ld.global.u32 %r4, [%w0+4]; mov.u32 %r5, 3; st.global.u32 [%w0], %r5;", {4, 1, 1}, {64, 1, 1});
  // The first write changes what is there, those that follow do not.
  EXPECT_THAT(device.findings, IsEmpty());
}

TEST_F(MachineFindings, RacesOfWarpsInSharedMemory) {
  std::string exchange =
      std::string(kOwnShared) + "st.shared.u32 [%r10], %r2;\n%BARRIER\nld.shared.u32 %r4, [%r12];";
  auto with = [&](const std::string &barrier) {
    std::string text = exchange;
    return text.replace(text.find("%BARRIER"), 8, barrier);
  };
  run(with("bar.sync 0;"), {1, 1, 1}, {64, 1, 1}, kTile);
  run(with("barrier.sync.aligned 0;"), {1, 1, 1}, {64, 1, 1}, kTile);
  EXPECT_THAT(device.findings, IsEmpty());
  run(with("bar.warp.sync -1;"), {1, 1, 1}, {64, 1, 1}, kTile);
  EXPECT_THAT(device.found(Finding::race), testing::Not(IsEmpty()));
}

TEST_F(MachineFindings, RacesOfLanes) {
  run(std::string(kOwnShared) + "st.shared.u32 [%r10], %r2; bar.warp.sync -1; ld.shared.u32 %r4, [%r11];",
      {1, 1, 1}, {64, 1, 1}, kTile);
  EXPECT_THAT(device.findings, IsEmpty());
  run(std::string(kOwnShared) + "st.shared.u32 [%r10], %r2; ld.shared.u32 %r4, [%r11];", {1, 1, 1},
      {64, 1, 1}, kTile);
  EXPECT_THAT(device.found(Finding::race), testing::Not(IsEmpty()));
}

TEST_F(MachineFindings, AShuffleOrdersAReadBeforeAWriteButNoWrite) {
  std::string begin = std::string(kOwnShared) + "st.shared.u32 [%r10], %r2; bar.warp.sync -1;\n";
  run(begin + "ld.shared.u32 %r4, [%r11]; shfl.sync.idx.b32 %r5, %r4, 0, 31, -1; st.shared.u32 [%r10], %r5;",
      {1, 1, 1}, {32, 1, 1}, kTile);
  EXPECT_THAT(device.findings, IsEmpty());
  run(begin + "st.shared.u32 [%r11], %r4; shfl.sync.idx.b32 %r5, %r4, 0, 31, -1; ld.shared.u32 %r4, [%r10];",
      {1, 1, 1}, {32, 1, 1}, kTile);
  EXPECT_THAT(device.found(Finding::race), testing::Not(IsEmpty()));
}

TEST_F(MachineFindings, ARaceOnAPartOfAWord) {
  // Halves of a word of different lanes are apart; one byte that both have is not.
  run("mul.wide.u32 %w4, %r0, 2; add.u64 %w1, %w0, %w4; cvt.u16.u32 %h0, %r0; st.global.u16 [%w1], %h0;",
      {2, 1, 1}, {64, 1, 1});
  EXPECT_THAT(device.findings, IsEmpty());
  run("mul.wide.u32 %w4, %r0, 2; add.u64 %w1, %w0, %w4; cvt.u16.u32 %h0, %r0; st.global.u16 [%w1], %h0;\n"
      "setp.eq.u32 %p1, %r0, 1; mov.u32 %r5, 99; @%p1 st.global.u8 [%w0], %r5;",
      {1, 1, 1}, {2, 1, 1});
  EXPECT_THAT(device.found(Finding::race), testing::Contains(HasSubstr("st.global.u8")));
}

TEST_F(MachineFindings, AWriteRacesWithOneOfTwoReaders) {
  // Thread 0 reads what it writes later; thread 32, of another warp, reads it, too.
  run("ld.global.u32 %r4, [%w0]; setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%w0], %r0;", {1, 1, 1},
      {64, 1, 1});
  EXPECT_THAT(device.found(Finding::race), testing::Not(IsEmpty()));
}

TEST_F(MachineFindings, AtomicOperationsRaceWithOthersOnly) {
  run("red.global.add.u32 [%w0], 1; atom.global.max.u32 %r5, [%w0+4], %r0;", {4, 1, 1}, {64, 1, 1});
  EXPECT_THAT(device.findings, IsEmpty());
  EXPECT_EQ(device.download<uint32_t>(numbers, 2)[0], 7 + 5 * 256U);
  EXPECT_EQ(device.download<uint32_t>(numbers, 2)[1], 255U);
  run("red.global.add.u32 [%w0], 1; ld.global.u32 %r5, [%w0];", {2, 1, 1}, {1, 1, 1});
  EXPECT_THAT(device.found(Finding::race), testing::Not(IsEmpty()));
}

TEST_F(MachineFindings, ReadsOfWhatNobodyWrote) {
  numbers = device.allocate<uint32_t>(64);
  run("setp.lt.u32 %p1, %r0, 3; mul.wide.u32 %w4, %r0, 4; add.u64 %w1, %w0, %w4; @%p1 st.global.u32 [%w1], "
      "%r0;\n"
      "ld.global.u32 %r5, [%w1];",
      {1, 1, 1}, {3, 1, 1});
  EXPECT_THAT(device.findings, IsEmpty());
  run("ld.global.u32 %r5, [%w0+12];", {1, 1, 1}, {1, 1, 1});
  EXPECT_THAT(device.found(Finding::unwritten), testing::Contains(HasSubstr("bytes from 12 on")));
}

TEST_F(MachineFindings, ReadsOfUnwrittenSharedAndLocalMemory) {
  run("ld.shared.u32 %r5, [tile+8];", {1, 1, 1}, {1, 1, 1}, kTile);
  EXPECT_THAT(device.found(Finding::unwritten), testing::Contains(HasSubstr("byte 8 of shared memory")));
  device.findings.clear();
  run(".local .align 4 .b8 stack[16];\nst.local.u32 [stack], %r0; ld.local.u32 %r5, [stack]; ld.local.u32 "
      "%r5, [stack+4];",
      {1, 1, 1}, {40, 1, 1});
  EXPECT_THAT(device.found(Finding::unwritten), testing::Each(HasSubstr("byte 4 of local memory")));
  EXPECT_EQ(device.findings.size(), 5U); // in each run
}

TEST_F(MachineFindings, AccessesOutOfBounds) {
  EXPECT_THAT(
      failure("ld.global.u32 %r5, [%w0+16384];"),
      HasSubstr("kernel \"k\", line 9 of the PTX, ld.global.u32: a read of 4 bytes, 4 bytes beyond the end"));
  EXPECT_THAT(failure("ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%w0+16376];"),
              HasSubstr("which is no multiple of it"));
  EXPECT_THAT(failure("st.global.u32 [%w0+-4], %r0;"), HasSubstr("a write of 4 bytes"));
  EXPECT_THAT(failure("st.global.u32 [%w0+2], %r0;"), HasSubstr("which is no multiple of it"));
  EXPECT_THAT(failure("ld.shared.u32 %r5, [tile+256];", 1, kTile), HasSubstr("at byte 256 of shared memory"));
  EXPECT_THAT(failure(".local .align 4 .b8 stack[16];\nst.local.u32 [stack+16], %r0;"),
              HasSubstr("of local memory"));
  EXPECT_THAT(failure("ld.param.u64 %w5, [p0+8];"), HasSubstr("at byte 8 of the parameters"));
  device.memory.release(numbers);
  EXPECT_THAT(failure("ld.global.u32 %r5, [%w0+8];"), HasSubstr("memory that was freed"));
}

TEST_F(MachineFindings, WritesOfVariablesOfTheModule) {
  const char *table = ".global .align 4 .b32 table[2] = {5, 6};";
  EXPECT_EQ(failure("mov.u64 %w5, table; ld.global.u32 %r5, [%w5+4]; st.global.u32 [%w0], %r5;", 1, table),
            "");
  EXPECT_EQ(device.download<uint32_t>(numbers, 1)[0], 6U);
  EXPECT_THAT(failure("mov.u64 %w5, table; st.global.u32 [%w5+4], %r0;", 1, table),
              HasSubstr("writes \"table\""));
  EXPECT_THAT(failure("mov.u64 %w5, table; ld.global.u32 %r5, [%w5+8];", 1, table),
              HasSubstr("a read of 4 bytes"));
}

TEST_F(MachineFindings, GenericAddresses) {
  std::string body = "mov.u64 %w5, tile; add.u64 %w5, %w5, 8; cvta.shared.u64 %w5, %w5; st.u32 [%w5], %r0; "
                     "ld.u32 %r5, [%w5]; cvta.global.u64 %w6, %w0;\n"
                     "st.u32 [%w6], 41; cvta.to.shared.u64 %w7, %w5; st.global.u64 [%w0+8], %w7;";
  run(body, {1, 1, 1}, {1, 1, 1}, kTile);
  EXPECT_THAT(device.findings, IsEmpty());
  EXPECT_EQ(device.download<uint32_t>(numbers, 1)[0], 41U);
  EXPECT_EQ(device.download<uint64_t>(numbers, 2)[1], 8U);
}

TEST_F(MachineFindings, BarriersThatThreadsDoNotReachTogether) {
  std::string half = "setp.lt.u32 %p1, %r0, 16;\n";
  run(half + "@%p1 bra $a; bar.sync 0; bra $b;\n$a: bar.sync 0;\n$b:", {1, 1, 1}, {32, 1, 1});
  EXPECT_THAT(device.found(Finding::barrier), testing::Contains(HasSubstr("wait at different barriers")));
  device.findings.clear();
  run(half + "@%p1 exit; bar.sync 0;", {1, 1, 1}, {32, 1, 1});
  EXPECT_THAT(device.found(Finding::barrier), testing::Contains(HasSubstr("threads of the warp have ended")));
  device.findings.clear();
  // Whole warps may end.
  run("setp.lt.u32 %p1, %r0, 32; @%p1 exit; bar.sync 0;", {1, 1, 1}, {64, 1, 1});
  EXPECT_THAT(device.findings, IsEmpty());
}

TEST_F(MachineFindings, Deadlocks) {
  std::string half = "setp.lt.u32 %p1, %r0, 32;\n";
  EXPECT_THAT(failure(half + "@%p1 bra $a; bar.sync 1; bra $b;\n$a: bar.sync 2;\n$b:", 64),
              HasSubstr("deadlock"));
  EXPECT_THAT(
      failure("setp.lt.u32 %p1, %r0, 16;\n@%p1 bra $a; shfl.sync.idx.b32 %r5, %r0, 0, 31, -1; bra $b;\n"
              "$a: shfl.sync.idx.b32 %r5, %r0, 0, 31, -1;\n$b:",
              32),
      HasSubstr("deadlock: lanes that it waits for do not come here"));
  EXPECT_THAT(failure("bar.sync 0, 32;", 64), HasSubstr("barriers of some threads of a block are not known"));
  device.options.mostSteps = 1000;
  EXPECT_THAT(failure("$again: ld.global.u32 %r5, [%w0]; setp.ne.u32 %p1, %r5, 1; @%p1 bra $again;"),
              HasSubstr("blocks must not wait for each other"));
  EXPECT_THAT(failure("trap;"), HasSubstr("a trap"));
}

TEST_F(MachineFindings, MasksOfLanes) {
  run("shfl.sync.idx.b32 %r5, %r0, 0, 31, 65535;", {1, 1, 1}, {32, 1, 1});
  EXPECT_THAT(device.found(Finding::barrier),
              testing::Contains(HasSubstr("a lane takes part that its mask does not name")));
  device.findings.clear();
  run("setp.lt.u32 %p1, %r0, 16; @%p1 exit; vote.sync.any.pred %p2, %p1, -1;", {1, 1, 1}, {32, 1, 1});
  EXPECT_THAT(device.found(Finding::barrier),
              testing::Contains(HasSubstr("the mask names lanes that have ended")));
  device.findings.clear();
  run("setp.lt.u32 %p1, %r0, 16; @!%p1 exit; shfl.sync.idx.b32 %r5, %r0, 20, 31, 65535;", {1, 1, 1},
      {32, 1, 1});
  EXPECT_THAT(device.found(Finding::barrier),
              testing::Contains(HasSubstr("lane 20, which it reads, takes no part")));
}
