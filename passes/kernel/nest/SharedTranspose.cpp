//===- SharedTranspose.cpp - Transposes on the threads of a GPU ------------------===//
//
// Problem: of a transpose either loads or stores are strided, and memory moves 32 bytes for each element.
//
// Method: a block loads a square tile by rows of the input, 16 bytes a thread where rows begin at such
// addresses, and stores it by rows of the result; between them it is in shared memory. Threads of a warp have
// 32 elements of a few rows. Lines of the tile are an element longer than it, so that those of a warp, which
// follow one another in the input, meet 32 banks of shared memory there and here:
//
//   shared[column * (T + 1) + row]    bank (column + row) % 32
//
// Where a tile crosses an edge, threads load elements at the edge again, and do not store.
//
// Reference: Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA", 2009.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/SharedTranspose.h"

#include "dialect/Bytes.h"
#include "passes/kernel/nest/ThreadGroup.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::epl;

// Lines of a tile, and threads of a block.
static constexpr int64_t kTile = 64, kThreads = 256;
// Elements of a row that threads of a warp have together.
static constexpr int64_t kTogether = 32;
// Sides of a matrix from which on tiles are full enough.
static constexpr int64_t kLeastSide = 16;
// Elements of an access, at most.
static constexpr int64_t kMostRun = 4;

std::optional<ThreadPhase> mlir::epl::planSharedTranspose(const Transpose &transpose) {
  if (std::min(transpose.rows, transpose.columns) < kLeastSide)
    return std::nullopt;
  ThreadPhase phase{ThreadPhase::Kind::chunks};
  phase.group = kThreads;
  phase.extent = transpose.batches * int64_t(llvm::divideCeil(transpose.rows, kTile)) *
                 int64_t(llvm::divideCeil(transpose.columns, kTile));
  return phase;
}

namespace {

// One side of the transpose: a matrix of `rows` x `columns` that a tile is loaded from or stored to.
struct Side {
  Value buffer;
  int64_t rows, columns, run;
  Value base, row, column; // where the matrix begins, and the tile in it
};

class SharedTransposeEmitter {
public:
  SharedTransposeEmitter(const Transpose &transpose, const ThreadPhase &phase, KernelFunction &function)
      : transpose(transpose), function(function), b(function.getBuilder()),
        threads(function, phase.group, /*groups=*/1, /*run=*/1) {
    element = cast<MemRefType>(function.getInput(0).getType()).getElementType();
    shared = function.allocateShared(kTile * (kTile + 1), element);
  }

  void emit();

private:
  /// A run of elements that the thread has of a tile: where it is in the tile.
  struct Place {
    Value row, column;
  };
  int64_t chooseRun(int64_t columns);
  SmallVector<Place> getPlaces(int64_t run);
  Value getIndex(const Side &side, Value row, Value column);
  Value load(const Side &side, const Place &place);
  void store(const Side &side, const Place &place, ArrayRef<Value> values);
  Value getShared(Value line, Value position, int64_t offset);
  Value add(Value lhs, Value rhs) { return arith::AddIOp::create(b, lhs, rhs); }
  Value multiply(Value lhs, int64_t factor) {
    return arith::MulIOp::create(b, lhs, function.getIndex(factor));
  }
  Value clamp(Value value, int64_t most) { return arith::MinSIOp::create(b, value, function.getIndex(most)); }
  VectorType getType(int64_t run) { return VectorType::get({run}, element); }

  const Transpose &transpose;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  ThreadGroup threads;
  Type element;
  Value shared;
};

} // namespace

// Elements that an access has: as many as begin at a multiple of their size in each row.
int64_t SharedTransposeEmitter::chooseRun(int64_t columns) {
  return getRunOf(columns, std::min(kMostRun, kAccessBits / 8 / getElementBytes(element)));
}

SmallVector<SharedTransposeEmitter::Place> SharedTransposeEmitter::getPlaces(int64_t run) {
  int64_t across = kTogether / run, rows = kThreads / across;
  Value column = arith::RemUIOp::create(b, threads.getThread(), function.getIndex(across));
  Value row = arith::DivUIOp::create(b, threads.getThread(), function.getIndex(across));
  SmallVector<Place> places;
  for (int64_t down = 0; down < kTile; down += rows)
    for (int64_t right = 0; right < kTile; right += kTogether)
      places.push_back(
          {add(row, function.getIndex(down)), add(multiply(column, run), function.getIndex(right))});
  return places;
}

Value SharedTransposeEmitter::getIndex(const Side &side, Value row, Value column) {
  return add(add(side.base, multiply(row, side.columns)), column);
}

Value SharedTransposeEmitter::load(const Side &side, const Place &place) {
  Value row = clamp(add(side.row, place.row), side.rows - 1);
  Value column = clamp(add(side.column, place.column), side.columns - side.run);
  return loadVector(b, getType(side.run), side.buffer, getIndex(side, row, column), Value(),
                    side.run * getElementBytes(element));
}

void SharedTransposeEmitter::store(const Side &side, const Place &place, ArrayRef<Value> values) {
  Value row = add(side.row, place.row), column = add(side.column, place.column);
  auto isBelow = [&](Value position, int64_t size) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, position, function.getIndex(size));
  };
  Value isThere = arith::AndIOp::create(b, isBelow(row, side.rows), isBelow(column, side.columns));
  auto branch = scf::IfOp::create(b, isThere);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value vector = vector::FromElementsOp::create(b, getType(side.run), values);
  storeVector(b, vector, side.buffer, getIndex(side, row, column), Value(),
              side.run * getElementBytes(element));
}

Value SharedTransposeEmitter::getShared(Value line, Value position, int64_t offset) {
  return add(multiply(add(line, function.getIndex(offset)), kTile + 1), position);
}

void SharedTransposeEmitter::emit() {
  int64_t rows = transpose.rows, columns = transpose.columns;
  int64_t down = llvm::divideCeil(rows, kTile), across = llvm::divideCeil(columns, kTile);
  Value tile = function.getBegin();
  auto split = [&](Value number, int64_t count) {
    Value size = function.getIndex(count);
    return std::pair<Value, Value>(arith::DivUIOp::create(b, number, size),
                                   arith::RemUIOp::create(b, number, size));
  };
  auto [outer, column] = split(tile, across);
  auto [matrix, row] = split(outer, down);
  Value base = multiply(matrix, rows * columns), top = multiply(row, kTile), left = multiply(column, kTile);
  Side from{function.getInput(0), rows, columns, chooseRun(columns), base, top, left};
  Side to{function.getOutput(0), columns, rows, chooseRun(rows), base, left, top};

  SmallVector<Place> places = getPlaces(from.run);
  SmallVector<Value> loaded = llvm::map_to_vector(places, [&](Place &place) { return load(from, place); });
  for (auto [place, values] : llvm::zip_equal(places, loaded))
    for (int64_t lane = 0; lane < from.run; ++lane)
      memref::StoreOp::create(b, vector::ExtractOp::create(b, values, lane), shared,
                              getShared(place.column, place.row, lane));
  threads.synchronize();
  for (const Place &place : getPlaces(to.run)) {
    SmallVector<Value> values;
    for (int64_t lane = 0; lane < to.run; ++lane) {
      Value position = add(place.column, function.getIndex(lane));
      values.push_back(memref::LoadOp::create(b, shared, getShared(place.row, position, 0)));
    }
    store(to, place, values);
  }
}

void mlir::epl::emitSharedTranspose(const Transpose &transpose, const ThreadPhase &phase,
                                    KernelFunction &function) {
  SharedTransposeEmitter(transpose, phase, function).emit();
}
