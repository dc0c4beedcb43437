//===- RandomProgram.cpp - Random global programs -------------------------===//

#include "RandomProgram.h"

#include "mlir/Support/LLVM.h"
#include "llvm/Support/FormatVariadic.h"

#include <random>

using namespace mlir;

using llvm::formatv;

namespace {
class ProgramWriter {
public:
  explicit ProgramWriter(unsigned seed) : random(seed) {}

  std::string write() {
    std::string arguments;
    for (int i = 0; i < 4; ++i)
      arguments += addArgument(i == 0 ? "" : ", ");
    writeConstants();
    for (int ops = 3 + pick(20); ops > 0; --ops)
      writeOp();
    int rank = pick(3);
    std::string results = formatv("{0}, {1}", use(rank), use(0)), types;
    types =
        formatv("{0}{1}, tensor<f32>", getType(rank), rank == firstRank ? " {epl.updates = 0 : i64}" : "");
    return formatv("epl.mesh @mesh axes [\"data\"=2]\n"
                   "func.func @main({0}) -> ({1}) {{\n{2}  return {3} : {4}, tensor<f32>\n}\n",
                   arguments, types, body, results, getType(rank));
  }

private:
  int pick(int count) { return static_cast<int>(random() % count); }
  static StringRef getType(int rank) {
    return rank == 0 ? "tensor<f32>" : rank == 1 ? "tensor<8xf32>" : "tensor<8x8xf32>";
  }

  /// A vector or matrix that is replicated, sharded, or open: one that propagation may shard.
  std::string addArgument(StringRef separator) {
    static constexpr StringRef kDims[2][3] = {{"{}", "{\"data\"}", "{\"data\"}"},
                                              {"{}, {}", "{\"data\"}, {}", "{}, {\"data\"}"}};
    int rank = 1 + pick(2), kind = pick(4);
    firstRank = values[1].empty() && values[2].empty() ? rank : firstRank;
    std::string argument = formatv("{0}{1}: {2}", separator, add(rank), getType(rank));
    if (kind < 3)
      argument += formatv(" {{epl.sharding = #epl.sharding<@mesh, [{0}]>}", kDims[rank - 1][kind]);
    return argument;
  }

  void writeConstants() {
    for (int rank = 0; rank < 3; ++rank) {
      line("%empty{0} = tensor.empty() : {1}", rank, getType(rank));
      line("%zero{0} = arith.constant dense<0.0> : {1}", rank, getType(rank));
      line("{0} = arith.constant dense<3.0> : {1}", add(rank), getType(rank));
    }
  }

  /// A new value of `rank`.
  std::string add(int rank) {
    values[rank].push_back(formatv("%v{0}", count++));
    return values[rank].back();
  }
  /// Any value of `rank` so far.
  std::string use(int rank) { return values[rank][pick(values[rank].size())]; }

  template <typename... Args> void line(const char *format, Args &&...args) {
    body += "  " + formatv(format, std::forward<Args>(args)...).str() + "\n";
  }

  void writeOp() {
    switch (pick(9)) {
    case 0:
    case 1:
      return writeBinary(pick(3), pick(3) ? "addf" : "mulf");
    case 2:
      return writeUnary(pick(3), pick(2) ? "exp" : "absf");
    case 3:
      return writeTranspose();
    case 4:
      return writeMatmul();
    case 5:
      return writeReduce(pick(2) ? "addf" : "maximumf");
    case 6:
      return writeSum();
    case 7:
      return pick(2) ? writeBroadcast() : writeIota();
    default:
      return writeSlices(pick(2));
    }
  }

  void writeBinary(int rank, StringRef op) {
    std::string a = use(rank), b = use(rank);
    line("{0} = linalg.map {{ arith.{1} } ins({2}, {3} : {4}, {4}) outs(%empty{5} : {4})", add(rank), op, a,
         b, getType(rank), rank);
  }
  void writeUnary(int rank, StringRef op) {
    std::string a = use(rank);
    line("{0} = linalg.map {{ math.{1} } ins({2} : {3}) outs(%empty{4} : {3})", add(rank), op, a,
         getType(rank), rank);
  }
  void writeTranspose() {
    std::string a = use(2);
    line("{0} = linalg.transpose ins({1} : tensor<8x8xf32>) outs(%empty2 : tensor<8x8xf32>) permutation = "
         "[1, 0]",
         add(2), a);
  }
  /// Mostly from zero, sometimes from any other value.
  void writeMatmul() {
    std::string a = use(2), b = use(2), init = pick(4) ? "%zero2" : use(2);
    line(
        "{0} = linalg.matmul ins({1}, {2} : tensor<8x8xf32>, tensor<8x8xf32>) outs({3} : tensor<8x8xf32>) -> "
        "tensor<8x8xf32>",
        add(2), a, b, init);
  }
  void writeReduce(StringRef op) {
    std::string a = use(2), init = pick(4) ? "%zero1" : use(1);
    line("{0} = linalg.reduce {{ arith.{1} } ins({2} : tensor<8x8xf32>) outs({3} : tensor<8xf32>) "
         "dimensions = [{4}]",
         add(1), op, a, init, pick(2));
  }
  void writeSum() {
    std::string a = use(1);
    line("{0} = linalg.reduce {{ arith.addf } ins({1} : tensor<8xf32>) outs(%zero0 : tensor<f32>) "
         "dimensions = [0]",
         add(0), a);
  }
  void writeBroadcast() {
    std::string a = use(1);
    line("{0} = linalg.broadcast ins({1} : tensor<8xf32>) outs(%empty2 : tensor<8x8xf32>) dimensions = [{2}]",
         add(2), a, pick(2));
  }
  /// The position along one dimension.
  void writeIota() {
    line(
        "{0} = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], "
        "iterator_types = [\"parallel\", \"parallel\"]} outs(%empty2 : tensor<8x8xf32>) {{\n"
        "  ^bb0(%out: f32):\n    %i = linalg.index {1} : index\n    %c = arith.index_cast %i : index to i32\n"
        "    %f = arith.sitofp %c : i32 to f32\n    linalg.yield %f : f32\n  } -> tensor<8x8xf32>",
        add(2), pick(2));
  }
  /// Two halves of matrices, side by side.
  void writeSlices(int dim) {
    StringRef size = dim == 0 ? "4, 8" : "8, 4", type = dim == 0 ? "tensor<4x8xf32>" : "tensor<8x4xf32>";
    int first = slices;
    for (std::string source : {use(2), use(2)})
      line("%s{0} = tensor.extract_slice {1}[0, 0] [{2}] [1, 1] : tensor<8x8xf32> to {3}", slices++, source,
           size, type);
    line("{0} = epl.concatenate %s{1}, %s{2} dim {3} : ({4}, {4}) -> tensor<8x8xf32>", add(2), first,
         first + 1, dim, type);
  }

  std::mt19937 random;
  std::string body;
  std::vector<std::string> values[3]; ///< by rank
  int count = 0, slices = 0, firstRank = 0;
};
} // namespace

std::string mlir::epl::writeRandomProgram(unsigned seed) { return ProgramWriter(seed).write(); }
