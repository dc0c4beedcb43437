//===- HalfTest.cpp - Conversions of f16 with and without instructions -----------===//
//
// Every f16 extended, and values round every f16 and round the middle between two truncated, against APFloat.
//
//===----------------------------------------------------------------------===//

#include "CompiledKernels.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace mlir::epl;
using namespace mlir::epl::test;
using llvm::APFloat;

static constexpr const char *kConversion = R"mlir(
epl.kernel @convert fusion {
^bb0(%x: tensor<$Nx$FROM>):
  %e = tensor.empty() : tensor<$Nx$TO>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<$Nx$FROM>) outs(%e : tensor<$Nx$TO>) {
  ^bb0(%in: $FROM, %out: $TO):
    %0 = arith.$OP %in : $FROM to $TO
    linalg.yield %0 : $TO
  } -> tensor<$Nx$TO>
  epl.yield %y : tensor<$Nx$TO>
}
)mlir";

namespace {

class HalfTest : public testing::TestWithParam<std::string> {
protected:
  template <typename To, typename From>
  std::vector<To> convert(const std::string &op, const std::string &from, const std::string &to,
                          const std::vector<From> &values) {
    CodegenOptions options;
    options.cpu = GetParam();
    std::string count = std::to_string(values.size());
    CompiledKernels kernels(substitute(kConversion, {{"N", count}, {"FROM", from}, {"TO", to}, {"OP", op}}),
                            options);
    Bytes input(values.size() * sizeof(From));
    std::memcpy(input.data(), values.data(), input.size());
    const CompiledKernel &kernel = kernels.get("convert");
    Bytes output = kernel.run({input}, {0, kernel.extent})[0];
    std::vector<To> results(values.size());
    std::memcpy(results.data(), output.data(), output.size());
    return results;
  }
};

float extend(uint16_t half) {
  APFloat value(APFloat::IEEEhalf(), llvm::APInt(16, half));
  return value.convertToFloat();
}

uint16_t truncate(float single) {
  APFloat value(single);
  bool lost;
  value.convert(APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven, &lost);
  return uint16_t(value.bitcastToAPInt().getZExtValue());
}

} // namespace

TEST_P(HalfTest, ExtendsEveryValue) {
  std::vector<uint16_t> halves(0x10000);
  std::iota(halves.begin(), halves.end(), 0);
  std::vector<float> singles = convert<float>("extf", "f16", "f32", halves);
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    float expected = extend(uint16_t(bits));
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(singles[bits])) << bits;
    else
      ASSERT_EQ(llvm::bit_cast<uint32_t>(singles[bits]), llvm::bit_cast<uint32_t>(expected)) << bits;
  }
}

TEST_P(HalfTest, TruncatesToTheNearest) {
  std::vector<float> singles = {NAN, INFINITY, -INFINITY, 65519.99f, 65520, 1e30f, 1e-30f, -1e-30f};
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    float low = extend(uint16_t(bits)), middle = (low + extend(uint16_t(bits + 1))) / 2;
    for (float value : {low, std::nextafterf(middle, 0), middle, std::nextafterf(middle, INFINITY)})
      singles.insert(singles.end(), {value, -value});
  }
  std::vector<uint16_t> halves = convert<uint16_t>("truncf", "f32", "f16", singles);
  for (auto [single, half] : llvm::zip_equal(singles, halves)) {
    if (std::isnan(single))
      ASSERT_TRUE(std::isnan(extend(half)));
    else
      ASSERT_EQ(half, truncate(single)) << single;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpus, HalfTest, testing::Values("host", "x86-64"),
                         [](const auto &info) { return info.index == 0 ? "host" : "baseline"; });
