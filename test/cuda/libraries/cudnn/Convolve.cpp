//===- Convolve.cpp - The kernels of the stand-in of cuDNN ------------------------===//
//
// An element of what is written for each thread. Sums are in an order of their own, as the library promises
// none: from the last summand to the first. A word of the workspace is written, so that two calls that have
// one at a time are found.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/libraries/Floats.h"
#include "test/cuda/libraries/cudnn/ConvolveArguments.h"

using cudnn_double::ConvolveArguments;
using cudnn_double::kMostAxes;
using cudnn_double::TensorArguments;

namespace {

/// Positions along the axes.
struct Place {
  long at[kMostAxes];
};

Place take(const TensorArguments &tensor, long &number) {
  Place place;
  for (int axis = kMostAxes; axis-- > 0;) {
    place.at[axis] = number % tensor.extents[2 + axis];
    number /= tensor.extents[2 + axis];
  }
  return place;
}

long countPlaces(const TensorArguments &tensor) {
  long count = 1;
  for (int axis = 0; axis < kMostAxes; ++axis)
    count *= tensor.extents[2 + axis];
  return count;
}

long offsetOf(const TensorArguments &tensor, long first, long second, const Place &place) {
  long offset = first * tensor.strides[0] + second * tensor.strides[1];
  for (int axis = 0; axis < kMostAxes; ++axis)
    offset += place.at[axis] * tensor.strides[2 + axis];
  return offset;
}

/// The tap at a place of the filter, in the order of the image.
long tapOf(const ConvolveArguments &x, int axis, const Place &tap) {
  return x.flips ? x.filter.extents[2 + axis] - 1 - tap.at[axis] : tap.at[axis];
}

/// Where the image meets a tap for an element of the output; false outside of it.
bool meet(const ConvolveArguments &x, const Place &output, const Place &tap, Place &image) {
  for (int axis = 0; axis < kMostAxes; ++axis) {
    image.at[axis] =
        output.at[axis] * x.stride[axis] + tapOf(x, axis, tap) * x.dilation[axis] - x.before[axis];
    if (image.at[axis] < 0 || image.at[axis] >= x.image.extents[2 + axis])
      return false;
  }
  return true;
}

/// Which element of the output has met the image there with a tap; false if none has.
bool meetOutput(const ConvolveArguments &x, const Place &image, const Place &tap, Place &output) {
  for (int axis = 0; axis < kMostAxes; ++axis) {
    long distance = image.at[axis] + x.before[axis] - tapOf(x, axis, tap) * x.dilation[axis];
    output.at[axis] = distance / x.stride[axis];
    if (distance < 0 || distance % x.stride[axis] != 0 || output.at[axis] >= x.output.extents[2 + axis])
      return false;
  }
  return true;
}

template <typename Operand, typename Result, typename Sum> struct Convolution {
  const ConvolveArguments &x;
  long groups, channels, features; // the latter two of each group

  explicit Convolution(const ConvolveArguments &x)
      : x(x), groups(x.image.extents[1] / x.filter.extents[1]), channels(x.filter.extents[1]),
        features(x.filter.extents[0] / groups) {}

  Sum read(const TensorArguments &tensor, long first, long second, const Place &place) const {
    return Sum(
        widen(reinterpret_cast<const Operand *>(tensor.pointer)[offsetOf(tensor, first, second, place)]));
  }

  Sum sumOutput(long sample, long feature, const Place &output) const {
    Sum sum = 0;
    long first = feature / features * channels;
    for (long number = countPlaces(x.filter); number-- > 0;) {
      long rest = number;
      Place tap = take(x.filter, rest), image;
      if (meet(x, output, tap, image))
        for (long channel = channels; channel-- > 0;)
          sum += read(x.image, sample, first + channel, image) * read(x.filter, feature, channel, tap);
    }
    return sum;
  }

  Sum sumImage(long sample, long channel, const Place &image) const {
    Sum sum = 0;
    long first = channel / channels * features;
    for (long number = countPlaces(x.filter); number-- > 0;) {
      long rest = number;
      Place tap = take(x.filter, rest), output;
      if (meetOutput(x, image, tap, output))
        for (long feature = features; feature-- > 0;)
          sum += read(x.output, sample, first + feature, output) *
                 read(x.filter, first + feature, channel % channels, tap);
    }
    return sum;
  }

  Sum sumFilter(long feature, long channel, const Place &tap) const {
    Sum sum = 0;
    long first = feature / features * channels;
    for (long number = countPlaces(x.output); number-- > 0;) {
      long rest = number;
      Place output = take(x.output, rest), image;
      if (meet(x, output, tap, image))
        for (long sample = x.image.extents[0]; sample-- > 0;)
          sum += read(x.image, sample, first + channel, image) * read(x.output, sample, feature, output);
    }
    return sum;
  }

  void run() const {
    const TensorArguments &written = x.writes == 0 ? x.image : x.writes == 1 ? x.filter : x.output;
    long count = written.extents[0] * written.extents[1] * countPlaces(written);
    if (threadNumber() == 0)
      *reinterpret_cast<unsigned long *>(x.workspace) = written.pointer;
    for (long i = threadNumber(); i < count; i += threadCount()) {
      long rest = i;
      Place place = take(written, rest);
      long second = rest % written.extents[1], first = rest / written.extents[1];
      Sum sum = x.writes == 0   ? sumImage(first, second, place)
                : x.writes == 1 ? sumFilter(first, second, place)
                                : sumOutput(first, second, place);
      Result &to = reinterpret_cast<Result *>(written.pointer)[offsetOf(written, first, second, place)];
      if (x.beta != 0)
        sum += Sum(x.beta) * Sum(widen(to));
      store(to, sum);
    }
  }
};

} // namespace

#define KERNEL extern "C" __attribute__((device_kernel))

KERNEL void convolve_tf32_f32(ConvolveArguments x) { Convolution<Tf32, float, float>(x).run(); }
KERNEL void convolve_f32_f32(ConvolveArguments x) { Convolution<float, float, float>(x).run(); }
KERNEL void convolve_f64_f64(ConvolveArguments x) { Convolution<double, double, double>(x).run(); }
KERNEL void convolve_f16_f16(ConvolveArguments x) { Convolution<_Float16, _Float16, float>(x).run(); }
KERNEL void convolve_bf16_bf16(ConvolveArguments x) { Convolution<BFloat16, BFloat16, float>(x).run(); }
