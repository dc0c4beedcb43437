//===- ContractionNest.cpp - Tiled loop nests of contractions --------------------===//
//
// Problem: a contraction that no library takes, a convolution or one of its gradients, is to run near the
// speed of one.
//
// Method: the loops of a ContractionTiling, with a tile in the middle whose accumulators are values of the
// innermost loops, so that they stay in registers. What is left of rows and vectors at the edges are tiles
// of their own, the last vector masked. A place in the loops is the linear index of an element in each
// operand; rows and vectors of a tile are at constant distances from it. Narrow operands are widened before,
// as each element is read many times, and sums are rounded when they are complete.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/ContractionNest.h"

#include "passes/kernel/nest/SumMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

// A linear index in each operand.
struct Place {
  Value a, b, c;
};

// Distances of a row from the first one of its tile.
struct Row {
  int64_t a, c;
};

class ContractionEmitter {
public:
  // Leaves the sums in `target`. Slices share out the iterations of the loop `sliced`, if there is one.
  ContractionEmitter(const ContractionTiling &tiling, const ContractionLoop *sliced, Value target,
                     SumMemory &memory, KernelFunction &function)
      : tiling(tiling), sliced(sliced), target(target), memory(memory), function(function),
        b(function.getBuilder()), vectorType(memory.getVectorType()) {}

  void emit();

private:
  using Body = function_ref<void(Place)>;
  using TileBody = function_ref<void(Place, ArrayRef<Row> rows, int64_t columns)>;

  void placeOperands(Place &origin);
  void emitTiles(Place origin);
  void emitCopy(const Packing &packing, Value source, Value sourceOffset, Value target, Value targetOffset);
  void emitLoops(ArrayRef<ContractionLoop> loops, Place at, Body body);
  void emitColumns(Place at, function_ref<void(Place, int64_t columns)> body);
  void emitRows(Place at, int64_t columns, TileBody body);
  void emitSums(Place at, int64_t columns);
  void emitTile(Place at, ArrayRef<Row> rows, int64_t columns, bool starts);
  SmallVector<Value> emitSteps(ArrayRef<ContractionLoop> loops, Place at, ArrayRef<Row> rows, int64_t columns,
                               ArrayRef<Value> sums);
  SmallVector<Value> emitStep(Place at, ArrayRef<Row> rows, int64_t columns, ArrayRef<Value> sums);
  SmallVector<Value> makeStart(Place at, ArrayRef<Row> rows, int64_t columns, bool starts);
  void storeTile(ArrayRef<Value> sums, Place at, ArrayRef<Row> rows, int64_t columns);
  SmallVector<Row> getRows(int64_t count);
  Value addProduct(Value sum, Value x, Value y);
  Value add(Value index, int64_t distance);
  Place advance(Place at, const ContractionLoop &loop, Value iteration);

  const ContractionTiling &tiling;
  const ContractionLoop *sliced;
  Value target;
  SumMemory &memory;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  VectorType vectorType;
  Value bufferA, bufferB, bufferC, init;
};

} // namespace

// The loop whose iterations slices share out, or null: what is copied is copied once, parts are not shared.
static const ContractionLoop *findSliced(const TiledContraction &tiled) {
  const ContractionTiling &tiling = tiled.parts.front();
  const StridedContraction &contraction = tiling.contraction;
  Type sums = contraction.getSumType();
  bool converts = contraction.element != sums || contraction.elementA != sums || contraction.elementB != sums;
  if (tiled.parts.size() > 1 || !tiled.coversResult || tiling.packB || tiling.packC || converts)
    return nullptr;
  return !tiling.outer.empty() ? &tiling.outer[0] : !tiling.inner.empty() ? &tiling.inner[0] : nullptr;
}

