//===- ContractionFormsTest.cpp - Tiled contractions compute the kernel ----------===//

#include "CompiledKernels.h"
#include "Forms.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/AffineExpr.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace mlir::epl;
using namespace mlir::epl::test;

// Zeros between the elements of an operand: where the first element is in each dimension, and how far it is
// to the next one.
struct Dilation {
  std::vector<int64_t> offsets, strides;
};

// What one reads of its operands. Convolutions have d0 for the batch, d1 and d2 for the position, d3 and d6
// for channels of result and operand, d4 and d5 for the kernel.
struct Maps {
  const char *name, *a, *b, *c;
  std::vector<int64_t> extents;
  Dilation dilationA = {}, dilationB = {};
};

static void PrintTo(const Maps &maps, std::ostream *stream) { *stream << maps.name; }

static std::string makeType(ArrayRef<int64_t> shape, const std::string &element) {
  std::string type = "tensor<";
  for (int64_t size : shape)
    type += std::to_string(size) + "x";
  return type + element + ">";
}

// The shape of a tensor that has every element which `map` names.
static SmallVector<int64_t> getShape(AffineMap map, ArrayRef<int64_t> extents) {
  MLIRContext *context = map.getContext();
  SmallVector<int64_t> shape;
  for (AffineExpr expr : map.getResults()) {
    SmallVector<AffineExpr> at(extents.size(), getAffineConstantExpr(0, context));
    auto evaluate = [&] { return cast<AffineConstantExpr>(expr.replaceDims(at)).getValue(); };
    int64_t first = evaluate(), size = first + 1;
    for (auto [dim, extent] : llvm::enumerate(extents)) {
      at[dim] = getAffineConstantExpr(extent - 1, context);
      size += std::max<int64_t>(evaluate() - first, 0);
      at[dim] = getAffineConstantExpr(0, context);
    }
    shape.push_back(size);
  }
  return shape;
}

// The type of what is dilated to `shape`, and the op that does it; `shape` itself and none if nothing does.
static std::pair<std::string, std::string>
makeDilation(char operand, ArrayRef<int64_t> shape, const Dilation &dilation, const std::string &element) {
  std::string type = makeType(shape, element);
  if (dilation.strides.empty())
    return {type, ""};
  SmallVector<int64_t> source;
  for (auto [size, offset, stride] : llvm::zip_equal(shape, dilation.offsets, dilation.strides))
    source.push_back(llvm::divideCeil(size - offset, stride));
  auto print = [](ArrayRef<int64_t> numbers) {
    return "[" + llvm::join(llvm::map_range(numbers, [](int64_t n) { return std::to_string(n); }), ", ") +
           "]";
  };
  std::string stored = makeType(source, element);
  return {stored, substitute("%z$O = arith.constant dense<0.0> : $D\n  %$O = tensor.insert_slice %s$O into "
                             "%z$O$F$N$S : $T into $D",
                             {{"O", std::string(1, operand)},
                              {"D", type},
                              {"F", print(dilation.offsets)},
                              {"N", print(source)},
                              {"S", print(dilation.strides)},
                              {"T", stored}})};
}

// Elements of a, of b and of the result, to which operands are widened.
struct Elements {
  std::string a, b, result;
  Elements(const char *same) : Elements(same, same, same) {}
  Elements(const char *a, const char *b, const char *result) : a(a), b(b), result(result) {}
};

