//===- ProgramsTest.cpp - Kernels as LLVM makes them ----------------------===//
//
// kernels.cpp, compiled by Clang, beside the host in many orders; then with each of its barriers left out.
//
//===----------------------------------------------------------------------===//

#include "test/unit/cuda/Kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

using namespace cuda_double;

static std::string readKernels() {
  std::ifstream file(EPL_CUDA_KERNELS);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

static std::vector<float> randomNumbers(size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::uniform_real_distribution<float> numbers(-3, 3);
  std::vector<float> values(size);
  for (float &value : values)
    value = numbers(random);
  return values;
}

namespace {
/// One run of a kernel, which checks what it computes.
using Program = std::function<void(const Module &, TestDevice &)>;
} // namespace

static void runSoftmax(const Module &module, TestDevice &device) {
  constexpr int64_t kRows = 5, kWidth = 300;
  std::vector<float> in = randomNumbers(kRows * kWidth);
  uint64_t out = device.allocate<float>(in.size());
  device.runNamed(module, "softmax", {kRows, 1, 1}, {128, 1, 1}, device.upload(in), out, kWidth);
  std::vector<float> found = device.download<float>(out, in.size());
  for (int64_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < kWidth; ++i)
      sum += std::exp(double(in[row * kWidth + i]));
    for (int64_t i = 0; i < kWidth; ++i)
      EXPECT_NEAR(found[row * kWidth + i], std::exp(double(in[row * kWidth + i])) / sum, 1e-6);
  }
}

static void runTranspose(const Module &module, TestDevice &device) {
  constexpr int64_t kWidth = 96, kHeight = 64;
  std::vector<float> in = randomNumbers(kWidth * kHeight);
  uint64_t out = device.allocate<float>(in.size());
  device.runNamed(module, "transpose", {6, 1, 1}, {256, 1, 1}, device.upload(in), out, kWidth, kHeight);
  std::vector<float> found = device.download<float>(out, in.size());
  for (int64_t y = 0; y < kHeight; ++y)
    for (int64_t x = 0; x < kWidth; ++x)
      EXPECT_EQ(found[x * kHeight + y], in[y * kWidth + x]);
}

static void runColumnSums(const Module &module, TestDevice &device) {
  constexpr int64_t kWidth = 150, kHeight = 9;
  std::vector<float> in = randomNumbers(kWidth * kHeight);
  uint64_t out = device.allocate<float>(kWidth);
  device.runNamed(module, "columnSums", {3, 1, 1}, {64, 1, 1}, device.upload(in), out, kWidth, kHeight);
  std::vector<float> found = device.download<float>(out, kWidth);
  for (int64_t x = 0; x < kWidth; ++x) {
    float sum = 0;
    for (int64_t y = 0; y < kHeight; ++y)
      sum += in[y * kWidth + x];
    EXPECT_EQ(found[x], sum);
  }
}

static void runHistogram(const Module &module, TestDevice &device) {
  constexpr int64_t kSize = 2000;
  std::vector<int32_t> in(kSize), wanted(64);
  std::mt19937 random(1);
  for (int32_t &value : in) {
    value = static_cast<int32_t>(random());
    ++wanted[value & 63];
  }
  uint64_t out = device.upload(std::vector<int32_t>(64));
  device.runNamed(module, "histogram", {4, 1, 1}, {96, 1, 1}, device.upload(in), out, kSize);
  EXPECT_EQ(device.download<int32_t>(out, 64), wanted);
}

static const std::map<std::string, Program> &programs() {
  static const std::map<std::string, Program> table = {{"softmax", runSoftmax},
                                                       {"transpose", runTranspose},
                                                       {"columnSums", runColumnSums},
                                                       {"histogram", runHistogram}};
  return table;
}

TEST(MachinePrograms, GiveTheHostsResultsInAnyOrder) {
  Module module = parse(readKernels());
  for (auto &[name, program] : programs())
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      TestDevice device;
      device.options.seed = seed;
      program(module, device);
      EXPECT_TRUE(device.findings.empty()) << device.findings.front().text;
    }
}

TEST(MachinePrograms, MoveEachSectorOnce) {
  Module module = parse(readKernels());
  TestDevice device;
  runTranspose(module, device);
  const Counters &counters = device.counters;
  EXPECT_EQ(counters.loads.sectors + counters.stores.sectors, counters.sectorsTouched);
  EXPECT_EQ(counters.loads.bytes, 32 * counters.loads.sectors);
  EXPECT_EQ(counters.sharedCycles,
            counters.sharedRequests); // a column of padding keeps lanes in banks of their own
}

/// Whether a race is found. Values may come out right or wrong.
static bool racesIn(const Program &program, const Module &module) {
  TestDevice device;
  testing::TestPartResultArray values;
  testing::ScopedFakeTestPartResultReporter reporter(
      testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &values);
  program(module, device);
  return !device.found(Finding::race).empty();
}

TEST(MachinePrograms, MissEachOfTheirBarriers) {
  Module module = parse(readKernels());
  int barriers = 0;
  for (auto &[name, program] : programs())
    for (Instruction &instruction : module.entries.at(name).code) {
      if (instruction.opcode != Opcode::barrier)
        continue;
      instruction.opcode = Opcode::fence; // which does nothing here
      EXPECT_TRUE(racesIn(program, module)) << name << ", line " << instruction.line;
      instruction.opcode = Opcode::barrier;
      ++barriers;
    }
  EXPECT_EQ(barriers, 6);
}