int64_t mlir::epl::getExtent(const TiledContraction &tiled) {
  const ContractionLoop *sliced = findSliced(tiled);
  return sliced ? sliced->extent : 1;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value ContractionEmitter::add(Value index, int64_t distance) {
  return distance == 0 ? index : arith::AddIOp::create(b, index, function.getIndex(distance)).getResult();
}

Place ContractionEmitter::advance(Place at, const ContractionLoop &loop, Value iteration) {
  auto step = [&](Value index, int64_t stride) -> Value {
    if (stride == 0)
      return index;
    Value distance = iteration;
    if (stride != 1)
      distance = arith::MulIOp::create(b, iteration, function.getIndex(stride));
    return arith::AddIOp::create(b, index, distance);
  };
  return {step(at.a, loop.a), step(at.b, loop.b), step(at.c, loop.c)};
}

//===----------------------------------------------------------------------===//
// Loops round the tiles
//===----------------------------------------------------------------------===//

void ContractionEmitter::emit() {
  const StridedContraction &contraction = tiling.contraction;
  Place origin{function.getIndex(contraction.offsetA), function.getIndex(contraction.offsetB),
               function.getIndex(contraction.offsetC)};
  placeOperands(origin);
  emitTiles(origin);
  if (!tiling.packC)
    return;
  Packing back = tiling.packC;
  for (Packing::Dim &dim : back.dims)
    std::swap(dim.from, dim.to);
  emitCopy(back, bufferC, origin.c, target, function.getIndex(contraction.offsetC));
}

// Where tiles find the operands and leave the result.
void ContractionEmitter::placeOperands(Place &origin) {
  const StridedContraction &contraction = tiling.contraction;
  bufferA = memory.widen(function.getInput(contraction.a));
  bufferB = function.getInput(contraction.b);
  if (tiling.packB) {
    Value copy = memory.allocate(tiling.packB.size);
    emitCopy(tiling.packB, bufferB, origin.b, copy, function.getIndex(0));
    bufferB = copy;
    origin.b = function.getIndex(0);
  } else {
    bufferB = memory.widen(bufferB);
  }
  init = contraction.init ? function.getInput(*contraction.init) : Value();
  bufferC = target;
  if (tiling.packC) {
    bufferC = memory.allocate(tiling.packC.size);
    origin.c = function.getIndex(0);
  }
}

void ContractionEmitter::emitTiles(Place origin) {
  emitColumns(origin, [&](Place at, int64_t columns) {
    emitLoops(tiling.outer, at, [&](Place at) { emitSums(at, columns); });
  });
}

void ContractionEmitter::emitCopy(const Packing &packing, Value source, Value sourceOffset, Value target,
                                  Value targetOffset) {
  SmallVector<ContractionLoop> loops;
  for (const Packing::Dim &dim : packing.dims)
    loops.push_back({dim.extent, dim.from, 0, dim.to});
  emitLoops(loops, {sourceOffset, Value(), targetOffset},
            [&](Place at) { memory.copyElement(source, at.a, target, at.c); });
}

void ContractionEmitter::emitLoops(ArrayRef<ContractionLoop> loops, Place at, Body body) {
  OpBuilder::InsertionGuard guard(b);
  for (const ContractionLoop &loop : loops) {
    bool isSliced = &loop == sliced;
    Value low = isSliced ? function.getBegin() : function.getIndex(0);
    Value high = isSliced ? function.getEnd() : function.getIndex(loop.extent);
    auto nest = scf::ForOp::create(b, low, high, function.getIndex(1));
    b.setInsertionPointToStart(nest.getBody());
    at = advance(at, loop, nest.getInductionVar());
  }
  body(at);
}

// Whole tiles of vectors, then what is left.
void ContractionEmitter::emitColumns(Place at, function_ref<void(Place, int64_t columns)> body) {
  const ContractionLoop &vector = tiling.vector;
  int64_t width = tiling.vectors * tiling.lanes, whole = vector.extent / width;
  ContractionLoop tiles{whole, vector.a * width, width, width};
  if (whole > 1)
    emitLoops(tiles, at, [&](Place at) { body(at, width); });
  else if (whole == 1)
    body(at, width);
  if (int64_t left = vector.extent - whole * width)
    body({add(at.a, vector.a * whole * width), add(at.b, whole * width), add(at.c, whole * width)}, left);
}

// The sums of a part of the result: those in memory have their start stored first.
void ContractionEmitter::emitSums(Place at, int64_t columns) {
  bool inMemory = !tiling.sums.empty();
  if (inMemory)
    emitRows(at, columns, [&](Place at, ArrayRef<Row> rows, int64_t columns) {
      storeTile(makeStart(at, rows, columns, /*starts=*/true), at, rows, columns);
    });
  emitLoops(tiling.sums, at, [&](Place at) {
    emitRows(at, columns, [&](Place at, ArrayRef<Row> rows, int64_t columns) {
      emitTile(at, rows, columns, /*starts=*/!inMemory);
    });
  });
}

// Whole tiles of rows, then what is left.
void ContractionEmitter::emitRows(Place at, int64_t columns, TileBody body) {
  emitLoops(tiling.inner, at, [&](Place at) {
    int64_t height = tiling.rowsPerTile, whole = tiling.rows.extent / height;
    ContractionLoop tiles{whole, tiling.rows.a * height, 0, tiling.rows.c * height};
    if (whole > 1)
      emitLoops(tiles, at, [&](Place at) { body(at, getRows(height), columns); });
    else
      body(at, getRows(height), columns);
    if (int64_t left = tiling.rows.extent - whole * height)
      body({add(at.a, tiles.a * whole), at.b, add(at.c, tiles.c * whole)}, getRows(left), columns);
  });
}

SmallVector<Row> ContractionEmitter::getRows(int64_t count) {
  SmallVector<Row> rows;
  for (int64_t row = 0; row < count; ++row)
    rows.push_back({row * tiling.rows.a, row * tiling.rows.c});
  for (const ContractionLoop &loop : tiling.wholeRows) {
    SmallVector<Row> first = rows;
    for (int64_t row = 1; row < loop.extent; ++row)
      for (const Row &other : first)
        rows.push_back({other.a + row * loop.a, other.c + row * loop.c});
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// A tile
//===----------------------------------------------------------------------===//

// The accumulators before the first product, row by row.
SmallVector<Value> ContractionEmitter::makeStart(Place at, ArrayRef<Row> rows, int64_t columns, bool starts) {
  int64_t vectors = llvm::divideCeil(columns, tiling.lanes);
  if (starts && !init)
    return SmallVector<Value>(rows.size() * vectors, memory.makeVector(tiling.contraction.fill));
  SmallVector<Value> start;
  for (const Row &row : rows)
    for (int64_t column = 0; column < columns; column += tiling.lanes)
      start.push_back(memory.load(starts ? init : bufferC, add(at.c, row.c + column), columns - column));
  return start;
}

void ContractionEmitter::emitTile(Place at, ArrayRef<Row> rows, int64_t columns, bool starts) {
  SmallVector<Value> start = makeStart(at, rows, columns, starts);
  storeTile(emitSteps(tiling.registerSums, at, rows, columns, start), at, rows, columns);
}

void ContractionEmitter::storeTile(ArrayRef<Value> sums, Place at, ArrayRef<Row> rows, int64_t columns) {
  for (const Row &row : rows)
    for (int64_t column = 0; column < columns; column += tiling.lanes) {
      memory.store(sums.front(), bufferC, add(at.c, row.c + column), columns - column);
      sums = sums.drop_front();
    }
}

SmallVector<Value> ContractionEmitter::emitSteps(ArrayRef<ContractionLoop> loops, Place at,
                                                 ArrayRef<Row> rows, int64_t columns, ArrayRef<Value> sums) {
  if (loops.empty())
    return emitStep(at, rows, columns, sums);
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForOp::create(b, function.getIndex(0), function.getIndex(loops[0].extent),
                                 function.getIndex(1), sums);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = emitSteps(loops.drop_front(), advance(at, loops[0], loop.getInductionVar()), rows,
                                      columns, llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
  scf::YieldOp::create(b, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

SmallVector<Value> ContractionEmitter::emitStep(Place at, ArrayRef<Row> rows, int64_t columns,
                                                ArrayRef<Value> sums) {
  SmallVector<Value> vectors, next;
  for (int64_t column = 0; column < columns; column += tiling.lanes)
    vectors.push_back(memory.load(bufferB, add(at.b, column), columns - column));
  for (const Row &row : rows) {
    Value scalar;
    if (tiling.vector.a == 0) {
      Value element = loadElement(b, bufferA, add(at.a, row.a), vectorType.getElementType());
      scalar = vector::BroadcastOp::create(b, vectorType, element);
    }
    for (auto [index, vector] : llvm::enumerate(vectors)) {
      int64_t column = index * tiling.lanes;
      Value factor = scalar ? scalar : memory.load(bufferA, add(at.a, row.a + column), columns - column);
      next.push_back(addProduct(sums[next.size()], factor, vector));
    }
  }
  return next;
}

Value ContractionEmitter::addProduct(Value sum, Value x, Value y) {
  if (isa<FloatType>(vectorType.getElementType()))
    return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, x, y));
  return arith::AddIOp::create(b, sum, arith::MulIOp::create(b, x, y));
}

//===----------------------------------------------------------------------===//
// All parts
//===----------------------------------------------------------------------===//

// Whether sums are narrower than their type in the result, and wait in memory before they are rounded.
static bool haveToWait(const TiledContraction &tiled) {
  const StridedContraction &contraction = tiled.parts.front().contraction;
  return contraction.element != contraction.getSumType() &&
         llvm::any_of(tiled.parts,
                      [](const ContractionTiling &part) { return !part.sums.empty() && !part.packC; });
}

void mlir::epl::emitContractionNest(const TiledContraction &tiled, KernelFunction &function) {
  const ContractionTiling &first = tiled.parts.front();
  SumMemory memory(function, first.contraction.getSumType(), first.lanes);
  Value result = function.getOutput(0);
  if (const ContractionLoop *sliced = findSliced(tiled))
    return ContractionEmitter(first, sliced, result, memory, function).emit();
  emitLoop(function.getBuilder(), function.getBegin(), function.getEnd(), function.getIndex(1), [&](Value) {
    Value sums = haveToWait(tiled) ? memory.allocate(getSize(result)) : result;
    if (!tiled.coversResult)
      memory.fill(sums, first.contraction.fill);
    for (const ContractionTiling &part : tiled.parts)
      ContractionEmitter(part, /*sliced=*/nullptr, sums, memory, function).emit();
    if (sums != result)
      memory.convert(sums, result);
  });
}