static std::string makeContraction(const Maps &maps, const Elements &elements, bool accumulates) {
  MLIRContext context;
  std::string dims, iterators, types[3], attributes[3];
  SmallVector<int64_t> shapes[3];
  for (size_t dim = 0; dim < maps.extents.size(); ++dim)
    dims += (dim ? ", d" : "d") + std::to_string(dim);
  const char *results[] = {maps.a, maps.b, maps.c};
  const std::string *element[] = {&elements.a, &elements.b, &elements.result};
  AffineMap map;
  for (int operand = 0; operand < 3; ++operand) {
    attributes[operand] = "affine_map<(" + dims + ") -> (" + results[operand] + ")>";
    map = cast<AffineMapAttr>(parseAttribute(attributes[operand], &context)).getValue();
    shapes[operand] = getShape(map, maps.extents);
    types[operand] = makeType(shapes[operand], *element[operand]);
  }
  auto [storedA, dilationA] = makeDilation('a', shapes[0], maps.dilationA, elements.a);
  auto [storedB, dilationB] = makeDilation('b', shapes[1], maps.dilationB, elements.b);
  for (size_t dim = 0; dim < maps.extents.size(); ++dim)
    iterators += (dim ? ", \"" : "\"") + std::string(map.isFunctionOfDim(dim) ? "parallel\"" : "reduction\"");
  bool isFloat = elements.result.find('f') != std::string::npos;
  auto widen = [&](const char *argument, const std::string &type) {
    return type == elements.result ? std::string()
                                   : substitute("%$Xw = arith.extf %$X : $F to $T",
                                                {{"X", argument}, {"F", type}, {"T", elements.result}});
  };
  return substitute(
      R"(
epl.kernel @k contraction {
^bb0($D: $O, $E: $P$I):
  $Q
  $R
  $S
  %y = linalg.generic {indexing_maps = [$L, $M, $N], iterator_types = [$J]} ins(%a, %b : $A, $B) outs(%s : $C) {
  ^bb0(%x: $X, %z: $Z, %o: $T):
    $V
    $W
    %p = arith.mul$F %x$G, %z$H : $T
    %q = arith.add$F %o, %p : $T
    linalg.yield %q : $T
  } -> $C
  epl.yield %y : $C
})",
      {{"I", accumulates ? ", %s: " + types[2] : ""},
       {"S", accumulates ? "" : "%s = arith.constant dense<" + std::string(isFloat ? "0.0" : "0") + "> : $C"},
       {"D", dilationA.empty() ? "%a" : "%sa"},
       {"E", dilationB.empty() ? "%b" : "%sb"},
       {"O", storedA},
       {"P", storedB},
       {"Q", dilationA},
       {"R", dilationB},
       {"A", types[0]},
       {"B", types[1]},
       {"C", types[2]},
       {"L", attributes[0]},
       {"M", attributes[1]},
       {"N", attributes[2]},
       {"J", iterators},
       {"F", isFloat ? "f" : "i"},
       {"X", elements.a},
       {"Z", elements.b},
       {"V", widen("x", elements.a)},
       {"W", widen("z", elements.b)},
       {"G", elements.a == elements.result ? "" : "w"},
       {"H", elements.b == elements.result ? "" : "w"},
       {"T", elements.result}});
}

static const Maps kContractions[] = {
    {"forward", "d0, d1 + d4, d2 + d5, d6", "d4, d5, d6, d3", "d0, d1, d2, d3", {2, 5, 15, 37, 3, 3, 19}},
    {"few_rows", "d0, d1 + d4, d2 + d5, d6", "d4, d5, d6, d3", "d0, d1, d2, d3", {3, 2, 2, 130, 3, 3, 5}},
    {"one_channel", "d0, d1 + d4, d2 + d5, d6", "d4, d5, d6, d3", "d0, d1, d2, d3", {2, 9, 28, 32, 3, 5, 1}},
    {"dilated",
     "d0, d1 * 2 + d4 * 3, d2 * 3 + d5 * 2, d6",
     "d4, d5, d6, d3",
     "d0, d1, d2, d3",
     {2, 4, 7, 20, 3, 2, 6}},
    {"in_memory", "d0, d1 + d4, d2 + d5, d6", "d4, d5, d6, d3", "d0, d1, d2, d3", {2, 30, 30, 33, 3, 3, 128}},
    {"operand", "d0, d1 + d4, d2 + d5, d6", "d4, d5, d3, d6", "d0, d1, d2, d3", {2, 5, 15, 37, 3, 3, 19}},
    {"reversed",
     "d0, d1 - d4 + 2, d2 - d5 * 2 + 4, d6",
     "d4, d5, d6, d3",
     "d0, d1, d2, d3",
     {2, 5, 7, 16, 3, 3, 8}},
    {"kernel", "d0, d1 + d4, d2 + d5, d6", "d0, d1, d2, d3", "d4, d5, d6, d3", {3, 30, 40, 33, 3, 2, 5}},
    {"kernel_one_channel",
     "d0, d1 + d4, d2 + d5, d6",
     "d0, d1, d2, d3",
     "d4, d5, d6, d3",
     {2, 9, 14, 32, 3, 3, 1}},
    {"channels_first",
     "d0, d6, d1 + d4, d2 + d5",
     "d3, d6, d4, d5",
     "d0, d3, d1, d2",
     {2, 5, 19, 17, 3, 3, 6}},
    {"channels_first_kernel",
     "d0, d6, d1 + d4, d2 + d5",
     "d0, d3, d1, d2",
     "d3, d6, d4, d5",
     {2, 15, 19, 17, 3, 3, 6}},
    {"groups", "d0, d1 + d4, d2, d5, d6", "d4, d6, d5, d3", "d0, d1, d2, d5, d3", {2, 5, 7, 18, 3, 4, 6}},
    {"depthwise", "d0, d1 + d4, d2 + d5, d3", "d4, d5, d3", "d0, d1, d2, d3", {2, 5, 15, 37, 3, 3}},
    {"depthwise_kernel", "d0, d1 + d4, d2 + d5, d3", "d0, d1, d2, d3", "d4, d5, d3", {2, 5, 15, 37, 3, 3}},
    {"line", "d0, d1 + d3, d4", "d3, d4, d2", "d0, d1, d2", {3, 40, 24, 5, 7}},
    {"volume",
     "d0, d1 + d5, d2 + d6, d3 + d7, d8",
     "d5, d6, d7, d8, d4",
     "d0, d1, d2, d3, d4",
     {2, 3, 4, 5, 20, 2, 3, 2, 4}},
    {"outer", "d0, d1", "d2, d3", "d0, d2, d1, d3", {5, 7, 3, 18}},
};

