// Attention by the stand-in of cuDNN beside plain loops.

#include "runtime/device/cuda/attention/AttentionGradient.h"

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
  void compareGradient(const AttentionShape &shape, const AttentionTensor &dO);

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
  std::vector<uint16_t> found = get<uint16_t>(operands.o, o.size());
  auto [samples, heads, queries, width] = shape.o.extents;
  int64_t keys = shape.k.extents[2], depth = shape.q.extents[3], group = heads / shape.k.extents[1];
  for (int64_t b = 0; b < samples; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < queries; ++i) {
        std::vector<double> weights;
        double sum = 0;
        for (int64_t j = 0; j < (shape.isCausal ? std::min(i + 1, keys) : keys); ++j) {
          double score = 0;
          for (int64_t e = 0; e < depth; ++e)
            score +=
                double(widen(q[at(shape.q, b, h, i, e)])) * double(widen(k[at(shape.k, b, h / group, j, e)]));
          weights.push_back(std::exp(score * double(shape.scale)));
          sum += weights.back();
        }
        for (int64_t e = 0; e < width; ++e) {
          double expected = 0;
          for (size_t j = 0; j < weights.size(); ++j)
            expected += weights[j] / sum * double(widen(v[at(shape.v, b, h / group, int64_t(j), e)]));
          // The weights, and the result, have 8 bits.
          EXPECT_NEAR(double(widen(found[at(shape.o, b, h, i, e)])), expected, 0x1p-7) << textOf(shape);
        }
      }
}

/// dq, dk and dv by loops, of the attention's call before.
void AttentionOfACard::compareGradient(const AttentionShape &shape, const AttentionTensor &dO) {
  AttentionGradientShape gradient{shape, dO, shape.q, shape.k, shape.v};
  std::vector<uint16_t> q = draw(shape.q), k = draw(shape.k), v = draw(shape.v), o = draw(shape.o),
                        back = draw(dO);
  auto [samples, heads, queries, depth] = shape.q.extents;
  int64_t keys = shape.k.extents[2], width = shape.v.extents[3];
  std::vector<float> rows(size_t(samples * heads * queries));
  AttentionOperands forward{put(q), put(k), put(v), put(o), put(rows)};
  AttentionGradientOperands operands{forward.q, forward.k, forward.v, forward.o, forward.stats,
                                     put(back), put(q),    put(k),    put(v)};
  std::optional<AttentionCall> call = AttentionCall::make(library, shape, forward);
  std::optional<AttentionGradientCall> then = AttentionGradientCall::make(library, gradient, operands);
  ASSERT_TRUE(call && then) << textOf(gradient);
  CUdeviceptr workspace = put(std::vector<char>(std::max(call->workspaceBytes(), then->workspaceBytes())));
  call->enqueue(workspace, cards->steps());
  then->enqueue(workspace, cards->steps());
  wait(cards->steps());
  std::vector<uint16_t> dq = get<uint16_t>(operands.dq, q.size()), dk = get<uint16_t>(operands.dk, k.size()),
                        dv = get<uint16_t>(operands.dv, v.size());
  auto number = [](const std::vector<uint16_t> &from, const AttentionTensor &tensor, int64_t b, int64_t h,
                   int64_t i, int64_t e) { return double(widen(from[at(tensor, b, h, i, e)])); };
  int64_t groups = shape.k.extents[1], group = heads / groups;
  for (int64_t b = 0; b < samples; ++b)
    for (int64_t g = 0; g < groups; ++g) {
      std::vector<double> ofK(size_t(keys * depth)), ofV(size_t(keys * width));
      for (int64_t h = g * group; h < (g + 1) * group; ++h) {
        std::vector<double> ofQ(size_t(queries * depth));
        for (int64_t i = 0; i < queries; ++i) {
          std::vector<double> p, dp;
          double all = 0, mean = 0;
          for (int64_t j = 0; j < (shape.isCausal ? std::min(i + 1, keys) : keys); ++j) {
            double score = 0, product = 0;
            for (int64_t e = 0; e < depth; ++e)
              score += number(q, shape.q, b, h, i, e) * number(k, shape.k, b, g, j, e);
            for (int64_t e = 0; e < width; ++e)
              product += number(back, dO, b, h, i, e) * number(v, shape.v, b, g, j, e);
            p.push_back(std::exp(score * double(shape.scale)));
            dp.push_back(product);
            all += p.back();
          }
          for (size_t j = 0; j < p.size(); ++j)
            mean += (p[j] /= all) * dp[j];
          for (int64_t j = 0; j < int64_t(p.size()); ++j) {
            double ds = p[size_t(j)] * (dp[size_t(j)] - mean) * double(shape.scale);
            for (int64_t e = 0; e < depth; ++e) {
              ofQ[size_t(i * depth + e)] += ds * number(k, shape.k, b, g, j, e);
              ofK[size_t(j * depth + e)] += ds * number(q, shape.q, b, h, i, e);
            }
            for (int64_t e = 0; e < width; ++e)
              ofV[size_t(j * width + e)] += p[size_t(j)] * number(back, dO, b, h, i, e);
          }
        }
        // Weights, gradients of scores and results have 8 bits, o has, too.
        for (int64_t i = 0; i < queries * depth; ++i)
          EXPECT_NEAR(number(dq, shape.q, b, h, i / depth, i % depth), ofQ[size_t(i)], 0x1p-5)
              << textOf(gradient);
      }
      // So has what each head of a group adds to these.
      for (int64_t i = 0; i < keys * depth; ++i)
        EXPECT_NEAR(number(dk, shape.k, b, g, i / depth, i % depth), ofK[size_t(i)], 0x1p-5 * double(group))
            << textOf(gradient);
      for (int64_t i = 0; i < keys * width; ++i)
        EXPECT_NEAR(number(dv, shape.v, b, g, i / width, i % width), ofV[size_t(i)], 0x1p-5 * double(group))
            << textOf(gradient);
    }
}

