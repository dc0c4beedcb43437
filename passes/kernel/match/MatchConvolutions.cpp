//===- MatchConvolutions.cpp - Contractions that a library of convolutions runs ---===//
//
// Problem: convolutions and their gradients are loop nests of one form here, with the roles of the three
// tensors exchanged and with zeros between elements. A library of GPUs wants to know which tensor is the
// image, which the filter, and what is computed of them. Method: along each axis (ConvolutionAxes.h)
// positions fulfil image = stride * output + dilation * tap - before. Whichever tensors take these roles so
// that this holds along all axes make a convolution; of several ways the one with the smallest filter counts,
// as a filter is small beside an image. The other loops are samples, groups, channels and features by the
// tensors that walk them. What is left of samples and channels, where several loops do not follow one another
// in memory, are axes without a filter, or of one output.
//
// In: outlined kernels for a GPU. Out: `convolution` on those of kind contraction, without `gemm`, that are
// one.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/NarrowFloats.h"
#include "passes/kernel/match/ConvolutionAxes.h"

namespace mlir::epl {
#define GEN_PASS_DEF_MATCHCONVOLUTIONS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

namespace {

constexpr size_t kMostAxes = 3;

/// An axis of a convolution: image = stride * output + dilation * tap - before.
struct Axis {
  PerTensor extents{1, 1, 1}, strides{0, 0, 0}; // of image, filter and output
  int64_t stride = 1, dilation = 1, before = 0, after = 0;
};

/// A convolution whose tensors are, by number of the contraction's operand, image, filter and output.
struct Convolution {
  std::array<size_t, 3> roles;
  bool flips = false;
  PlainLoop samples, groups, channels, features;
  SmallVector<Axis> axes;

  /// What is less where a library has more to choose from: taps, whether they are reversed, and their
  /// distances.
  std::tuple<int64_t, bool, int64_t> cost() const {
    int64_t taps = 1, distance = 1;
    for (const Axis &axis : axes)
      taps *= axis.extents[1], distance *= axis.dilation;
    return {taps, flips, distance};
  }
};

/// Gives the tensors of a contraction their roles.
class Arranger {
public:
  Arranger(const ContractionAxes &parts, std::array<size_t, 3> roles) : parts(parts) { made.roles = roles; }

  /// The convolution; nothing if the roles do not suit.
  std::optional<Convolution> arrange() {
    for (const BoundDims &bound : parts.bound)
      if (!addAxis(bound))
        return std::nullopt;
    if (!addLoops() || !areGroupsDense() || made.axes.size() > kMostAxes)
      return std::nullopt;
    return made;
  }

private:
  PerTensor inOrder(const PerTensor &numbers) const {
    return {numbers[made.roles[0]], numbers[made.roles[1]], numbers[made.roles[2]]};
  }
  /// Whether the kernel computes the tensor, which has the role.
  bool isWritten(size_t role) const { return made.roles[role] == 2; }

  bool addAxis(const BoundDims &bound) {
    PerTensor coefficients = inOrder(bound.coefficients);
    if (std::abs(coefficients[0]) != 1)
      return false;
    // image = stride * output + dilation * tap - before
    int64_t sign = -coefficients[0];
    Axis axis{inOrder(bound.extents), inOrder(bound.strides)};
    axis.before = sign * bound.constant;
    bool hasTaps = coefficients[1] != 0, hasOutputs = coefficients[2] != 0;
    axis.stride = hasOutputs ? sign * coefficients[2] : 1;
    axis.dilation = hasTaps ? sign * coefficients[1] : 1;
    if (axis.stride < 1 || (axis.extents[1] > 1 && !setDirection(axis.dilation < 0)))
      return false;
    if (axis.dilation < 0) { // from the last tap on
      axis.dilation = -axis.dilation;
      axis.before += axis.dilation * (axis.extents[1] - 1);
    }
    if (!addZeros(axis))
      return false;
    made.axes.push_back(axis);
    return true;
  }