class ContractionsTest : public testing::TestWithParam<Maps> {};

TEST_P(ContractionsTest, AgreesWithScalarLoops) {
  for (bool accumulates : {false, true})
    for (const Elements &elements : {Elements("f32"), Elements("bf16"), Elements("bf16", "bf16", "f32")})
      checkForms(makeContraction(GetParam(), elements, accumulates), "host");
}

INSTANTIATE_TEST_SUITE_P(Maps, ContractionsTest, testing::ValuesIn(kContractions),
                         [](const auto &info) { return std::string(info.param.name); });

// Gradients of strided convolutions, whose zeros scalar loops multiply.
static const Maps kDilations[] = {
    {"operand",
     "d0, d1 + d4, d2 + d5, d6",
     "d4, d5, d3, d6",
     "d0, d1, d2, d3",
     {2, 9, 14, 20, 3, 3, 18},
     {{0, 1, 0, 0}, {1, 2, 2, 1}}},
    {"operand_turned",
     "d0, d1 - d4 + 2, d2 - d5 + 4, d6",
     "d4, d5, d3, d6",
     "d0, d1, d2, d3",
     {2, 9, 14, 20, 3, 5, 18},
     {{0, 0, 1, 0}, {1, 3, 2, 1}}},
    {"patches",
     "d0, d1 - d4 + 3, d2 - d5 + 3, d6",
     "d4, d5, d3, d6",
     "d0, d1, d2, d3",
     {3, 12, 20, 3, 4, 4, 33},
     {{0, 3, 3, 0}, {1, 4, 4, 1}}},
    {"between_windows",
     "d0, d1 + d4, d2 + d5, d6",
     "d4, d5, d3, d6",
     "d0, d1, d2, d3",
     {2, 10, 13, 20, 2, 1, 18},
     {{0, 2, 0, 0}, {1, 4, 3, 1}}},
    {"operand_dilated",
     "d0, d1 + d4 * 2, d2 + d5 * 3, d6",
     "d4, d5, d3, d6",
     "d0, d1, d2, d3",
     {2, 9, 14, 20, 3, 3, 18},
     {{0, 1, 0, 0}, {1, 2, 2, 1}}},
    {"kernel",
     "d0, d1 + d4, d2 + d5, d6",
     "d0, d1, d2, d3",
     "d4, d5, d6, d3",
     {3, 13, 15, 33, 3, 2, 5},
     {},
     {{0, 0, 0, 0}, {1, 3, 2, 1}}},
    {"both",
     "d0, d1 * 2 + d4, d2 + d5, d6",
     "d4, d5, d6, d3",
     "d0, d1, d2, d3",
     {2, 9, 14, 20, 5, 7, 6},
     {{0, 1, 2, 0}, {1, 3, 3, 1}},
     {{0, 0, 0, 0}, {2, 3, 1, 1}}},
    {"in_memory",
     "d0, d1 + d4, d2 + d5, d6",
     "d4, d5, d6, d3",
     "d0, d1, d2, d3",
     {1, 40, 30, 33, 3, 3, 512},
     {{0, 0, 1, 0}, {1, 2, 2, 1}}},
    {"line", "d0, d1 + d3, d4", "d3, d2, d4", "d0, d1, d2", {2, 40, 24, 5, 7}, {{0, 1, 0}, {1, 4, 1}}},
    {"depthwise",
     "d0, d1 + d4, d2 + d5, d3",
     "d4, d5, d3",
     "d0, d1, d2, d3",
     {2, 5, 15, 37, 3, 3},
     {{0, 1, 1, 0}, {1, 2, 2, 1}}},
};

