//===- CountersTest.cpp - What kernels cost -------------------------------===//

#include "test/unit/cuda/Kernel.h"

#include <gtest/gtest.h>

using namespace cuda_double;

/// Loads one number a thread, `stride` numbers apart.
static Counters countLoads(unsigned stride, const char *access = "ld.global.f32 %f0, [%w1];",
                           unsigned bytes = 4) {
  TestDevice device;
  uint64_t numbers = device.upload(std::vector<uint32_t>(32 * 1024));
  Module module = parse(makeKernel(1, "mul.wide.u32 %w1, %r0, " + std::to_string(bytes * stride) +
                                          "; add.u64 %w1, %w0, %w1;\n" + access));
  device.run(module, {4, 1, 1}, {64, 1, 1}, numbers);
  return device.counters;
}

TEST(MachineCounters, SectorsOfLoads) {
  Counters dense = countLoads(1);
  EXPECT_EQ(dense.loads.requests, 8U);
  EXPECT_EQ(dense.loads.sectors, 8 * 4U);
  EXPECT_EQ(dense.loads.bytes, 8 * 128U);
  EXPECT_EQ(dense.sectorsTouched, 32U);
  EXPECT_EQ(dense.sectorsFetched, 32U);
  EXPECT_EQ(dense.stores.requests, 0U);
  EXPECT_EQ(countLoads(2).loads.sectors, 8 * 8U);
  Counters wide = countLoads(8);
  EXPECT_EQ(wide.loads.sectors, 8 * 32U);
  EXPECT_EQ(wide.loads.bytes, 8 * 128U);
  Counters same = countLoads(0);
  EXPECT_EQ(same.loads.sectors, 8U);
  EXPECT_EQ(same.loads.bytes, 8 * 4U);
  EXPECT_EQ(same.sectorsTouched, 1U);
  EXPECT_EQ(same.sectorsFetched, 4U); // once in each block
  Counters vectors = countLoads(1, "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%w1];", 16);
  EXPECT_EQ(vectors.loads.requests, 8U);
  EXPECT_EQ(vectors.loads.sectors, 8 * 16U);
}

/// Cycles of one warp that stores at thread * stride words of shared memory.
static uint64_t countCycles(unsigned stride, const char *access, unsigned bytes) {
  TestDevice device;
  Module module = parse(makeKernel(
      0, "mov.u32 %r9, tile; mad.lo.u32 %r10, %r2, " + std::to_string(bytes * stride) + ", %r9;\n" + access,
      ".shared .align 16 .b8 tile[8192];"));
  device.run(module, {1, 1, 1}, {32, 1, 1});
  return device.counters.sharedCycles * 100 + device.counters.sharedRequests;
}

TEST(MachineCounters, BankConflicts) {
  EXPECT_EQ(countCycles(1, "st.shared.u32 [%r10], %r2;", 4), 101U);
  EXPECT_EQ(countCycles(2, "st.shared.u32 [%r10], %r2;", 4), 201U);
  EXPECT_EQ(countCycles(32, "st.shared.u32 [%r10], %r2;", 4), 3201U);
  EXPECT_EQ(countCycles(33, "st.shared.u32 [%r10], %r2;", 4), 101U);
  EXPECT_EQ(countCycles(0, "ld.shared.u32 %r3, [%r10];", 4), 101U); // all read one word
  EXPECT_EQ(countCycles(1, "st.shared.v2.u32 [%r10], {%r2, %r2};", 8), 202U);
  EXPECT_EQ(countCycles(1, "st.shared.v4.u32 [%r10], {%r2, %r2, %r2, %r2};", 16), 404U);
}

TEST(MachineCounters, Instructions) {
  TestDevice device;
  Module module = parse(makeKernel(0, R"(
    setp.lt.u32 %p1, %r2, 8;
    mov.f32 %f1, 0f3F800000;
    @%p1 ex2.approx.f32 %f0, %f1;
    fma.rn.f32 %f0, %f1, %f1, %f1;
    bar.sync 0;)"));
  device.run(module, {2, 1, 1}, {32, 1, 1});
  EXPECT_EQ(device.counters.specialFunctions, 2 * 8U);
  EXPECT_EQ(device.counters.multiplyAdds, 2 * 32U);
  EXPECT_EQ(device.counters.barriers, 2U);
  EXPECT_EQ(device.counters.warpInstructions, 2 * 10U);
  EXPECT_EQ(device.counters.laneInstructions, 2 * (9 * 32 + 8U));
  EXPECT_EQ(device.counters.divergent, 0U);
}
