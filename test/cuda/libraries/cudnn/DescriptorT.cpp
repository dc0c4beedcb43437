//===- DescriptorT.cpp - Descriptors of the stand-in of cuDNN ----------------------===//

#include "test/cuda/libraries/cudnn/DescriptorT.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace cudnn_double {

using Ints = std::vector<int64_t>;

const OperationNames *namesOf(Kind kind) {
  static const OperationNames forward{Attribute::forwardImage,  Attribute::forwardFilter,
                                      Attribute::forwardOutput, Attribute::forwardConvolution,
                                      Attribute::forwardAlpha,  Attribute::forwardBeta};
  static const OperationNames image{Attribute::backwardImageImage,  Attribute::backwardImageFilter,
                                    Attribute::backwardImageOutput, Attribute::backwardImageConvolution,
                                    Attribute::backwardImageAlpha,  Attribute::backwardImageBeta};
  static const OperationNames filter{Attribute::backwardFilterImage,  Attribute::backwardFilterFilter,
                                     Attribute::backwardFilterOutput, Attribute::backwardFilterConvolution,
                                     Attribute::backwardFilterAlpha,  Attribute::backwardFilterBeta};
  switch (kind) {
  case Kind::forward:
    return &forward;
  case Kind::backwardImage:
    return &image;
  case Kind::backwardFilter:
    return &filter;
  default:
    return nullptr;
  }
}

/// What has the attribute; nothing if nobody may set it.
static std::optional<Kind> ownerOf(Attribute attribute) {
  int number = int(attribute);
  auto isBetween = [&](Attribute first, Attribute last) {
    return int(first) <= number && number <= int(last);
  };
  if (isBetween(Attribute::pointwiseMode, Attribute::pointwiseAxis))
    return Kind::pointwise;
  if (isBetween(Attribute::convolutionType, Attribute::convolutionAxes))
    return Kind::convolution;
  if (isBetween(Attribute::heuristicsMode, Attribute::heuristicsGraph))
    return Kind::heuristics;
  if (isBetween(Attribute::planHandle, Attribute::planChoice))
    return Kind::executionPlan;
  if (isBetween(Attribute::forwardAlpha, Attribute::forwardOutput))
    return Kind::forward;
  if (isBetween(Attribute::backwardImageAlpha, Attribute::backwardImageOutput))
    return Kind::backwardImage;
  if (isBetween(Attribute::backwardFilterAlpha, Attribute::backwardFilterOutput))
    return Kind::backwardFilter;
  if (isBetween(Attribute::pointwiseDescriptor, Attribute::pointwiseT))
    return Kind::pointwiseOperation;
  if (isBetween(Attribute::graphHandle, Attribute::graphOperations))
    return Kind::operationGraph;
  if (isBetween(Attribute::tensorAlignment, Attribute::tensorIsByValue))
    return Kind::tensor;
  if (isBetween(Attribute::packIds, Attribute::packWorkspace))
    return Kind::variantPack;
  if (attribute == Attribute::productType)
    return Kind::product;
  if (isBetween(Attribute::productA, Attribute::productDescriptor))
    return Kind::productOperation;
  if (isBetween(Attribute::reductionOperator, Attribute::reductionType))
    return Kind::reduction;
  if (isBetween(Attribute::reductionX, Attribute::reductionDescriptor))
    return Kind::reductionOperation;
  if (isBetween(Attribute::reshapeX, Attribute::reshapeY))
    return Kind::reshapeOperation;
  return std::nullopt;
}

static bool isFactor(Attribute attribute) {
  return attribute == Attribute::forwardAlpha || attribute == Attribute::forwardBeta ||
         attribute == Attribute::backwardImageAlpha || attribute == Attribute::backwardImageBeta ||
         attribute == Attribute::backwardFilterAlpha || attribute == Attribute::backwardFilterBeta;
}