TEST(Contractions, SkipZerosBetweenElements) {
  const FormChecks checks = {
      .seed = 2, .form = "tiled", .withSpecial = false}; // loops multiply 0 by infinity
  for (const Maps &maps : kDilations)
    for (const Elements &elements : {Elements("f32"), Elements("bf16")})
      checkForms(makeContraction(maps, elements, /*accumulates=*/false), "host", checks);
}

TEST(Contractions, AreTiledForEveryTypeOfRegisters) {
  for (const Elements &elements :
       {Elements("f32"), Elements("f64"), Elements("i8"), Elements("i32"), Elements("i64"), Elements("bf16"),
        Elements("f16"), Elements("f16", "f16", "f32"), Elements("f32", "bf16", "f32")})
    for (const Maps &maps : ArrayRef(kContractions).take_front(3))
      checkForms(makeContraction(maps, elements, /*accumulates=*/false), "host",
                 {.seed = 1, .form = "tiled"});
}

// A thread of a GPU has an element. The stand-in of one takes too long for the large ones.
TEST(Contractions, AreOfElementsOnAGpu) {
  auto isLarge = [](const Maps &maps) {
    return std::accumulate(maps.extents.begin(), maps.extents.end(), 1.0, std::multiplies<>()) > 1e5;
  };
  for (const Maps &maps : kContractions)
    if (!isLarge(maps))
      checkFormsOnGpu(makeContraction(maps, "f32", /*accumulates=*/true), {.seed = 3});
  for (const Maps &maps : kDilations)
    if (!isLarge(maps))
      checkFormsOnGpu(makeContraction(maps, "f32", /*accumulates=*/false),
                      {.seed = 2, .form = "element", .withSpecial = false});
}

TEST(Contractions, AreOfElementsOfEveryTypeOnAGpu) {
  auto isDepthwise = [](const Maps &maps) { return StringRef(maps.name) == "depthwise"; };
  for (const Elements &elements :
       {Elements("f64"), Elements("i8"), Elements("i32"), Elements("i64"), Elements("bf16"), Elements("f16"),
        Elements("f16", "f16", "f32"), Elements("f32", "bf16", "f32")})
    checkFormsOnGpu(
        makeContraction(*llvm::find_if(kContractions, isDepthwise), elements, /*accumulates=*/false),
        {.seed = 1, .form = "element"});
}

class ContractionLevelsTest : public testing::TestWithParam<const char *> {};

TEST_P(ContractionLevelsTest, AgreesWithScalarLoops) {
  if (!canExecute(GetParam()))
    GTEST_SKIP() << "this machine cannot execute code for " << GetParam();
  for (const Maps &maps : kContractions)
    if (StringRef(maps.name) != "in_memory") { // takes long
      checkForms(makeContraction(maps, "f32", /*accumulates=*/false), GetParam());
      checkForms(makeContraction(maps, "f16", /*accumulates=*/false), GetParam());
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, ContractionLevelsTest, testing::ValuesIn(kLevels),
                         [](const auto &info) { return std::to_string(info.index + 1); });
