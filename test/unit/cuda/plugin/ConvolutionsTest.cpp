// Convolutions by the stand-in of cuDNN beside plain loops, on integers: bit by bit.

#include "runtime/device/cuda/convolutions/Convolutions.h"

#include "runtime/plan/model/Convolutions.h"
#include "test/cuda/driver/Control.h"
#include "test/unit/cuda/card/Card.h"

#include <gtest/gtest.h>

#include <random>

namespace epl::runtime::cuda {
namespace {

using plan::ConvolutionTensor;

/// A card, and the library on it.
class Convolutions : public test::CardTest {
protected:
  Convolutions() { library = CudnnLibrary::open(cards, 0); }

  template <typename T> void compare(const plan::ConvolutionT &convolution, uint64_t seed);

  std::shared_ptr<const CudnnLibrary> library;
};

/// Elements from the first to the last that a tensor has.
int64_t sizeOf(const ConvolutionView &view) {
  int64_t last = 0;
  for (size_t dim = 0; dim < view.extents.size(); ++dim)
    last += (view.extents[dim] - 1) * view.strides[dim];
  return last + 1;
}

/// Calls `visit` with all positions of some extents.
template <typename Visit> void forAll(const std::vector<int64_t> &extents, Visit visit) {
  std::vector<int64_t> at(extents.size(), 0);
  for (bool isMore = true; isMore;) {
    visit(at);
    isMore = false;
    for (size_t dim = extents.size(); dim-- > 0 && !isMore;) {
      isMore = ++at[dim] < extents[dim];
      at[dim] = isMore ? at[dim] : 0;
    }
  }
}

int64_t offsetIn(const ConvolutionView &view, std::vector<int64_t> at) {
  int64_t offset = 0;
  for (size_t dim = 0; dim < at.size(); ++dim)
    offset += at[dim] * view.strides[dim];
  return offset;
}

/// Calls `visit` with where each product of a convolution has its elements in image, filter and output.
template <typename Visit> void forProducts(const plan::ConvolutionT &c, Visit visit) {
  ConvolutionView image = viewOf(c, ConvolutionTensor::image), filter = viewOf(c, ConvolutionTensor::filter),
                  output = viewOf(c, ConvolutionTensor::output);
  int64_t channels = c.channels.extent(), features = c.features.extent();
  std::vector<int64_t> extents = output.extents;
  extents.insert(extents.end(), filter.extents.begin() + 1, filter.extents.end());
  forAll(extents, [&](const std::vector<int64_t> &at) {
    size_t numAxes = c.axes.size();
    std::vector<int64_t> inOutput(at.begin(), at.begin() + 2 + long(numAxes));
    std::vector<int64_t> inFilter = {at[1]}, inImage = {at[0], at[1] / features * channels + at[2 + numAxes]};
    inFilter.insert(inFilter.end(), at.begin() + 2 + long(numAxes), at.end());
    for (size_t axis = 0; axis < numAxes; ++axis) {
      const plan::ConvolutionAxis &a = c.axes[axis];
      int64_t tap = inFilter[2 + axis];
      inImage.push_back(inOutput[2 + axis] * a.stride() - a.before() +
                        (c.flips ? a.taps() - 1 - tap : tap) * a.dilation());
      if (inImage.back() < 0 || inImage.back() >= a.image())
        return;
    }
    visit(offsetIn(image, inImage), offsetIn(filter, inFilter), offsetIn(output, inOutput));
  });
}

template <typename T> void Convolutions::compare(const plan::ConvolutionT &convolution, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::array<std::vector<T>, 3> tensors;
  for (ConvolutionTensor tensor : plan::EnumValuesConvolutionTensor())
    for (int64_t i = sizeOf(viewOf(convolution, tensor)); i-- > 0;)
      tensors[size_t(tensor)].push_back(T(int64_t(random() % 7) - 3));
  auto written = size_t(convolution.writes);
  std::vector<T> expected = tensors[written];
  ConvolutionView view = viewOf(convolution, convolution.writes);
  if (!convolution.accumulate)
    forAll(view.extents,
           [&](const std::vector<int64_t> &at) { expected[size_t(offsetIn(view, at))] = T(0); });
  forProducts(convolution, [&](int64_t image, int64_t filter, int64_t output) {
    const std::array<int64_t, 3> at = {image, filter, output};
    T product = T(1);
    for (size_t tensor = 0; tensor < 3; ++tensor)
      product *= tensor == written ? T(1) : tensors[tensor][size_t(at[tensor])];
    expected[size_t(at[written])] += product;
  });

  ConvolutionOperands operands{put(tensors[0]), put(tensors[1]), put(tensors[2])};
  std::optional<ConvolutionCall> call = ConvolutionCall::make(library, convolution, operands, seed % 2);
  ASSERT_TRUE(call) << seed;
  CUdeviceptr workspace = put(std::vector<char>(call->workspaceBytes()));
  call->enqueue(workspace, cards->steps());
  wait(cards->steps());
  EXPECT_EQ(get<T>(operands[written], expected.size()), expected) << seed << ": " << textOf(convolution);
}

/// Strides of three tensors that are dense, from the outermost dimension on, in an order by chance.
class Dense {
public:
  explicit Dense(std::mt19937_64 &random) : random(random) {}