static ValueType typeOf(Attribute attribute) {
  switch (attribute) {
  case Attribute::convolutionType:
  case Attribute::pointwiseType:
  case Attribute::productType:
  case Attribute::reductionType:
  case Attribute::tensorType:
    return ValueType::dataType;
  case Attribute::pointwiseMode:
    return ValueType::pointwiseMode;
  case Attribute::reductionOperator:
    return ValueType::reductionOperator;
  case Attribute::tensorIsVirtual:
  case Attribute::tensorIsByValue:
    return ValueType::boolean;
  case Attribute::convolutionMode:
    return ValueType::convolutionMode;
  case Attribute::heuristicsMode:
    return ValueType::heuristicsMode;
  case Attribute::planHandle:
  case Attribute::graphHandle:
    return ValueType::handle;
  case Attribute::packPointers:
  case Attribute::packWorkspace:
    return ValueType::pointer;
  case Attribute::convolutionDilations:
  case Attribute::convolutionStrides:
  case Attribute::convolutionAfter:
  case Attribute::convolutionBefore:
  case Attribute::convolutionAxes:
  case Attribute::pointwiseAxis:
  case Attribute::tensorAlignment:
  case Attribute::tensorExtents:
  case Attribute::tensorStrides:
  case Attribute::tensorId:
  case Attribute::packIds:
    return ValueType::int64;
  default:
    return ValueType::descriptor;
  }
}

size_t sizeOf(ValueType type) {
  switch (type) {
  case ValueType::dataType:
  case ValueType::float32:
  case ValueType::convolutionMode:
  case ValueType::heuristicsMode:
  case ValueType::numericalNote:
  case ValueType::pointwiseMode:
  case ValueType::reductionOperator:
    return 4;
  case ValueType::chars:
  case ValueType::boolean:
    return 1;
  default:
    return 8;
  }
}

std::string faultOfSetting(const DescriptorT &descriptor, Attribute attribute, ValueType type, int64_t count,
                           const void *values) {
  bool fits = isFactor(attribute) ? type == ValueType::float32 || type == ValueType::float64
                                  : type == typeOf(attribute);
  if (descriptor.isFinal || ownerOf(attribute) != descriptor.kind || !fits || count < 1 || !values)
    return "attribute " + std::to_string(int(attribute)) + " of another descriptor, type or time";
  if (type != ValueType::descriptor)
    return "";
  for (int64_t i = 0; i < count; ++i)
    if (const Descriptor named = static_cast<const Descriptor *>(values)[i]; !named || !named->isFinal)
      return "attribute " + std::to_string(int(attribute)) + " names a descriptor that is not final";
  return "";
}

/// Whether a descriptor has all attributes of a list.
static bool hasAll(const DescriptorT &descriptor, std::initializer_list<Attribute> needed) {
  return std::ranges::all_of(needed, [&](Attribute attribute) { return descriptor.has(attribute); });
}

static bool areAtLeast(const Ints &numbers, int64_t least) {
  return std::ranges::all_of(numbers, [&](int64_t number) { return number >= least; });
}

static std::string faultOfTensor(const DescriptorT &tensor) {
  if (!hasAll(tensor, {Attribute::tensorAlignment, Attribute::tensorType, Attribute::tensorExtents,
                       Attribute::tensorStrides, Attribute::tensorId}))
    return "a tensor lacks an attribute";
  Ints extents = tensor.list<int64_t>(Attribute::tensorExtents),
       strides = tensor.list<int64_t>(Attribute::tensorStrides);
  bool isSound = extents.size() == strides.size() && areAtLeast(extents, 1) && areAtLeast(strides, 1);
  return isSound && extents.size() >= 4 && extents.size() <= 5
             ? ""
             : "a tensor has other than 4 or 5 dimensions, or an extent or stride below 1";
}

/// Of an operation that makes one tensor of others: their extents are equal, or 1.
static std::string faultOfOperands(const DescriptorT &operation, Attribute result,
                                   std::initializer_list<Attribute> operands) {
  Ints whole = operation.at(result).list<int64_t>(Attribute::tensorExtents);
  for (Attribute operand : operands)
    if (operation.has(operand)) {
      Ints extents = operation.at(operand).list<int64_t>(Attribute::tensorExtents);
      bool fits = extents.size() == whole.size();
      for (size_t dim = 0; fits && dim < whole.size(); ++dim)
        fits = extents[dim] == whole[dim] || extents[dim] == 1 || whole[dim] == 1;
      if (!fits)
        return "an operation has tensors whose extents do not fit";
    }
  return "";
}

