#include "runtime/plan/model/Convolutions.h"

#include <gtest/gtest.h>

#include <functional>

namespace epl::runtime {
namespace {

using plan::ConvolutionTensor;

/// Two groups of 2 channels and 3 features, images of 5 x 4 with their channels last, filters of 3 x 1 taps;
/// along the first axis a stride of 2 and a zero before.
plan::KernelT kernel() {
  plan::KernelT made;
  made.num_inputs = 2, made.num_outputs = 1;
  made.convolution = std::make_unique<plan::ConvolutionT>();
  plan::ConvolutionT &c = *made.convolution;
  c.writes = ConvolutionTensor::output;
  c.type = c.result = plan::ElementType::f32;
  c.image = 0, c.filter = 1, c.output = 2;
  c.samples = {8, 80, 0, 48};
  c.groups = {2, 2, 18, 3};
  c.channels = {2, 1, 1, 0};
  c.features = {3, 0, 6, 1};
  c.axes.emplace_back(5, 3, 2, 16, 2, 24, 2, 1, 1, 0);
  c.axes.emplace_back(4, 1, 4, 4, 0, 6, 1, 1, 0, 0);
  made.operand_sizes = {4 * 8 * 80, 4 * 36, 4 * 8 * 48};
  return made;
}

TEST(Convolutions, AreTensorsOfALibrary) {
  plan::KernelT made = kernel();
  EXPECT_EQ(faultOfConvolution(made), "");
  ConvolutionView filter = viewOf(*made.convolution, ConvolutionTensor::filter);
  EXPECT_EQ(filter.extents, (std::vector<int64_t>{6, 2, 3, 1}));
  EXPECT_EQ(filter.strides,
            (std::vector<int64_t>{6, 1, 2, 6})); // what nobody steps by, is as if it were dense
  EXPECT_EQ(textOf(*made.convolution), "output of image 0 f32[8x4x5x4] by 80x1x16x4, filter 1 f32[6x2x3x1] "
                                       "by 6x1x2x6, output 2 f32[8x6x2x4] by "
                                       "48x1x24x6, groups 2 stride 2x1 dilation 1x1 zeros 1x0 0x0");
}

TEST(Convolutions, OfSingleChannelsStepByGroups) {
  plan::KernelT made = kernel();
  plan::ConvolutionT &c = *made.convolution;
  c.channels = {1, 0, 0, 0}, c.features = {1, 0, 0, 0};
  c.groups = {4, 1, 1, 1};
  EXPECT_EQ(viewOf(c, ConvolutionTensor::image).strides[1], 1);
  EXPECT_EQ(viewOf(c, ConvolutionTensor::filter).extents, (std::vector<int64_t>{4, 1, 3, 1}));
  EXPECT_EQ(viewOf(c, ConvolutionTensor::filter).strides[0], 1);
}

TEST(Convolutions, OfNarrowFloatsAreWidenedInTheWorkspace) {
  plan::KernelT made = kernel();
  made.convolution->type = plan::ElementType::bf16;
  made.operand_sizes = {2 * 8 * 80, 2 * 36, 4 * 8 * 48};
  WidenedTensors widened = widenedOf(made);
  EXPECT_EQ(widened.bytes, (std::array<uint64_t, 3>{4 * 8 * 80, 4 * 36, 0}));
  EXPECT_EQ(widened.offsets, (std::array<uint64_t, 3>{0, 2560, 0}));
  EXPECT_EQ(widened.size, 2560U + 256U);
  EXPECT_EQ(faultOfConvolution(made), "the convolution is widened in a workspace of 0 bytes, expected 2816");
  made.workspace = 2816;
  EXPECT_EQ(faultOfConvolution(made), "");
}

struct Case {
  const char *name;
  std::function<void(plan::KernelT &, plan::ConvolutionT &)> change;
  std::string fault;
};

class ConvolutionFaults : public testing::TestWithParam<Case> {};

TEST_P(ConvolutionFaults, AreNamed) {
  plan::KernelT made = kernel();
  GetParam().change(made, *made.convolution);
  EXPECT_EQ(faultOfConvolution(made), GetParam().fault);
}

void setAxis(plan::ConvolutionT &c, int64_t image, int64_t outputs, int64_t stride) {
  c.axes[0] = {image, 3, outputs, 16, 2, 24, stride, 1, 1, 0};
}

const Case kCases[] = {
    {"NoAxes", [](auto &, auto &c) { c.axes.clear(); }, "the convolution has 0 axes, expected 1 to 3"},
    {"FourAxes", [](auto &, auto &c) { c.axes.resize(4, c.axes[1]); },
     "the convolution has 4 axes, expected 1 to 3"},
    {"NegativeStride", [](auto &, auto &c) { c.samples = {8, -80, 0, 48}; },
     "the convolution has numbers that are negative or too large"},
    {"LongAxis", [](auto &, auto &c) { setAxis(c, int64_t(1) << 31, 2, 2); },
     "the convolution has numbers that are negative or too large"},
    {"ManyChannels", [](auto &, auto &c) { c.channels = {int64_t(1) << 30, 1, 1, 0}; },
     "the convolution has numbers that are negative or too large"},
    {"Outputs", [](auto &, auto &c) { setAxis(c, 5, 3, 2); },
     "axis 0 of the convolution has 3 outputs, which its other extents do not give"},
    {"NoRoom", [](auto &, auto &c) { setAxis(c, 1, 1, 2); },
     "axis 0 of the convolution has 1 outputs, which its other extents do not give"},
    {"Integers", [](auto &, auto &c) { c.type = c.result = plan::ElementType::i32; },
     "the convolution makes i32 of i32, expected floats of one type, or f32 of narrower ones"},
    {"Narrowed", [](auto &, auto &c) { c.result = plan::ElementType::bf16; },
     "the convolution makes bf16 of f32, expected floats of one type, or f32 of narrower ones"},
    {"Groups", [](auto &, auto &c) { c.groups = {2, 3, 18, 3}; },
     "the groups of the convolution do not lie one behind the other"},
    {"Written", [](auto &, auto &c) { c.writes = ConvolutionTensor(7); },
     "the convolution writes tensor 7, which does not exist"},
    {"TwoOutputs", [](auto &k, auto &) { k.num_outputs = 2; },
     "the convolution's kernel has 2 outputs, expected one, of the size of the input that it is added to"},
    {"AddsToAnother", [](auto &, auto &c) { c.accumulate = true; },
     "the convolution's kernel has 1 outputs, expected one, of the size of the input that it is added to"},
    {"ReadsTheOutput", [](auto &, auto &c) { c.filter = 2; },
     "the convolution's filter is operand 2, expected one of 2 inputs"},
    {"WritesAnInput", [](auto &, auto &c) { c.output = 1; },
     "the convolution's output is operand 1, expected the output, 2"},
    {"Beyond", [](auto &k, auto &) { k.operand_sizes[0] -= 4; },
     "the convolution's image reaches element 639 of 639"},
    {"Gaps", [](auto &k, auto &) { k.operand_sizes[2] += 4; },
     "the convolution's output has 384 elements of 385 that are written"},
};

INSTANTIATE_TEST_SUITE_P(All, ConvolutionFaults, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace epl::runtime
