//===- Describe.cpp - Shardings as people read them -----------------------===//

#include "passes/shard/analysis/Describe.h"

#include "dialect/SourceLocation.h"

using namespace mlir;
using namespace mlir::epl;

/// "32/model", the extent over the axes that split it.
static void printDim(raw_ostream &os, RankedTensorType type, ShardingAttr sharding, int64_t dim) {
  os << type.getDimSize(dim);
  if (sharding)
    for (StringRef axis : sharding.getDimAxes(dim))
      os << '/' << axis;
}

std::string mlir::epl::describeTensor(RankedTensorType type, ShardingAttr sharding,
                                      DenseI64ArrayAttr callerShape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ArrayRef<int64_t> shape = callerShape ? callerShape.asArrayRef() : type.getShape();
  os << type.getElementType() << '[';
  int64_t dim = 0;
  for (auto [index, extent] : llvm::enumerate(shape)) {
    os << (index ? ", " : "");
    printDim(os, type, sharding, dim);
    for (int64_t taken = type.getDimSize(dim++); taken < extent; taken *= type.getDimSize(dim++))
      printDim(os << 'x', type, sharding, dim);
  }
  os << ']';
  if (sharding && sharding.isPartial())
    os << ' ' << stringifyReductionKind(sharding.getReduction()) << " over "
       << llvm::join(sharding.getPartialAxes(), ", ");
  return text;
}

static DenseI64ArrayAttr getCallerShape(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(), EplDialect::kCallerShapeAttr);
}

std::string mlir::epl::describeTensor(Value value, ShardingAttr sharding) {
  auto argument = dyn_cast<BlockArgument>(value);
  return describeTensor(cast<RankedTensorType>(value.getType()), sharding,
                        argument ? getCallerShape(argument) : DenseI64ArrayAttr());
}

RankedTensorType mlir::epl::getCallerType(BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  DenseI64ArrayAttr shape = getCallerShape(argument);
  return shape ? type.clone(shape.asArrayRef()) : type;
}

ArrayRef<int64_t> mlir::epl::getCallerParts(BlockArgument argument, int64_t dim) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto parts = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), EplDialect::kCallerPartsAttr);
  return parts ? cast<DenseI64ArrayAttr>(parts[dim]).asArrayRef() : ArrayRef<int64_t>();
}

std::string mlir::epl::describeDim(BlockArgument argument, int64_t dim) {
  auto type = cast<RankedTensorType>(argument.getType());
  int64_t own = 0;
  for (auto [seen, extent] : llvm::enumerate(getCallerType(argument).getShape())) {
    int64_t segments = 1;
    for (int64_t taken = 0; taken < extent || taken == 0; ++own) {
      if (own == dim)
        return "dimension " + std::to_string(seen) +
               (segments == 1 ? ""
                              : " in each of " + std::to_string(segments) +
                                    (getCallerParts(argument, dim - 1).empty() ? " segments" : " shares"));
      taken = segments *= type.getDimSize(own);
      if (extent == 0) // counts as one dimension
        taken = 1;
    }
  }
  llvm_unreachable("every dimension is part of one that the caller sees");
}

/// A name, cut before and behind each number.
static SmallVector<StringRef> splitAtNumbers(StringRef name) {
  SmallVector<StringRef> pieces;
  while (!name.empty()) {
    bool isNumber = llvm::isDigit(name.front());
    StringRef piece = name.take_while([&](char c) { return llvm::isDigit(c) == isNumber; });
    pieces.push_back(piece);
    name = name.drop_front(piece.size());
  }
  return pieces;
}

/// `name` with "*" for each number in which `other` is another one; nothing if they differ in more.
static std::optional<std::string> joinNumbers(StringRef name, StringRef other) {
  SmallVector<StringRef> pieces = splitAtNumbers(name), others = splitAtNumbers(other);
  if (pieces.size() != others.size())
    return std::nullopt;
  auto isNumber = [](StringRef piece) { return piece == "*" || llvm::isDigit(piece.front()); };
  for (auto [piece, own] : llvm::zip_equal(pieces, others)) {
    if (piece == own)
      continue;
    if (!isNumber(own) || !isNumber(piece))
      return std::nullopt;
    piece = "*";
  }
  return llvm::join(pieces, "");
}

/// `name` with "*" for all in which `other` is another one.
static std::string joinNames(StringRef name, StringRef other) {
  size_t least = std::min(name.size(), other.size()), begin = 0, end = 0;
  while (begin < least && name[begin] == other[begin])
    ++begin;
  while (end < least - begin && name[name.size() - 1 - end] == other[other.size() - 1 - end])
    ++end;
  return (name.take_front(begin) + "*" + name.take_back(end)).str();
}

std::string mlir::epl::describeArguments(func::FuncOp function, ArrayRef<BlockArgument> arguments) {
  std::string name = describeArgument(function, arguments.front().getArgNumber());
  for (BlockArgument argument : arguments.drop_front()) {
    std::string other = describeArgument(function, argument.getArgNumber());
    std::optional<std::string> joined = joinNumbers(name, other);
    name = joined ? *joined : joinNames(name, other);
  }
  return name;
}

std::string mlir::epl::describeMaker(Value value) {
  if (Operation *op = value.getDefiningOp())
    return describeOp(op);
  auto argument = cast<BlockArgument>(value);
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), EplDialect::kNameAttr);
  return name ? name.str() : describeArgument(function, argument.getArgNumber());
}

std::string mlir::epl::getResultName(func::FuncOp function, unsigned result) {
  auto name = function.getResultAttrOfType<StringAttr>(result, EplDialect::kNameAttr);
  return name ? name.str() : "result " + std::to_string(result);
}