/// A reduction makes one element of all along a dimension, or of so many that stand side by side.
static std::string faultOfReduction(const Ints &from, const Ints &to) {
  bool fits = from.size() == to.size();
  for (size_t dim = 0; fits && dim < from.size(); ++dim)
    fits = from[dim] % to[dim] == 0;
  return fits ? "" : "a reduction has tensors whose extents do not fit";
}

/// Of what graphs of several operations are made of.
static std::string faultOfPart(const DescriptorT &part) {
  switch (part.kind) {
  case Kind::pointwise:
    return hasAll(part, {Attribute::pointwiseMode, Attribute::pointwiseType})
               ? ""
               : "a pointwise lacks an attribute";
  case Kind::product:
    return part.has(Attribute::productType) ? "" : "a product lacks its type";
  case Kind::reduction:
    return hasAll(part, {Attribute::reductionOperator, Attribute::reductionType})
               ? ""
               : "a reduction lacks an attribute";
  case Kind::pointwiseOperation:
    if (!hasAll(part, {Attribute::pointwiseDescriptor, Attribute::pointwiseX, Attribute::pointwiseY}))
      return "a pointwise operation lacks an attribute";
    return faultOfOperands(part, Attribute::pointwiseY,
                           {Attribute::pointwiseX, Attribute::pointwiseB, Attribute::pointwiseT});
  case Kind::reductionOperation:
    if (!hasAll(part, {Attribute::reductionDescriptor, Attribute::reductionX, Attribute::reductionY}))
      return "a reduction's operation lacks an attribute";
    return faultOfReduction(part.at(Attribute::reductionX).list<int64_t>(Attribute::tensorExtents),
                            part.at(Attribute::reductionY).list<int64_t>(Attribute::tensorExtents));
  case Kind::reshapeOperation: {
    if (!hasAll(part, {Attribute::reshapeX, Attribute::reshapeY}))
      return "a reshape lacks a tensor";
    auto sizeOf = [&](Attribute name) {
      Ints extents = part.at(name).list<int64_t>(Attribute::tensorExtents);
      return std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
    };
    return sizeOf(Attribute::reshapeX) == sizeOf(Attribute::reshapeY)
               ? ""
               : "a reshape has tensors of other sizes";
  }
  default: {
    if (!hasAll(part, {Attribute::productDescriptor, Attribute::productA, Attribute::productB,
                       Attribute::productC}))
      return "a product's operation lacks an attribute";
    auto extentsOf = [&](Attribute name) { return part.at(name).list<int64_t>(Attribute::tensorExtents); };
    Ints a = extentsOf(Attribute::productA), b = extentsOf(Attribute::productB),
         c = extentsOf(Attribute::productC);
    bool fits =
        a.size() == 4 && b.size() == 4 && c.size() == 4 && a[2] == c[2] && a[3] == b[2] && b[3] == c[3];
    return fits ? "" : "a product's operation has matrices that do not fit";
  }
  }
}

static std::string faultOfConvolution(const DescriptorT &convolution) {
  if (!hasAll(convolution,
              {Attribute::convolutionType, Attribute::convolutionMode, Attribute::convolutionDilations,
               Attribute::convolutionStrides, Attribute::convolutionAfter, Attribute::convolutionBefore,
               Attribute::convolutionAxes}))
    return "a convolution lacks an attribute";
  auto axes = size_t(convolution.get<int64_t>(Attribute::convolutionAxes));
  auto isSound = [&](Attribute attribute, int64_t least) {
    Ints numbers = convolution.list<int64_t>(attribute);
    return numbers.size() == axes && areAtLeast(numbers, least);
  };
  return isSound(Attribute::convolutionDilations, 1) && isSound(Attribute::convolutionStrides, 1) &&
                 isSound(Attribute::convolutionAfter, 0) && isSound(Attribute::convolutionBefore, 0)
             ? ""
             : "a convolution has numbers for other axes, or too small ones";
}