constexpr std::array<size_t, 4> kHeadsInside{0, 2, 1, 3}, kHeadsOutside{0, 1, 2, 3};

/// Attention of several extents and orders in memory, each with the order of its q and v.
template <typename Function> void forEachShape(const Function &function) {
  for (bool isCausal : {false, true})
    for (auto order : {kHeadsInside, kHeadsOutside})
      for (auto [heads, ofKeys] : {std::pair(3, 3), std::pair(4, 2), std::pair(3, 1)})
        for (auto [queries, keys] : {std::pair(6, 6), std::pair(3, 7), std::pair(9, 4)}) {
          AttentionTensor q = tensorOf({2, heads, queries, 8}, order),
                          k = tensorOf({2, ofKeys, keys, 8}, kHeadsInside),
                          v = tensorOf({2, ofKeys, keys, 16}, order),
                          o = tensorOf({2, heads, queries, 16}, kHeadsInside);
          function(AttentionShape{plan::ElementType::bf16, q, k, v, o, 0.5F, isCausal}, order);
        }
}

TEST_F(AttentionOfACard, IsThatOfLoops) {
  ASSERT_TRUE(library);
  eplCudaRestart(1);
  forEachShape([&](const AttentionShape &shape, const auto &) { compare(shape); });
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

TEST_F(AttentionOfACard, HasTheGradientOfLoops) {
  ASSERT_TRUE(library);
  eplCudaRestart(1);
  forEachShape([&](const AttentionShape &shape, const auto &order) {
    compareGradient(shape, tensorOf(shape.o.extents, order));
  });
  EXPECT_EQ(eplCudaCountFindings(), 0U) << eplCudaGetFinding(0);
}

/// What the library has for the gradient of attention of some extents, at addresses that need not be there.
std::optional<AttentionGradientCall> gradientCallFor(const std::shared_ptr<const CudnnLibrary> &library,
                                                     int64_t length, int64_t width, bool isCausal = true,
                                                     int64_t group = 1) {
  AttentionTensor queries = tensorOf({2, 2 * group, length, width}, kHeadsInside),
                  keys = tensorOf({2, 2, length, width}, kHeadsInside);
  AttentionShape shape{plan::ElementType::bf16, queries, keys, keys, queries, 1, isCausal};
  return AttentionGradientCall::make(library, {shape, queries, queries, keys, keys},
                                     {256, 256, 256, 256, 256, 256, 256, 256, 256});
}

/// Of head sizes that it has no gradient for it has attention, but no more.
TEST_F(AttentionOfACard, HasGradientsOfUsualHeads) {
  for (int64_t width : {8, 16, 24, 64, 128, 136, 256})
    for (bool isCausal : {false, true})
      for (int64_t group : {1, 4})
        EXPECT_TRUE(gradientCallFor(library, 32, width, isCausal, group)) << width << " by " << group;
  for (int64_t width : {12, 264})
    EXPECT_FALSE(gradientCallFor(library, 32, width)) << width;
}

/// A workspace above the usual bound is taken where the gradients of the scores would be larger.
TEST_F(AttentionOfACard, HasGradientsOfLongSequences) {
  std::optional<AttentionGradientCall> call = gradientCallFor(library, 3072, 64);
  ASSERT_TRUE(call);
  EXPECT_GT(call->workspaceBytes(), size_t(64) << 20);
  EXPECT_LT(call->workspaceBytes(), size_t(6 * 2 * 2) * 3072 * 3072);
}

TEST_F(AttentionOfACard, IsNotTakenOfOddHeads) {
  EXPECT_EQ(choiceFor(library, plan::ElementType::bf16, 12, true), nullptr);
  EXPECT_NE(choiceFor(library, plan::ElementType::bf16, 264, true), nullptr);
}

} // namespace
} // namespace epl::runtime::cuda
