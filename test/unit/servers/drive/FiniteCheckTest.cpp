// Gradients that are not finite, of each type of floats.

#include "runtime/servers/drive/FiniteCheck.h"

#include "runtime/Error.h"
#include "test/unit/servers/RowDescent.h"
#include "test/unit/servers/drive/Cluster.h"
#include "test/unit/session/Tensors.h"

#include <gmock/gmock.h>
#include <limits>

namespace epl::runtime::servers::test {
namespace {

using plan::ElementType;
using runtime::test::tensor;
using testing::StrEq;
using testing::ThrowsMessage;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::shared_ptr<const Job> jobOf(std::shared_ptr<manifest::ManifestT> manifest) {
  return std::make_shared<Job>(std::move(*manifest));
}

/// A job with the parameter "w".
std::shared_ptr<const Job> denseJob() {
  auto made = std::make_shared<manifest::ManifestT>();
  made->parameters.push_back(std::make_unique<manifest::ParameterT>());
  made->parameters.back()->name = "w";
  return jobOf(made);
}

struct Case {
  const char *name;
  HostTensor push;
  const char *expected; // value and place; null: all is finite
};

void PrintTo(const Case &each, std::ostream *os) { *os << each.name; }

class FiniteCheckTest : public testing::TestWithParam<Case> {};

TEST_P(FiniteCheckTest, NamesTheParameterTheValueAndThePlace) {
  const Case &each = GetParam();
  auto check = [&] { checkFinite(*denseJob(), 0, {each.push}); };
  if (!each.expected) {
    EXPECT_NO_THROW(check());
    return;
  }
  EXPECT_THAT(check, ThrowsMessage<Error>(StrEq("what is pushed for \"w\" is " + std::string(each.expected) +
                                                ", expected finite numbers")));
}

INSTANTIATE_TEST_SUITE_P(
    Types, FiniteCheckTest,
    testing::Values(
        Case{"f32", tensor<float>(ElementType::f32, {2, 3}, {1, 2, 3, 4, kNan, kInfinity}), "nan at [1, 1]"},
        Case{"scalar", tensor<float>(ElementType::f32, {}, {-kInfinity}), "-inf at []"},
        Case{"largest", tensor<float>(ElementType::f32, {2}, {std::numeric_limits<float>::max(), -0.0F}),
             nullptr},
        Case{"f64", tensor<double>(ElementType::f64, {3}, {0, 1e308, double(kInfinity)}), "inf at [2]"},
        Case{"f16", tensor<uint16_t>(ElementType::f16, {2}, {0x7bff, 0xfc01}), "nan at [1]"},
        Case{"bf16", tensor<uint16_t>(ElementType::bf16, {2}, {0x7f7f, 0xff80}), "-inf at [1]"},
        Case{"f16 that bf16 would take for infinite", tensor<uint16_t>(ElementType::f16, {1}, {0x7b80}),
             nullptr},
        Case{"integers", tensor<int32_t>(ElementType::i32, {1}, {0x7f800000}), nullptr},
        Case{"none", tensor<float>(ElementType::f32, {0, 4}, {}), nullptr}));

TEST(FiniteCheckTest, OfATableAnIdIsNamed) {
  auto job = jobOf(rowDescentManifest({.dim = 2}));
  const std::vector<int64_t> ids = {-1, 7, 7};
  auto check = [&](std::vector<float> gradients) {
    RowGradients rows{0, {ids}, {tensor(ElementType::f32, {3, 2}, gradients)}, -1};
    checkFinite(*job, std::span(&rows, 1));
  };
  EXPECT_NO_THROW(check({kNan, kNan, 1, 2, 3, 4})); // of padding
  EXPECT_THAT([&] { check({kNan, 0, 1, 2, 3, kInfinity}); },
              ThrowsMessage<Error>(testing::HasSubstr("for id 7 of table \"user\" is inf at [1]")));
}

} // namespace
} // namespace epl::runtime::servers::test