/// Of an axis, whose numbers are those of the operation.
static bool fitsAxis(const DescriptorT &convolution, size_t axis, int64_t image, int64_t taps,
                     int64_t outputs) {
  auto number = [&](Attribute attribute) { return convolution.list<int64_t>(attribute)[axis]; };
  int64_t room = image + number(Attribute::convolutionBefore) + number(Attribute::convolutionAfter) -
                 (taps - 1) * number(Attribute::convolutionDilations) - 1;
  return room >= 0 && outputs == room / number(Attribute::convolutionStrides) + 1;
}

static std::string faultOfOperation(const DescriptorT &operation, const OperationNames &names) {
  if (!hasAll(operation,
              {names.image, names.filter, names.output, names.convolution, names.alpha, names.beta}))
    return "an operation lacks an attribute";
  const DescriptorT &convolution = operation.at(names.convolution);
  Ints image = operation.at(names.image).list<int64_t>(Attribute::tensorExtents),
       filter = operation.at(names.filter).list<int64_t>(Attribute::tensorExtents),
       output = operation.at(names.output).list<int64_t>(Attribute::tensorExtents);
  auto axes = size_t(convolution.get<int64_t>(Attribute::convolutionAxes));
  if (image.size() != axes + 2 || filter.size() != axes + 2 || output.size() != axes + 2)
    return "an operation has tensors of other dimensions than its convolution";
  auto typeOf = [&](Attribute tensor) { return operation.at(tensor).get<DataType>(Attribute::tensorType); };
  if (typeOf(names.image) != typeOf(names.filter) || typeOf(names.image) != typeOf(names.output))
    return "an operation has tensors of several types";
  int64_t groups = image[1] / filter[1];
  if (image[0] != output[0] || filter[0] != output[1] || image[1] % filter[1] != 0 || filter[0] % groups != 0)
    return "an operation has samples, channels or features that do not fit";
  for (size_t axis = 0; axis < axes; ++axis)
    if (!fitsAxis(convolution, axis, image[axis + 2], filter[axis + 2], output[axis + 2]))
      return "an operation has an axis " + std::to_string(axis) + " whose extents do not fit";
  return "";
}

std::string faultOf(const DescriptorT &descriptor) {
  if (const OperationNames *names = namesOf(descriptor.kind))
    return faultOfOperation(descriptor, *names);
  switch (descriptor.kind) {
  case Kind::tensor:
    return faultOfTensor(descriptor);
  case Kind::convolution:
    return faultOfConvolution(descriptor);
  case Kind::pointwise:
  case Kind::product:
  case Kind::reduction:
  case Kind::pointwiseOperation:
  case Kind::productOperation:
  case Kind::reductionOperation:
  case Kind::reshapeOperation:
    return faultOfPart(descriptor);
  case Kind::operationGraph:
    return hasAll(descriptor, {Attribute::graphHandle, Attribute::graphOperations})
               ? ""
               : "a graph lacks an attribute";
  case Kind::heuristics:
    return hasAll(descriptor, {Attribute::heuristicsGraph, Attribute::heuristicsMode})
               ? ""
               : "heuristics lack an attribute";
  case Kind::executionPlan:
    return hasAll(descriptor, {Attribute::planHandle, Attribute::planChoice}) ? ""
                                                                              : "a plan lacks an attribute";
  case Kind::variantPack: {
    bool isWhole =
        hasAll(descriptor, {Attribute::packIds, Attribute::packPointers, Attribute::packWorkspace}) &&
        descriptor.list<int64_t>(Attribute::packIds).size() ==
            descriptor.list<void *>(Attribute::packPointers).size();
    return isWhole ? "" : "a pack lacks ids, pointers or a workspace";
  }
  default:
    return "nobody makes such a descriptor final";
  }
}

} // namespace cudnn_double
