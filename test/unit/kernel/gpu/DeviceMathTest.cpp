//===- DeviceMathTest.cpp - Math functions of kernels on a GPU -------------------===//
//
// Each function of the math dialect, in f32 and f64, beside the C++ library in a wider type.
//
//===----------------------------------------------------------------------===//

#include "test/unit/kernel/cpu/CompiledKernels.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::epl;
using namespace mlir::epl::test;

static constexpr const char *kFunction = R"mlir(
epl.kernel @k fusion {
^bb0(%x: tensor<$Nx$T>, %y: tensor<$Nx$T>):
  %e = tensor.empty() : tensor<$Nx$T>
  %z = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x, %y : tensor<$Nx$T>, tensor<$Nx$T>) outs(%e : tensor<$Nx$T>) {
  ^bb0(%a: $T, %b: $T, %out: $T):
    %0 = $OP : $T
    linalg.yield %0 : $T
  } -> tensor<$Nx$T>
  epl.yield %z : tensor<$Nx$T>
}
)mlir";

namespace {

using Real = long double;

struct Function {
  const char *name;
  Real (*exact)(Real x, Real y);
  double low, high; // of both operands
  bool isBinary = false;
  double ulps = 4; // what libdevice's guide says for most, or less; for f32 what polynomials keep
  const char *dialect = "math";
};

void PrintTo(const Function &function, std::ostream *stream) { *stream << function.name; }

const Function kFunctions[] = {
    {"acos", [](Real x, Real) { return std::acos(x); }, -1, 1},
    {"acosh", [](Real x, Real) { return std::acosh(x); }, 1, 100},
    {"asin", [](Real x, Real) { return std::asin(x); }, -1, 1},
    {"asinh", [](Real x, Real) { return std::asinh(x); }, -100, 100},
    {"atan", [](Real x, Real) { return std::atan(x); }, -100, 100},
    {"atanh", [](Real x, Real) { return std::atanh(x); }, -0.99, 0.99},
    {"cbrt", [](Real x, Real) { return std::cbrt(x); }, -100, 100},
    {"ceil", [](Real x, Real) { return std::ceil(x); }, -10, 10},
    {"cos", [](Real x, Real) { return std::cos(x); }, -1e5, 1e5},
    {"cosh", [](Real x, Real) { return std::cosh(x); }, -20, 20},
    {"erf", [](Real x, Real) { return std::erf(x); }, -4, 4, false, 8},
    {"erfc", [](Real x, Real) { return std::erfc(x); }, -4, 4, false, 8},
    {"exp", [](Real x, Real) { return std::exp(x); }, -80, 80},
    {"exp2", [](Real x, Real) { return std::exp2(x); }, -100, 100},
    {"expm1", [](Real x, Real) { return std::expm1(x); }, -20, 20, false, 6},
    {"floor", [](Real x, Real) { return std::floor(x); }, -10, 10},
    {"log", [](Real x, Real) { return std::log(x); }, 1e-3, 1e3},
    {"log10", [](Real x, Real) { return std::log10(x); }, 1e-3, 1e3},
    {"log1p", [](Real x, Real) { return std::log1p(x); }, -0.9, 100},
    {"log2", [](Real x, Real) { return std::log2(x); }, 1e-3, 1e3},
    {"round", [](Real x, Real) { return std::round(x); }, -10, 10},
    {"roundeven", [](Real x, Real) { return std::nearbyint(x); }, -10, 10},
    {"rsqrt", [](Real x, Real) { return 1 / std::sqrt(x); }, 1e-3, 1e3},
    {"sin", [](Real x, Real) { return std::sin(x); }, -1e5, 1e5},
    {"sinh", [](Real x, Real) { return std::sinh(x); }, -20, 20},
    {"sqrt", [](Real x, Real) { return std::sqrt(x); }, 0, 1e6},
    {"tan", [](Real x, Real) { return std::tan(x); }, -100, 100},
    {"tanh", [](Real x, Real) { return std::tanh(x); }, -10, 10, false, 8},
    {"trunc", [](Real x, Real) { return std::trunc(x); }, -10, 10},
    {"atan2", [](Real x, Real y) { return std::atan2(x, y); }, -10, 10, true},
    {"copysign", [](Real x, Real y) { return std::copysign(x, y); }, -10, 10, true},
    {"powf", [](Real x, Real y) { return std::pow(x, y); }, 0.1, 20, true, 8},
    {"remf", [](Real x, Real y) { return std::fmod(x, y); }, 0.5, 100, true, 1, "arith"},
};

class DeviceMathTest : public testing::TestWithParam<Function> {};

} // namespace

template <typename T> static Bytes toBytes(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T> static void check(const Function &function, const char *type) {
  constexpr int kPoints = 501;
  std::vector<T> x, y;
  for (int i = 0; i < kPoints; ++i) {
    x.push_back(T(function.low + (function.high - function.low) * i / (kPoints - 1)));
    y.push_back(T(function.low + (function.high - function.low) * (i * 37 % kPoints) / (kPoints - 1)));
  }
  std::string op =
      std::string(function.dialect) + "." + function.name + (function.isBinary ? " %a, %b" : " %a");
  CodegenOptions options;
  options.gpu = "sm_80";
  CompiledKernels kernels(substitute(kFunction, {{"N", std::to_string(kPoints)}, {"T", type}, {"OP", op}}),
                          options);
  Bytes output = kernels.get("k").runOnGpu({toBytes(x), toBytes(y)}, /*seed=*/1)[0];
  std::vector<T> values(kPoints);
  std::memcpy(values.data(), output.data(), output.size());
  for (int i = 0; i < kPoints; ++i) {
    Real exact = function.exact(x[i], y[i]);
    Real ulp = std::nextafter(std::abs(T(exact)), T(INFINITY)) - std::abs(T(exact));
    ASSERT_LE(std::abs(values[i] - exact), function.ulps * ulp)
        << op << " of " << type << " at " << x[i] << ", " << y[i] << " is " << values[i] << ", exactly "
        << exact;
  }
}

TEST_P(DeviceMathTest, StaysWithinUlps) {
  check<float>(GetParam(), "f32");
  check<double>(GetParam(), "f64");
}

INSTANTIATE_TEST_SUITE_P(Functions, DeviceMathTest, testing::ValuesIn(kFunctions),
                         [](const auto &info) { return std::string(info.param.name); });