  /// All axes of more than one tap go one way.
  bool setDirection(bool flips) {
    if (isDirected && made.flips != flips)
      return false;
    isDirected = true;
    made.flips = flips;
    return true;
  }

  /// The zeros around the image.
  bool addZeros(Axis &axis) const {
    auto &[image, taps, outputs] = axis.extents;
    axis.after = (outputs - 1) * axis.stride + (taps - 1) * axis.dilation + 1 - image - axis.before;
    if (axis.after < 0 && isWritten(0) && axis.after <= -axis.stride)
      return false; // elements of the image that nothing meets would not be written
    if (axis.after < 0 && !isWritten(0))
      image += axis.after; // it is read up to there
    axis.after = std::max<int64_t>(axis.after, 0);
    return axis.before >= 0 && image > 0;
  }

  /// Samples, groups, channels and features.
  bool addLoops() {
    SmallVector<PlainLoop> samples, groups, channels, features;
    for (const PlainLoop &loop : parts.plain) {
      PlainLoop ordered{loop.extent, inOrder(loop.strides)};
      auto [image, filter, output] = ordered.strides;
      if (int(image != 0) + int(filter != 0) + int(output != 0) < 2)
        return false;
      (!filter ? samples : !output ? channels : !image ? features : groups).push_back(ordered);
    }
    made.samples = takeFirst(samples), made.groups = takeFirst(groups);
    made.channels = takeFirst(channels), made.features = takeFirst(features);
    for (const PlainLoop &loop : samples)
      made.axes.push_back({{loop.extent, 1, loop.extent}, loop.strides});
    for (const PlainLoop &loop : channels)
      made.axes.push_back({{loop.extent, loop.extent, 1}, loop.strides});
    return groups.empty() && features.empty();
  }

  /// Takes the outermost loop out, after neighbours that continue one another have become one.
  static PlainLoop takeFirst(SmallVector<PlainLoop> &loops) {
    llvm::sort(loops, [](const PlainLoop &l, const PlainLoop &r) { return l.strides > r.strides; });
    SmallVector<PlainLoop> merged;
    for (const PlainLoop &loop : loops) {
      bool continues = !merged.empty();
      for (size_t role = 0; role < 3 && continues; ++role)
        continues = merged.back().strides[role] == loop.strides[role] * loop.extent;
      if (continues)
        merged.back() = {merged.back().extent * loop.extent, loop.strides};
      else
        merged.push_back(loop);
    }
    loops.assign(merged.begin() + !merged.empty(), merged.end());
    return merged.empty() ? PlainLoop{1, {0, 0, 0}} : merged.front();
  }

  /// Whether groups lie one behind the other as further channels and features, as a library has them.
  bool areGroupsDense() const {
    auto follows = [&](const PlainLoop &inner, size_t role) {
      return inner.extent == 1 || made.groups.strides[role] == inner.extent * inner.strides[role];
    };
    return made.groups.extent == 1 ||
           (follows(made.channels, 0) && follows(made.features, 1) && follows(made.features, 2));
  }

