// Attention by the stand-in of cuDNN beside plain loops.

#include "runtime/device/cuda/attention/Attention.h"

#include "test/cuda/driver/Control.h"
#include "test/unit/cuda/card/Card.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace epl::runtime::cuda {
namespace {

/// bf16 of a float that has no more than its bits, and back.
uint16_t narrow(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float widen(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// A tensor whose dimensions lie in memory in an order; the last one innermost.
AttentionTensor tensorOf(std::array<int64_t, 4> extents, std::array<size_t, 4> order) {
  AttentionTensor made{0, extents, {}};
  int64_t stride = 1;
  for (size_t i = 4; i-- > 0;) {
    made.strides[order[i]] = stride;
    stride *= extents[order[i]];
  }
  return made;
}

int64_t sizeOf(const AttentionTensor &tensor) {
  int64_t size = 1;
  for (int64_t extent : tensor.extents)
    size *= extent;
  return size;
}

size_t at(const AttentionTensor &tensor, int64_t sample, int64_t head, int64_t position, int64_t element) {
  return size_t(sample * tensor.strides[0] + head * tensor.strides[1] + position * tensor.strides[2] +
                element * tensor.strides[3]);
}

class AttentionOfACard : public test::CardTest {
protected:
  AttentionOfACard() { library = CudnnLibrary::open(cards, 0); }

  std::vector<uint16_t> draw(const AttentionTensor &tensor) {
    std::vector<uint16_t> made;
    for (int64_t i = sizeOf(tensor); i-- > 0;)
      made.push_back(narrow(float(int64_t(random() % 9) - 4) / 4));
    return made;
  }

  void compare(const AttentionShape &shape);

  std::shared_ptr<const CudnnLibrary> library;
  std::mt19937_64 random{7};
};

void AttentionOfACard::compare(const AttentionShape &shape) {
  std::vector<uint16_t> q = draw(shape.q), k = draw(shape.k), v = draw(shape.v), o = draw(shape.o);
  AttentionOperands operands{put(q), put(k), put(v), put(o)};
  std::optional<AttentionCall> call = AttentionCall::make(library, shape, operands);
  ASSERT_TRUE(call) << textOf(shape);
  CUdeviceptr workspace = put(std::vector<char>(call->workspaceBytes()));
  call->enqueue(workspace, cards->steps());
  wait(cards->steps());
  std::vector<uint16_t> found = get<uint16_t>(operands[3], o.size());
  auto [samples, heads, queries, width] = shape.o.extents;
  int64_t keys = shape.k.extents[2], depth = shape.q.extents[3];
  for (int64_t b = 0; b < samples; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < queries; ++i) {
        std::vector<double> weights;
        double sum = 0;
        for (int64_t j = 0; j < (shape.isCausal ? std::min(i + 1, keys) : keys); ++j) {
          double score = 0;
          for (int64_t e = 0; e < depth; ++e)
            score += double(widen(q[at(shape.q, b, h, i, e)])) * double(widen(k[at(shape.k, b, h, j, e)]));
          weights.push_back(std::exp(score * double(shape.scale)));
          sum += weights.back();
        }
        for (int64_t e = 0; e < width; ++e) {
          double expected = 0;
          for (size_t j = 0; j < weights.size(); ++j)
            expected += weights[j] / sum * double(widen(v[at(shape.v, b, h, int64_t(j), e)]));
          // The weights, and the result, have 8 bits.
          EXPECT_NEAR(double(widen(found[at(shape.o, b, h, i, e)])), expected, 0x1p-7) << textOf(shape);
        }
      }
}

constexpr std::array<size_t, 4> kHeadsInside{0, 2, 1, 3}, kHeadsOutside{0, 1, 2, 3};

TEST_F(AttentionOfACard, IsThatOfLoops) {
  ASSERT_TRUE(library);
  eplCudaRestart(1);
  for (bool isCausal : {false, true})
    for (auto order : {kHeadsInside, kHeadsOutside})
      for (auto [queries, keys] : {std::pair(6, 6), std::pair(3, 7), std::pair(9, 4)}) {
        AttentionTensor q = tensorOf({2, 3, queries, 8}, order), k = tensorOf({2, 3, keys, 8}, kHeadsInside),
                        v = tensorOf({2, 3, keys, 16}, order),
                        o = tensorOf({2, 3, queries, 16}, kHeadsInside);
        compare({plan::ElementType::bf16, q, k, v, o, 0.5F, isCausal});
      }
  EXPECT_EQ(eplCudaCountFindings(), 0U) << eplCudaGetFinding(0);
}

/// What a library has for some tensors, at addresses that need not be there.
const void *choiceFor(const std::shared_ptr<const CudnnLibrary> &library, plan::ElementType type,
                      int64_t width, bool isCausal, CUdeviceptr address = 256) {
  AttentionTensor tensor = tensorOf({2, 3, 4, width}, kHeadsInside);
  std::optional<AttentionCall> call = AttentionCall::make(
      library, {type, tensor, tensor, tensor, tensor, 1, isCausal}, {address, 256, 256, 256});
  return call ? call->choice() : nullptr;
}

TEST_F(AttentionOfACard, IsAskedForOnce) {
  using plan::ElementType;
  const void *one = choiceFor(library, ElementType::bf16, 16, true);
  EXPECT_NE(one, nullptr);
  EXPECT_EQ(choiceFor(library, ElementType::bf16, 16, true), one);
  EXPECT_NE(choiceFor(library, ElementType::bf16, 16, false), one);
  EXPECT_NE(choiceFor(library, ElementType::f16, 16, true), one);
  EXPECT_NE(choiceFor(library, ElementType::bf16, 16, true, 32), one);
}

TEST_F(AttentionOfACard, IsNotTakenOfOddHeads) {
  EXPECT_EQ(choiceFor(library, plan::ElementType::bf16, 12, true), nullptr);
  EXPECT_NE(choiceFor(library, plan::ElementType::bf16, 264, true), nullptr);
}

} // namespace
} // namespace epl::runtime::cuda
