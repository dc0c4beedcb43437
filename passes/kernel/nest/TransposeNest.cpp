//===- TransposeNest.cpp - Tiled transposes of a kernel --------------------------===//
//
// Problem: of a transpose either the loads or the stores are strided, an element at a time.
//
// Method: squares of as many lines as a register has lanes, 16 at most. The lines are loaded whole, exchange
// blocks of half their length, then of a quarter and so on by shuffles of two registers, and are stored
// whole. At the edges lines are masked. A slice is a block of columns; in it the squares go down some rows
// first, so that what they write, lines of the result, is written in long runs.
//
// Reference: docs/design.md, section 6; Eklundh, "A fast computer method for matrix transposing", 1972.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/TransposeNest.h"

#include "passes/kernel/cluster/Expression.h"
#include "passes/kernel/cluster/OpRoles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::epl;

// Lanes of a line, where registers have more: a square of more does not fit in the register file.
static constexpr int64_t kMaxTile = 16;
// Columns of a slice, and the rows that squares go down in it.
static constexpr int64_t kBlockColumns = 64, kBlockRows = 128;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

// The one generic of a kernel that does nothing else than transposing its one argument.
static linalg::GenericOp findTranspose(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *yield = body.getTerminator();
  if (kernel.getKind() != KernelKind::fusion || body.getNumArguments() != 1 || yield->getNumOperands() != 1)
    return {};
  auto generic = stripViews(yield->getOperand(0)).getDefiningOp<linalg::GenericOp>();
  bool copies = generic && isTranspose(generic) && stripViews(generic.getOperand(0)) == body.getArgument(0);
  return copies ? generic : linalg::GenericOp();
}

// The sizes of the runs of dimensions that stay together, in the order of the input; `outer` says whether the
// first run is also the result's first one.
static SmallVector<int64_t> getRuns(linalg::GenericOp generic, bool &outer) {
  SmallVector<int64_t> runs, ranges = generic.getStaticLoopRanges();
  AffineMap map = generic.getIndexingMapsArray().front();
  int64_t expected = -1; // the loop that continues the run
  for (unsigned dim = 0; dim < map.getNumResults(); ++dim) {
    int64_t loop = map.getDimPosition(dim);
    if (ranges[loop] == 1)
      continue;
    if (loop != expected)
      runs.push_back(1);
    if (runs.size() == 1 && runs[0] == 1)
      outer = llvm::all_of(ArrayRef(ranges).take_front(loop), [](int64_t range) { return range == 1; });
    runs.back() *= ranges[loop];
    for (expected = loop + 1; expected < int64_t(ranges.size()) && ranges[expected] == 1;)
      ++expected;
  }
  return runs;
}

std::optional<Transpose> mlir::epl::matchTranspose(KernelOp kernel, unsigned vectorBits) {
  linalg::GenericOp generic = findTranspose(kernel);
  if (!generic)
    return std::nullopt;
  bool outer = false;
  SmallVector<int64_t> runs = getRuns(generic, outer);
  if (runs.size() == 2)
    runs.insert(runs.begin(), 1);
  else if (runs.size() != 3 || !outer)
    return std::nullopt;
  Type stored = getStorageType(getElementTypeOrSelf(generic.getResult(0)));
  int64_t tile = std::min<int64_t>(kMaxTile, vectorBits / stored.getIntOrFloatBitWidth());
  if (std::min(runs[1], runs[2]) < tile)
    return std::nullopt;
  int64_t extent = runs[0] * llvm::divideCeil(runs[2], kBlockColumns);
  return Transpose{runs[0], runs[1], runs[2], tile, extent};
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

class TransposeEmitter {
public:
  TransposeEmitter(const Transpose &transpose, KernelFunction &function)
      : transpose(transpose), function(function), b(function.getBuilder()), input(function.getInput(0)),
        output(function.getOutput(0)) {
    Type element = cast<MemRefType>(input.getType()).getElementType();
    line = VectorType::get({transpose.tile}, element);
  }

  void emit();

private:
  void emitBlock(Value block);
  void emitTile(Value base, Value row, Value column);
  void exchange(MutableArrayRef<Value> lines);
  Value clamp(Value begin, int64_t size, int64_t end);
  Value getLength(Value begin, int64_t end);
  Value getMask(int64_t index, Value count, Value length);
  Value getAddress(Value base, Value major, int64_t index, int64_t stride, Value minor);

  const Transpose &transpose;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  Value input, output;
  VectorType line;
};

} // namespace

