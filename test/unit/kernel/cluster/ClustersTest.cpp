//===- ClustersTest.cpp - Groups of random programs can be ordered --------===//

#include "passes/kernel/cluster/Clusters.h"
#include "passes/kernel/cluster/OpRoles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::epl;
using llvm::formatv;

namespace {

/// Tensors of the programs, and how a loop nest of 4 by 8 walks them.
struct Kind {
  const char *type, *map;
};
enum : int { matrix, columns, rows, scalar, transposed };
constexpr Kind kKinds[] = {{"tensor<4x8xf32>", "(d0, d1)"},
                           {"tensor<8xf32>", "(d1)"},
                           {"tensor<4xf32>", "(d0)"},
                           {"tensor<f32>", "()"},
                           {"tensor<8x4xf32>", "(d1, d0)"}};
constexpr int kCount = std::size(kKinds);

/// Writes elementwise ops, broadcasts, transposes, sums, products, slices and reshapes of such tensors.
class ProgramWriter {
public:
  explicit ProgramWriter(unsigned seed) : random(seed) {}

  std::string write() {
    std::string arguments, results, types;
    for (int kind = 0; kind < kCount; ++kind)
      arguments += formatv("{0}{1}: {2}", kind ? ", " : "", add(kind), kKinds[kind].type);
    for (int kind = 0; kind < kCount; ++kind) {
      line("%empty{0} = tensor.empty() : {1}", kind, kKinds[kind].type);
      line("%zero{0} = arith.constant dense<0.0> : {1}", kind, kKinds[kind].type);
    }
    for (int ops = 5 + pick(80); ops > 0; --ops)
      writeOp();
    for (int kind = 0; kind < kCount; ++kind)
      for (const std::string &value : values[kind]) {
        results += (results.empty() ? "" : ", ") + value;
        types += formatv("{0}{1}", types.empty() ? "" : ", ", kKinds[kind].type);
      }
    return formatv("func.func @main({0}) -> ({1}) {{\n{2}  return {3} : {1}\n}\n", arguments, types, body,
                   results);
  }

private:
  int pick(int count) { return static_cast<int>(random() % count); }
  template <typename... Args> void line(const char *format, Args &&...args) {
    body += "  " + formatv(format, std::forward<Args>(args)...).str() + "\n";
  }
  std::string add(int kind) {
    values[kind].push_back(formatv("%v{0}", count++));
    return values[kind].back();
  }
  /// One of the last values of a kind, or any.
  std::string use(int kind) {
    int size = int(values[kind].size());
    return values[kind][pick(2) ? std::max(0, size - 1 - pick(3)) : pick(size)];
  }

  void writeOp() {
    switch (pick(10)) {
    case 0:
      return writeNest({matrix, columns}, columns, "reduction", "parallel", "addf");
    case 1:
      return writeNest({matrix, rows}, rows, "parallel", "reduction", "maximumf");
    case 2:
      return writeNest({matrix, scalar}, scalar, "reduction", "reduction", "addf");
    case 3:
      return writeProduct();
    case 4:
      return writeReshape();
    case 5:
      return writeSlice();
    default: { // elementwise; of one operand a broadcast, a transpose or a copy
      int kind = pick(3) ? int(matrix) : pick(kCount), other = pick(kCount);
      return kind == matrix
                 ? writeNest({matrix, other}, matrix, "parallel", "parallel", pick(3) ? "addf" : "")
                 : writeSmall(kind);
    }
    }
  }

  /// Values of two kinds to one of a third; with no op a copy of the second.
  void writeNest(std::array<int, 2> read, int made, const char *outer, const char *inner, StringRef op) {
    bool isSum = made != matrix;
    std::string a = use(read[0]), b = isSum ? formatv("%zero{0}", made).str() : use(read[1]);
    std::string out = formatv(isSum ? "%zero{0}" : "%empty{0}", made), result = add(made);
    std::string map = "affine_map<(d0, d1) -> ";
    std::string first = op.empty() || isSum ? "" : formatv("{0}{1}>, ", map, kKinds[read[0]].map).str();
    int source = isSum ? read[0] : read[1];
    std::string ins = op.empty() ? b : isSum ? a : a + ", " + b;
    std::string types = first.empty() ? std::string(kKinds[source].type)
                                      : formatv("{0}, {1}", kKinds[read[0]].type, kKinds[source].type).str();
    line("{0} = linalg.generic {{indexing_maps = [{1}{2}{3}>, {2}{4}>], iterator_types = [\"{5}\", \"{6}\"]} "
         "ins({7} : {8}) outs({9} : {10}) {{",
         result, first, map, kKinds[source].map, kKinds[made].map, outer, inner, ins, types, out,
         kKinds[made].type);
    line("^bb0({0}%b: f32, %o: f32):", first.empty() ? "" : "%a: f32, ");
    if (!op.empty())
      line("  %y = arith.{0} {1}, %b : f32", op, isSum ? "%o" : "%a");
    line("  linalg.yield {0} : f32\n  } -> {1}", op.empty() ? "%b" : "%y", kKinds[made].type);
  }

