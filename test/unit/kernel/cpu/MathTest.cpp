//===- MathTest.cpp - Accuracy of math functions in kernels ----------------------===//

#include "CompiledKernels.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace mlir;
using namespace mlir::epl;
using namespace mlir::epl::test;

static constexpr const char *kFunction = R"mlir(
epl.kernel @$NAME fusion {
^bb0(%x: tensor<$Nxf32>):
  %e = tensor.empty() : tensor<$Nxf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<$Nxf32>) outs(%e : tensor<$Nxf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.$NAME %in : f32
    linalg.yield %0 : f32
  } -> tensor<$Nxf32>
  epl.yield %y : tensor<$Nxf32>
}
)mlir";

namespace {

struct Function {
  const char *name;
  double (*exact)(double);
  float low, high; // the interval that is swept
  double ulps;
};

void PrintTo(const Function &function, std::ostream *stream) { *stream << function.name; }

const Function kFunctions[] = {
    {"exp", std::exp, -87, 88, 2},          {"expm1", std::expm1, -20, 80, 6},
    {"tanh", std::tanh, -12, 12, 8},        {"log", std::log, 1e-30f, 1e30f, 2},
    {"log1p", std::log1p, -0.99f, 1e6f, 4}, {"erf", std::erf, -5, 5, 8},
    {"sin", std::sin, -1e4f, 1e4f, 2},      {"cos", std::cos, -1e4f, 1e4f, 2},
    {"atan", std::atan, -100, 100, 4},      {"sqrt", std::sqrt, 0, 1e6f, 1},
};

/// A function and the CPU that it is compiled for: "x86-64" has no multiply-add.
class MathTest : public testing::TestWithParam<std::tuple<Function, std::string>> {};

} // namespace

static std::vector<float> evaluate(const std::string &name, const std::string &cpu,
                                   const std::vector<float> &points) {
  std::string text = kFunction;
  for (size_t at; (at = text.find("$NAME")) != std::string::npos;)
    text.replace(at, 5, name);
  CodegenOptions options;
  options.cpu = cpu;
  CompiledKernels kernels(substitute(text, {{"N", std::to_string(points.size())}}), options);
  const CompiledKernel &kernel = kernels.get(name);
  Bytes input(points.size() * sizeof(float));
  std::memcpy(input.data(), points.data(), input.size());
  Bytes output = kernel.run({input}, {0, kernel.extent})[0];
  std::vector<float> values(points.size());
  std::memcpy(values.data(), output.data(), output.size());
  return values;
}

TEST_P(MathTest, StaysWithinUlps) {
  auto [function, cpu] = GetParam();
  constexpr int kPoints = 10007; // the last vector is masked
  std::vector<float> points;
  for (int i = 0; i < kPoints; ++i)
    points.push_back(function.low + (function.high - function.low) * (float(i) / (kPoints - 1)));
  std::vector<float> values = evaluate(function.name, cpu, points);
  for (int i = 0; i < kPoints; ++i) {
    double exact = function.exact(points[i]);
    double ulp = std::nextafter(std::abs(float(exact)), INFINITY) - std::abs(float(exact));
    ASSERT_LE(std::abs(values[i] - exact), function.ulps * ulp) << function.name << "(" << points[i] << ")";
  }
}

TEST_P(MathTest, PassesNanAndInfinity) {
  auto [function, cpu] = GetParam();
  std::vector<float> points = {NAN, INFINITY, -INFINITY, 0};
  std::vector<float> values = evaluate(function.name, cpu, points);
  for (size_t i = 0; i < points.size(); ++i) {
    float exact = float(function.exact(points[i]));
    if (std::isnan(exact))
      EXPECT_TRUE(std::isnan(values[i])) << function.name << "(" << points[i] << ") is " << values[i];
    else
      EXPECT_EQ(values[i], exact) << function.name << "(" << points[i] << ")";
  }
}

static std::string getTestName(const testing::TestParamInfo<MathTest::ParamType> &info) {
  auto [function, cpu] = info.param;
  return std::string(function.name) + (cpu == "host" ? "" : "_baseline");
}

INSTANTIATE_TEST_SUITE_P(Functions, MathTest,
                         testing::Combine(testing::ValuesIn(kFunctions), testing::Values("host", "x86-64")),
                         getTestName);