  /// A dimension of tensors in which it has extents; 0 where they lack it.
  void add(std::array<int64_t, 3> extents, std::array<int64_t *, 3> strides) {
    dims.push_back({extents, strides});
  }
  void setStrides() {
    for (size_t tensor = 0; tensor < 3; ++tensor) {
      std::shuffle(dims.begin(), dims.end(), random);
      int64_t stride = 1;
      for (auto &[extents, strides] : dims)
        if (extents[tensor] > 0) {
          *strides[tensor] = stride;
          stride *= extents[tensor];
        }
    }
  }

private:
  std::mt19937_64 &random;
  std::vector<std::pair<std::array<int64_t, 3>, std::array<int64_t *, 3>>> dims;
};

plan::ConvolutionT draw(uint64_t seed, plan::ElementType type) {
  std::mt19937_64 random(seed);
  auto upTo = [&](int64_t most) { return int64_t(random() % uint64_t(most)) + 1; };
  plan::ConvolutionT made;
  made.type = made.result = type;
  made.writes = plan::EnumValuesConvolutionTensor()[random() % 3];
  made.flips = random() % 2, made.accumulate = random() % 2;
  int64_t n = upTo(3), groups = random() % 3 == 0 ? 2 : 1, c = upTo(3), k = upTo(3);
  std::array<std::array<int64_t, 3>, 6> strides{}; // of n, all channels, all features, axes
  std::array<int64_t, 3> features{};
  Dense dense(random);
  auto at = [](std::array<int64_t, 3> &of) { return std::array<int64_t *, 3>{&of[0], &of[1], &of[2]}; };
  dense.add({n, 0, n}, at(strides[0]));
  dense.add({groups * c, c, 0}, at(strides[1]));
  dense.add({0, groups * k, groups * k}, at(features));
  size_t numAxes = size_t(upTo(3));
  std::vector<std::array<int64_t, 7>> axes;
  for (size_t axis = 0; axis < numAxes; ++axis) {
    int64_t taps = upTo(3), outputs = upTo(4), stride = upTo(2), dilation = upTo(2),
            before = int64_t(random() % 3), after = int64_t(random() % 3);
    int64_t image = (outputs - 1) * stride + (taps - 1) * dilation + 1 - before - after;
    if (image < 1)
      image += before + after, before = after = 0;
    image += int64_t(random() % uint64_t(stride)); // what no tap meets
    axes.push_back({image, taps, outputs, stride, dilation, before, after});
    dense.add({image, taps, outputs}, at(strides[3 + axis]));
  }
  dense.setStrides();
  made.samples = {n, strides[0][0], 0, strides[0][2]};
  made.groups = {groups, c * strides[1][0], k * features[1], k * features[2]};
  made.channels = {c, strides[1][0], strides[1][1], 0};
  made.features = {k, 0, features[1], features[2]};
  for (size_t axis = 0; axis < numAxes; ++axis) {
    auto [image, taps, outputs, stride, dilation, before, after] = axes[axis];
    const std::array<int64_t, 3> &by = strides[3 + axis];
    made.axes.emplace_back(image, taps, outputs, by[0], by[1], by[2], stride, dilation, before, after);
  }
  return made;
}

TEST_F(Convolutions, AreThoseOfLoops) {
  ASSERT_TRUE(library);
  eplCudaRestart(1);
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    compare<float>(draw(seed, plan::ElementType::f32), seed);
  }
  for (uint64_t seed = 0; seed < 30; ++seed)
    compare<double>(draw(seed, plan::ElementType::f64), seed);
  EXPECT_EQ(eplCudaCountFindings(), 0U) << eplCudaGetFinding(0);
}

/// What the library has for tensors at addresses that need not be there.
const void *choiceFor(const std::shared_ptr<const CudnnLibrary> &library,
                      const plan::ConvolutionT &convolution, const ConvolutionOperands &operands,
                      bool isShort = false) {
  std::optional<ConvolutionCall> call = ConvolutionCall::make(library, convolution, operands, isShort);
  return call ? call->choice() : nullptr;
}

TEST_F(Convolutions, AreAskedForOnce) {
  plan::ConvolutionT one = draw(3, plan::ElementType::f32), other = draw(4, plan::ElementType::f32);
  const void *choice = choiceFor(library, one, {256, 256, 256});
  EXPECT_NE(choice, nullptr);
  EXPECT_EQ(choiceFor(library, one, {256, 512, 256}), choice);
  EXPECT_NE(choiceFor(library, one, {16, 256, 256}), choice);
  EXPECT_NE(choiceFor(library, other, {256, 256, 256}), choice);
  EXPECT_NE(choiceFor(library, one, {256, 256, 256}, true), choice);
}

TEST_F(Convolutions, AreNotTakenInTypesThatTheLibraryLacks) {
  plan::ConvolutionT convolution = draw(3, plan::ElementType::f32);
  convolution.type = plan::ElementType::bf16; // its result would be f32
  EXPECT_EQ(choiceFor(library, convolution, {256, 256, 256}), nullptr);
}

} // namespace
} // namespace epl::runtime::cuda