  /// An exponential of any tensor, or the sum of two.
  void writeSmall(int kind) {
    bool isSum = pick(2);
    std::string a = use(kind), more = isSum ? ", " + use(kind) : "", type = kKinds[kind].type;
    line("{0} = linalg.{1} ins({2}{3} : {4}{5}) outs(%empty{6} : {4}) -> {4}", add(kind),
         isSum ? "add" : "exp", a, more, type, isSum ? ", " + type : "", kind);
  }

  void writeProduct() {
    std::string a = use(rows), b = use(matrix);
    line("{0} = linalg.vecmat ins({1}, {2} : tensor<4xf32>, tensor<4x8xf32>) outs(%zero{3} : tensor<8xf32>) "
         "-> tensor<8xf32>",
         add(columns), a, b, int(columns));
  }

  void writeReshape() {
    std::string flat = formatv("%flat{0}", count), source = use(matrix);
    line("{0} = tensor.collapse_shape {1} [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>", flat, source);
    line("{0} = tensor.expand_shape {1} [[0, 1]] output_shape [8, 4] : tensor<32xf32> into tensor<8x4xf32>",
         add(transposed), flat);
  }

  void writeSlice() {
    std::string source = use(columns);
    line("{0} = tensor.extract_slice {1}[2] [4] [1] : tensor<8xf32> to tensor<4xf32>", add(rows), source);
  }

  std::mt19937 random;
  std::vector<std::string> values[kCount];
  std::string body;
  int count = 0;
};

class Clusters : public testing::Test {
protected:
  Clusters() {
    context.loadDialect<EplDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                        math::MathDialect, tensor::TensorDialect>();
  }

  /// The block of a function, with structured ops as the compiler has them: generalized.
  Block &parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    IRRewriter rewriter(&context);
    SmallVector<linalg::LinalgOp> named;
    module->walk([&](linalg::LinalgOp op) {
      if (!isa<linalg::GenericOp>(op))
        named.push_back(op);
    });
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      EXPECT_TRUE(succeeded(linalg::generalizeNamedOp(rewriter, op)));
    }
    return (*module->getOps<func::FuncOp>().begin()).front();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(Clusters, OfRandomProgramsDoNotNeedOneAnother) {
  size_t joined = 0;
  for (unsigned seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    std::string text = ProgramWriter(seed).write();
    SCOPED_TRACE("seed " + std::to_string(seed) + ":\n" + text);
    Block &body = parse(text);
    SmallVector<Group> groups =
        groupOps(body, {/*maxOps=*/seed % 3 ? 10 * (seed % 7 + 1) : 250, /*maxOperands=*/48});
    DenseSet<Operation *> members;
    for (const Group &group : groups)
      members.insert(group.ops.begin(), group.ops.end());
    for (Operation &op : body.without_terminator()) {
      bool isMember = getOpRole(&op) == OpRole::fusion || getOpRole(&op) == OpRole::contraction;
      EXPECT_EQ(members.contains(&op), isMember);
    }
    joined += members.size() - groups.size();
    auto order = orderGroups(body, groups);
    ASSERT_TRUE(succeeded(order));
    EXPECT_EQ(order->size(), groups.size()); // each value is a result
  }
  EXPECT_GT(joined, 5000u);
}

TEST_F(Clusters, ThatNeedOneAnotherHaveNoOrder) {
  Block &body = parse(R"(func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %b = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %c = linalg.exp ins(%b : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    return %c : tensor<4xf32>
  })");
  SmallVector<Operation *> ops;
  for (auto op : body.getOps<linalg::GenericOp>())
    ops.push_back(op);
  Group outside{KernelKind::fusion, {ops[0], ops[2]}}, between{KernelKind::fusion, {ops[1]}};
  EXPECT_TRUE(failed(orderGroups(body, {outside, between})));
  Group first{KernelKind::fusion, {ops[0], ops[1]}}, last{KernelKind::fusion, {ops[2]}};
  SmallVector<Group> groups{last, first};
  auto order = orderGroups(body, groups);
  ASSERT_TRUE(succeeded(order));
  EXPECT_EQ(*order, SmallVector<const Group *>({&groups[1], &groups[0]}));
}

} // namespace
