//===- TruncationsTest.cpp - Rows of narrow elements end where they end ----------===//
//
// Rows of one element more than a vector has: that one is stored by itself, with a mask of one lane. What is
// written behind the last row is in the guard zone of its buffer.
//
//===----------------------------------------------------------------------===//

#include "CompiledKernels.h"
#include "Forms.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::epl;
using namespace mlir::epl::test;

static constexpr const char *kTruncation = R"mlir(
epl.kernel @truncate$C fusion {
^bb0(%x: tensor<3x$Cx$FROM>):
  %zero = arith.constant $ZERO : $FROM
  %e = tensor.empty() : tensor<3x$Cx$TO>
  %er = tensor.empty() : tensor<3x$FROM>
  %i = linalg.fill ins(%zero : $FROM) outs(%er : tensor<3x$FROM>) -> tensor<3x$FROM>
  %m = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x$Cx$FROM>) outs(%i : tensor<3x$FROM>) {
  ^bb0(%in: $FROM, %out: $FROM):
    %0 = arith.$MAX %out, %in : $FROM
    linalg.yield %0 : $FROM
  } -> tensor<3x$FROM>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x$Cx$FROM>) outs(%e : tensor<3x$Cx$TO>) {
  ^bb0(%in: $FROM, %out: $TO):
    %0 = arith.$OP %in : $FROM to $TO
    linalg.yield %0 : $TO
  } -> tensor<3x$Cx$TO>
  epl.yield %y, %m : tensor<3x$Cx$TO>, tensor<3x$FROM>
}
)mlir";

class TruncationsTest : public testing::TestWithParam<std::tuple<const char *, const char *>> {};

static std::string makeTruncations(const char *type) {
  bool isFloat = std::string(type).find('f') != std::string::npos;
  std::string text;
  for (int columns : {1, 2, 3, 5, 9, 17, 18, 33, 65})
    text += substitute(kTruncation, {{"C", std::to_string(columns)},
                                     {"FROM", isFloat ? "f32" : "i32"},
                                     {"TO", type},
                                     {"ZERO", isFloat ? "0.0" : "0"},
                                     {"MAX", isFloat ? "maximumf" : "maxsi"},
                                     {"OP", isFloat ? "truncf" : "trunci"}});
  return text;
}

TEST_P(TruncationsTest, StayInTheirRows) {
  auto [type, cpu] = GetParam();
  if (!canExecute(cpu))
    GTEST_SKIP() << "this machine cannot execute code for " << cpu;
  checkForms(makeTruncations(type), cpu, {.form = "row"});
}

TEST(Truncations, AreThoseOfAGpu) {
  for (const char *type : {"bf16", "f16", "i8", "i16"})
    checkFormsOnGpu(makeTruncations(type));
}

INSTANTIATE_TEST_SUITE_P(Types, TruncationsTest,
                         testing::Combine(testing::Values("bf16", "f16", "i8", "i16"),
                                          testing::ValuesIn(kLevels)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::to_string(info.index % 4 + 1);
                         });
