//===- FormsTest.cpp - Every form of loop nest computes the kernel ---------------===//
//
// Each kernel in kernels/ is compiled twice: op by op in scalar loops, and in the form that the compiler
// chooses. Both run on the same random data, the second one whole and in slices cut at odd places.
//
//===----------------------------------------------------------------------===//

#include "CompiledKernels.h"

#include "passes/kernel/CpuTarget.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/AffineExpr.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::epl;
using namespace mlir::epl::test;

// Element `index` as a double, exact for every type but large i64.
static double getElement(const Bytes &bytes, Type type, int64_t index) {
  auto read = [&](auto value) {
    std::memcpy(&value, bytes.data() + index * sizeof(value), sizeof(value));
    return double(value);
  };
  if (type.isF32())
    return read(float());
  if (type.isF64())
    return read(double());
  if (type.isBF16() || type.isF16()) {
    uint16_t bits = uint16_t(read(uint16_t()));
    return llvm::APFloat(cast<FloatType>(type).getFloatSemantics(), llvm::APInt(16, bits)).convertToDouble();
  }
  switch (llvm::divideCeil(type.getIntOrFloatBitWidth(), 8)) {
  case 1:
    return read(int8_t());
  case 4:
    return read(int32_t());
  default:
    return read(int64_t());
  }
}

static void setElement(Bytes &bytes, Type type, int64_t index, double number) {
  auto write = [&](auto value) { std::memcpy(bytes.data() + index * sizeof(value), &value, sizeof(value)); };
  if (type.isF32())
    return write(float(number));
  if (type.isF64())
    return write(number);
  if (type.isBF16() || type.isF16()) {
    llvm::APFloat value(number);
    bool lost;
    value.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return write(uint16_t(value.bitcastToAPInt().getZExtValue()));
  }
  switch (llvm::divideCeil(type.getIntOrFloatBitWidth(), 8)) {
  case 1:
    return write(int8_t(number));
  case 4:
    return write(int32_t(number));
  default:
    return write(int64_t(number));
  }
}