void TransposeEmitter::emit() {
  OpBuilder::InsertionGuard guard(b);
  auto blocks = scf::ForOp::create(b, function.getBegin(), function.getEnd(), function.getIndex(1));
  b.setInsertionPointToStart(blocks.getBody());
  emitBlock(blocks.getInductionVar());
}

// begin + size, or `end` if that is less.
Value TransposeEmitter::clamp(Value begin, int64_t size, int64_t end) {
  Value sum = arith::AddIOp::create(b, begin, function.getIndex(size));
  return arith::MinSIOp::create(b, sum, function.getIndex(end));
}

void TransposeEmitter::emitBlock(Value block) {
  int64_t rows = transpose.rows, columns = transpose.columns;
  Value perBatch = function.getIndex(llvm::divideCeil(columns, kBlockColumns));
  Value batch = arith::DivUIOp::create(b, block, perBatch),
        inBatch = arith::RemUIOp::create(b, block, perBatch);
  Value base = arith::MulIOp::create(b, batch, function.getIndex(rows * columns));
  Value left = arith::MulIOp::create(b, inBatch, function.getIndex(kBlockColumns));
  auto open = [&](Value low, Value high, int64_t step) {
    auto loop = scf::ForOp::create(b, low, high, function.getIndex(step));
    b.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  };
  Value right = clamp(left, kBlockColumns, columns);
  Value top = open(function.getIndex(0), function.getIndex(rows), kBlockRows);
  Value bottom = clamp(top, kBlockRows, rows);
  Value column = open(left, right, transpose.tile);
  Value row = open(top, bottom, transpose.tile);
  emitTile(base, row, column);
}

// The lines that a tile has from `begin` on; null if no tile crosses `end`.
Value TransposeEmitter::getLength(Value begin, int64_t end) {
  if (end % transpose.tile == 0)
    return Value();
  Value rest = arith::SubIOp::create(b, function.getIndex(end), begin);
  return arith::MinSIOp::create(b, rest, function.getIndex(transpose.tile));
}

// The mask of line `index` of `count` lines of `length` elements, null standing for the tile's edge.
Value TransposeEmitter::getMask(int64_t index, Value count, Value length) {
  if (!count && !length)
    return Value();
  Value lanes = length ? length : function.getIndex(transpose.tile);
  if (count) {
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, function.getIndex(index), count);
    lanes = arith::SelectOp::create(b, exists, lanes, function.getIndex(0));
  }
  return vector::CreateMaskOp::create(b, VectorType::get({transpose.tile}, b.getI1Type()), lanes);
}

Value TransposeEmitter::getAddress(Value base, Value major, int64_t index, int64_t stride, Value minor) {
  Value position = arith::AddIOp::create(b, major, function.getIndex(index));
  Value start = arith::MulIOp::create(b, position, function.getIndex(stride));
  return arith::AddIOp::create(b, arith::AddIOp::create(b, base, start), minor);
}

// Swaps the blocks off the diagonal, of half the lines and lanes, in each pair of lines; then within halves.
void TransposeEmitter::exchange(MutableArrayRef<Value> lines) {
  int64_t tile = transpose.tile;
  for (int64_t block = tile / 2; block > 0; block /= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t lane = 0; lane < tile; ++lane) {
      bool right = lane & block;
      upper.push_back(right ? tile + lane - block : lane);
      lower.push_back(right ? tile + lane : lane + block);
    }
    for (int64_t index = 0; index < tile; ++index) {
      if (index & block)
        continue;
      Value a = lines[index], c = lines[index + block];
      lines[index] = vector::ShuffleOp::create(b, a, c, upper);
      lines[index + block] = vector::ShuffleOp::create(b, a, c, lower);
    }
  }
}

void TransposeEmitter::emitTile(Value base, Value row, Value column) {
  Value rows = getLength(row, transpose.rows), columns = getLength(column, transpose.columns);
  SmallVector<Value> lines;
  for (int64_t index = 0; index < transpose.tile; ++index) {
    Value at = getAddress(base, row, index, transpose.columns, column);
    lines.push_back(loadVector(b, line, input, at, getMask(index, rows, columns)));
  }
  exchange(lines);
  for (auto [index, value] : llvm::enumerate(lines)) {
    Value at = getAddress(base, column, index, transpose.rows, row);
    storeVector(b, value, output, at, getMask(index, columns, rows));
  }
}

void mlir::epl::emitTransposeNest(const Transpose &transpose, KernelFunction &function) {
  TransposeEmitter(transpose, function).emit();
}
