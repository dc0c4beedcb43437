//===- Forms.cpp - Kernels in the form that the compiler chooses -----------------===//

#include "Forms.h"

#include "CompiledKernels.h"

#include "passes/kernel/target/CpuTarget.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::epl;
using namespace mlir::epl::test;

// Element `index` as a double, exact for every type but large i64.
static double getElement(const Bytes &bytes, Type type, int64_t index) {
  auto read = [&](auto value) {
    std::memcpy(&value, bytes.data() + index * sizeof(value), sizeof(value));
    return double(value);
  };
  if (type.isF32())
    return read(float());
  if (type.isF64())
    return read(double());
  if (type.isBF16() || type.isF16()) {
    uint16_t bits = uint16_t(read(uint16_t()));
    return llvm::APFloat(cast<FloatType>(type).getFloatSemantics(), llvm::APInt(16, bits)).convertToDouble();
  }
  switch (llvm::divideCeil(type.getIntOrFloatBitWidth(), 8)) {
  case 1:
    return read(int8_t());
  case 2:
    return read(int16_t());
  case 4:
    return read(int32_t());
  default:
    return read(int64_t());
  }
}

static void setElement(Bytes &bytes, Type type, int64_t index, double number) {
  auto write = [&](auto value) { std::memcpy(bytes.data() + index * sizeof(value), &value, sizeof(value)); };
  if (type.isF32())
    return write(float(number));
  if (type.isF64())
    return write(number);
  if (type.isBF16() || type.isF16()) {
    llvm::APFloat value(number);
    bool lost;
    value.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return write(uint16_t(value.bitcastToAPInt().getZExtValue()));
  }
  switch (llvm::divideCeil(type.getIntOrFloatBitWidth(), 8)) {
  case 1:
    return write(int8_t(number));
  case 2:
    return write(int16_t(number));
  case 4:
    return write(int32_t(number));
  default:
    return write(int64_t(number));
  }
}

static Bytes makeRandom(RankedTensorType type, std::mt19937 &engine, bool special) {
  Type element = type.getElementType();
  Bytes bytes(type.getNumElements() * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
  std::normal_distribution<double> normal;
  for (int64_t index = 0; index < type.getNumElements(); ++index) {
    double number = normal(engine);
    if (special && engine() % 31 == 0) {
      const double specials[] = {NAN, INFINITY, -INFINITY};
      number = specials[engine() % 3];
    }
    if (element.isInteger(1))
      number = engine() % 2;
    else if (isa<IntegerType>(element))
      number = engine() % 5;
    setElement(bytes, element, index, number);
  }
  return bytes;
}

static double getTolerance(Type type) {
  if (isa<IntegerType>(type))
    return 0;
  return type.isF64() ? 1e-12 : type.isF32() ? 3e-5 : 3e-2;
}

static void expectEqual(const CompiledKernel &kernel, const std::vector<Bytes> &found,
                        const std::vector<Bytes> &expected, const std::string &what) {
  for (auto [result, type] : llvm::enumerate(kernel.outputs)) {
    Type element = type.getElementType();
    double scale = 1; // sums cancel: errors are relative to the largest element
    for (int64_t index = 0; index < type.getNumElements(); ++index)
      if (double y = getElement(expected[result], element, index); std::isfinite(y))
        scale = std::max(scale, std::abs(y));
    for (int64_t index = 0; index < type.getNumElements(); ++index) {
      double x = getElement(found[result], element, index), y = getElement(expected[result], element, index);
      bool equal =
          x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= getTolerance(element) * scale;
      ASSERT_TRUE(equal) << kernel.name << " (" << kernel.form << ") " << what << ": result " << result
                         << ", element " << index << " is " << x << ", expected " << y;
    }
  }
}

// Cuts of [0, extent); of blocks, which are few, every slice there can be.
static std::vector<std::vector<int64_t>> getCuts(const CompiledKernel &kernel) {
  int64_t extent = kernel.extent;
  std::vector<std::vector<int64_t>> cuts = {{0, extent}};
  if (extent > 1)
    cuts.push_back({0, 1, extent});
  if (extent > 7)
    cuts.push_back({0, extent / 3, extent / 3, extent / 2 + 1, extent - 1, extent});
  if (kernel.form != "column" && kernel.form != "transpose")
    return cuts;
  for (int64_t begin = 0; begin < extent; ++begin)
    for (int64_t end = begin + 1; end <= extent; ++end)
      cuts.push_back({0, begin, end, extent});
  return cuts;
}

bool mlir::epl::test::canExecute(StringRef cpu) {
  CpuTarget level = *getCpuTarget(cpu), host = *getCpuTarget("host");
  return llvm::all_of(level.features, [&](StringRef feature) { return host.has(feature); });
}

// Runs each kernel of `chosen` by `check`, which gets its inputs and what they make.
using Check = llvm::function_ref<void(const CompiledKernel &, const std::vector<Bytes> &inputs,
                                      const std::vector<Bytes> &expected)>;

static void checkKernels(const std::string &text, const CompiledKernels &chosen, const FormChecks &checks,
                         Check check) {
  CodegenOptions loops;
  loops.loops = true;
  CompiledKernels reference(text, loops);
  std::mt19937 engine(checks.seed);
  for (const CompiledKernel &kernel : chosen.getKernels())
    for (bool special : {false, checks.withSpecial}) {
      std::vector<Bytes> inputs;
      for (RankedTensorType type : kernel.inputs)
        inputs.push_back(makeRandom(type, engine, special));
      const CompiledKernel &slow = reference.get(kernel.name);
      std::vector<Bytes> expected = slow.run(inputs, {0, slow.extent});
      check(kernel, inputs, expected);
      EXPECT_TRUE(checks.form.empty() || kernel.form == checks.form) << kernel.name << " is " << kernel.form;
    }
}

void mlir::epl::test::checkForms(const std::string &text, const std::string &cpu, const FormChecks &checks) {
  CodegenOptions vectors;
  vectors.cpu = cpu;
  checkKernels(
      text, CompiledKernels(text, vectors), checks,
      [](const CompiledKernel &kernel, const std::vector<Bytes> &inputs, const std::vector<Bytes> &expected) {
        for (const std::vector<int64_t> &cuts : getCuts(kernel))
          expectEqual(kernel, kernel.run(inputs, cuts), expected, testing::PrintToString(cuts));
      });
}

void mlir::epl::test::checkFormsOnGpu(const std::string &text, const FormChecks &checks) {
  CodegenOptions gpu;
  gpu.gpu = "sm_80";
  checkKernels(
      text, CompiledKernels(text, gpu), checks,
      [](const CompiledKernel &kernel, const std::vector<Bytes> &inputs, const std::vector<Bytes> &expected) {
        for (uint64_t seed : {1, 2})
          expectEqual(kernel, kernel.runOnGpu(inputs, seed), expected,
                      "on a GPU, seed " + std::to_string(seed));
      });
}