static Bytes makeRandom(RankedTensorType type, std::mt19937 &engine, bool special) {
  Type element = type.getElementType();
  Bytes bytes(type.getNumElements() * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
  std::normal_distribution<double> normal;
  for (int64_t index = 0; index < type.getNumElements(); ++index) {
    double number = normal(engine);
    if (special && engine() % 31 == 0) {
      const double specials[] = {NAN, INFINITY, -INFINITY};
      number = specials[engine() % 3];
    }
    if (element.isInteger(1))
      number = engine() % 2;
    else if (isa<IntegerType>(element))
      number = engine() % 5;
    setElement(bytes, element, index, number);
  }
  return bytes;
}

static double getTolerance(Type type) {
  if (isa<IntegerType>(type))
    return 0;
  return type.isF64() ? 1e-12 : type.isF32() ? 3e-5 : 3e-2;
}

static void expectEqual(const CompiledKernel &kernel, const std::vector<Bytes> &found,
                        const std::vector<Bytes> &expected, const std::string &what) {
  for (auto [result, type] : llvm::enumerate(kernel.outputs)) {
    Type element = type.getElementType();
    double scale = 1; // sums cancel: errors are relative to the largest element
    for (int64_t index = 0; index < type.getNumElements(); ++index)
      if (double y = getElement(expected[result], element, index); std::isfinite(y))
        scale = std::max(scale, std::abs(y));
    for (int64_t index = 0; index < type.getNumElements(); ++index) {
      double x = getElement(found[result], element, index), y = getElement(expected[result], element, index);
      bool equal =
          x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= getTolerance(element) * scale;
      ASSERT_TRUE(equal) << kernel.name << " (" << kernel.form << ") " << what << ": result " << result
                         << ", element " << index << " is " << x << ", expected " << y;
    }
  }
}

// Cuts of [0, extent); of blocks, which are few, every slice there can be.
static std::vector<std::vector<int64_t>> getCuts(const CompiledKernel &kernel) {
  int64_t extent = kernel.extent;
  std::vector<std::vector<int64_t>> cuts = {{0, extent}};
  if (extent > 1)
    cuts.push_back({0, 1, extent});
  if (extent > 7)
    cuts.push_back({0, extent / 3, extent / 3, extent / 2 + 1, extent - 1, extent});
  if (kernel.form != "column" && kernel.form != "transpose")
    return cuts;
  for (int64_t begin = 0; begin < extent; ++begin)
    for (int64_t end = begin + 1; end <= extent; ++end)
      cuts.push_back({0, begin, end, extent});
  return cuts;
}

// A file of kernels and the element type that stands in it for $T.
struct KernelFile {
  const char *name, *type;
};

static void PrintTo(const KernelFile &file, std::ostream *stream) { *stream << file.name << file.type; }

// Tensors in the files have $R rows and $C columns, or $S and $D: a few more.
struct Size {
  int64_t rows, columns;
};

static void PrintTo(const Size &size, std::ostream *stream) { *stream << size.rows << "x" << size.columns; }

static std::string readKernels(const KernelFile &file, const Size &size) {
  std::ifstream stream(std::string(EPL_KERNELS) + "/" + file.name + ".mlir");
  EXPECT_TRUE(stream) << file.name;
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  return substitute(text, {{"R", std::to_string(size.rows)},
                           {"S", std::to_string(size.rows + 1)},
                           {"C", std::to_string(size.columns)},
                           {"D", std::to_string(size.columns + 4)},
                           {"T", file.type}});
}

static void checkForms(const std::string &text, const std::string &cpu, unsigned seed = 0,
                       const std::string &form = "") {
  CodegenOptions loops, vectors;
  loops.loops = true;
  vectors.cpu = cpu;
  CompiledKernels reference(text, loops), chosen(text, vectors);
  std::mt19937 engine(seed);
  for (const CompiledKernel &kernel : chosen.getKernels())
    for (bool special : {false, true}) {
      std::vector<Bytes> inputs;
      for (RankedTensorType type : kernel.inputs)
        inputs.push_back(makeRandom(type, engine, special));
      const CompiledKernel &slow = reference.get(kernel.name);
      std::vector<Bytes> expected = slow.run(inputs, {0, slow.extent});
      for (const std::vector<int64_t> &cuts : getCuts(kernel))
        expectEqual(kernel, kernel.run(inputs, cuts), expected, testing::PrintToString(cuts));
      EXPECT_TRUE(form.empty() || kernel.form == form) << kernel.name << " is " << kernel.form;
    }
}

static void checkForms(const KernelFile &file, const Size &size, const std::string &cpu) {
  checkForms(readKernels(file, size), cpu, size.rows * 1000 + size.columns);
}

class FormsTest : public testing::TestWithParam<std::tuple<KernelFile, Size>> {};

TEST_P(FormsTest, AgreesWithScalarLoops) {
  checkForms(std::get<KernelFile>(GetParam()), std::get<Size>(GetParam()), "host");
}

static const Size kSizes[] = {{1, 1},   {1, 17},  {3, 1},    {3, 7},    {7, 12},  {17, 63},
                              {63, 65}, {65, 33}, {5, 1000}, {1000, 3}, {16, 64}, {2, 130}};
static const KernelFile kFiles[] = {
    {"elementwise", ""}, {"rows", ""}, {"columns", ""}, {"moves", ""}, {"sorts", ""}};
static const KernelFile kTransposes[] = {{"transpose", "f32"}, {"transpose", "f64"}, {"transpose", "i32"},
                                         {"transpose", "i64"}, {"transpose", "i1"},  {"transpose", "bf16"}};

static std::string getName(const testing::TestParamInfo<FormsTest::ParamType> &info) {
  auto [file, size] = info.param;
  return testing::PrintToString(file) + "_" + testing::PrintToString(size);
}

INSTANTIATE_TEST_SUITE_P(Sizes, FormsTest,
                         testing::Combine(testing::ValuesIn(kFiles), testing::ValuesIn(kSizes)), getName);
INSTANTIATE_TEST_SUITE_P(Types, FormsTest,
                         testing::Combine(testing::ValuesIn(kTransposes), testing::ValuesIn(kSizes)),
                         getName);

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

// What one reads of its operands. Convolutions have d0 for the batch, d1 and d2 for the position, d3 and d6
// for channels of result and operand, d4 and d5 for the kernel.
struct Maps {
  const char *name, *a, *b, *c;
  std::vector<int64_t> extents;
};

static void PrintTo(const Maps &maps, std::ostream *stream) { *stream << maps.name; }

// The type of a tensor that has every element which `map` names.
static std::string getType(AffineMap map, ArrayRef<int64_t> extents, const std::string &element) {
  MLIRContext *context = map.getContext();
  std::string type = "tensor<";
  for (AffineExpr expr : map.getResults()) {
    SmallVector<AffineExpr> at(extents.size(), getAffineConstantExpr(0, context));
    auto evaluate = [&] { return cast<AffineConstantExpr>(expr.replaceDims(at)).getValue(); };
    int64_t first = evaluate(), size = first + 1;
    for (auto [dim, extent] : llvm::enumerate(extents)) {
      at[dim] = getAffineConstantExpr(extent - 1, context);
      size += std::max<int64_t>(evaluate() - first, 0);
      at[dim] = getAffineConstantExpr(0, context);
    }
    type += std::to_string(size) + "x";
  }
  return type + element + ">";
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
  for (size_t dim = 0; dim < maps.extents.size(); ++dim)
    dims += (dim ? ", d" : "d") + std::to_string(dim);
  const char *results[] = {maps.a, maps.b, maps.c};
  const std::string *element[] = {&elements.a, &elements.b, &elements.result};
  AffineMap map;
  for (int operand = 0; operand < 3; ++operand) {
    attributes[operand] = "affine_map<(" + dims + ") -> (" + results[operand] + ")>";
    map = cast<AffineMapAttr>(parseAttribute(attributes[operand], &context)).getValue();
    types[operand] = getType(map, maps.extents, *element[operand]);
  }
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
^bb0(%a: $A, %b: $B$I):
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

TEST(Contractions, AreTiledForEveryTypeOfRegisters) {
  for (const Elements &elements :
       {Elements("f32"), Elements("f64"), Elements("i8"), Elements("i32"), Elements("i64"), Elements("bf16"),
        Elements("f16"), Elements("f16", "f16", "f32"), Elements("f32", "bf16", "f32")})
    for (const Maps &maps : ArrayRef(kContractions).take_front(3))
      checkForms(makeContraction(maps, elements, /*accumulates=*/false), "host", /*seed=*/1, "tiled");
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

// Vectors of 128, 256 and 512 bits, without and with multiply-add.
class LevelsTest : public testing::TestWithParam<std::string> {};

TEST_P(LevelsTest, AgreesWithScalarLoops) {
  CpuTarget level = *getCpuTarget(GetParam()), host = *getCpuTarget("host");
  if (!llvm::all_of(level.features, [&](StringRef feature) { return host.has(feature); }))
    GTEST_SKIP() << "this machine cannot execute code for " << level.cpu;
  for (const KernelFile &file : kFiles)
    for (Size size : {Size{7, 12}, Size{17, 63}})
      checkForms(file, size, level.cpu);
  checkForms({"transpose", "f32"}, {17, 63}, level.cpu);
  for (const Maps &maps : kContractions)
    if (StringRef(maps.name) != "in_memory") { // takes long
      checkForms(makeContraction(maps, "f32", /*accumulates=*/false), level.cpu);
      checkForms(makeContraction(maps, "f16", /*accumulates=*/false), level.cpu);
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, LevelsTest, testing::Values("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"),
                         [](const auto &info) { return std::to_string(info.index + 1); });