  const ContractionAxes &parts;
  Convolution made{};
  bool isDirected = false;
};

/// The convolution that a contraction is, if any.
std::optional<Convolution> findConvolution(GenericOp op) {
  std::optional<ContractionAxes> parts = findAxes(op);
  if (!parts || parts->bound.empty())
    return std::nullopt;
  // Those that compute the output come first.
  static constexpr std::array<size_t, 3> kRoles[] = {{0, 1, 2}, {1, 0, 2}, {2, 0, 1},
                                                     {2, 1, 0}, {0, 2, 1}, {1, 2, 0}};
  std::optional<Convolution> best;
  for (const std::array<size_t, 3> &roles : kRoles) {
    std::optional<Convolution> found = Arranger(*parts, roles).arrange();
    if (found && (!best || found->cost() < best->cost()))
      best = std::move(found);
  }
  return best;
}

/// Whether a plan can have the numbers: those of two dimensions multiply to what can be counted.
bool isCountable(const Convolution &convolution) {
  constexpr int64_t kMost = (int64_t(1) << 31) - 1;
  auto fits = [](int64_t number) { return number <= kMost; };
  for (const PlainLoop *loop :
       {&convolution.samples, &convolution.groups, &convolution.channels, &convolution.features})
    if (!fits(loop->extent) || !llvm::all_of(loop->strides, fits))
      return false;
  for (const Axis &axis : convolution.axes)
    if (!llvm::all_of(axis.extents, fits) || !llvm::all_of(axis.strides, fits) || !fits(axis.stride) ||
        !fits(axis.dilation) || !fits(axis.before) || !fits(axis.after))
      return false;
  int64_t groups = convolution.groups.extent;
  return fits(groups * convolution.channels.extent) && fits(groups * convolution.features.extent);
}

/// Whether all elements of the result are the convolution's.
bool writesAll(const Convolution &convolution, GenericOp op) {
  size_t role = size_t(llvm::find(convolution.roles, 2u) - convolution.roles.begin());
  int64_t elements = 1;
  for (const PlainLoop *loop :
       {&convolution.samples, &convolution.groups, &convolution.channels, &convolution.features})
    if (loop->strides[role] != 0)
      elements *= loop->extent;
  for (const Axis &axis : convolution.axes)
    elements *= axis.extents[role];
  return elements == cast<RankedTensorType>(op.getResult(0).getType()).getNumElements();
}

/// Whether a library has sums of such products: floats of one type, or narrow ones whose results are f32.
bool hasKnownTypes(GenericOp op) {
  Type input = getElementTypeOrSelf(op.getInputs()[0]), result = getElementTypeOrSelf(op.getResult(0));
  if (input != getElementTypeOrSelf(op.getInputs()[1]))
    return false;
  return isNarrowFloat(input) ? result == input || result.isF32()
                              : result == input && (input.isF32() || input.isF64());
}

struct MatchConvolutionsPass : epl::impl::MatchConvolutionsBase<MatchConvolutionsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (GenericOp op = getContraction(kernel); op && !kernel.getGemm() && hasKnownTypes(op))
        match(kernel, op);
  }

private:
  static void match(KernelOp kernel, GenericOp op) {
    std::optional<ContractionParts> parts = matchContraction(kernel);
    if (!parts)
      return;
    const StridedContraction &whole = parts->parts.front();
    auto fill = dyn_cast_or_null<FloatAttr>(whole.fill);
    bool startsAtZero = fill && fill.getValue().isZero();
    bool startsAtLast = whole.init && *whole.init + 1 == kernel.getBody().getNumArguments();
    std::optional<Convolution> found = findConvolution(op);
    if (found && isCountable(*found) && writesAll(*found, op) && (startsAtZero || startsAtLast))
      kernel.setConvolutionAttr(
          toAttr(*found, kernel, {whole.a, whole.b, kernel.getBody().getNumArguments()}, startsAtLast));
  }

  /// `operands`: of the contraction, among those of the kernel.
  static ConvolutionAttr toAttr(const Convolution &found, KernelOp kernel, std::array<int64_t, 3> operands,
                                bool accumulates) {
    auto numbers = [](const PlainLoop &loop) {
      return SmallVector<int64_t>{loop.extent, loop.strides[0], loop.strides[1], loop.strides[2]};
    };
    SmallVector<int64_t> axes;
    for (const Axis &axis : found.axes) {
      axes.append(axis.extents.begin(), axis.extents.end());
      axes.append(axis.strides.begin(), axis.strides.end());
      axes.append({axis.stride, axis.dilation, axis.before, axis.after});
    }
    SmallVector<int64_t> tensors;
    for (size_t role : found.roles)
      tensors.push_back(operands[role]);
    auto written = ConvolutionTensor(llvm::find(found.roles, 2u) - found.roles.begin());
    return ConvolutionAttr::get(kernel.getContext(), written, tensors, found.flips, accumulates,
                                numbers(found.samples), numbers(found.groups), numbers(found.channels),
                                numbers(found.features), axes);
  }
};

} // namespace
