//===- RandomProgram.cpp - Random global programs -------------------------===//

#include "RandomProgram.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <random>

using namespace mlir;

using llvm::formatv;

namespace {
struct Axis {
  StringRef name;
  int size;
};

/// A mesh, and the extents that programs on it may have: first those that all its axes together divide.
struct Mesh {
  std::vector<Axis> axes;
  std::vector<int> extents;
};

/// By the count of axes, less one.
const std::vector<Mesh> kMeshes[] = {
    {{{{"data", 2}}, {8}}, {{{"data", 3}}, {6, 8}}},
    {{{{"data", 2}, {"model", 2}}, {4, 8, 6}}, {{{"data", 2}, {"model", 3}}, {6, 4}}},
    {{{{"data", 2}, {"model", 2}, {"expert", 2}}, {8, 4, 6}}},
};

class ProgramWriter {
public:
  explicit ProgramWriter(unsigned seed) : random(seed) {
    mesh = pickOf(kMeshes[seed % 3]);
    extent = pickOf(mesh.extents);
    types = {"tensor<f32>", formatv("tensor<{0}xf32>", extent), formatv("tensor<{0}x{0}xf32>", extent)};
  }

  std::string write() {
    std::string arguments;
    for (int i = 0; i < 4; ++i)
      arguments += addArgument(i == 0 ? "" : ", ");
    writeConstants();
    for (int ops = 3 + pick(20); ops > 0; --ops)
      writeOp();
    int rank = pick(3);
    std::string results = formatv("{0}, {1}", use(rank), use(0)), resultTypes;
    resultTypes =
        formatv("{0}{1}, tensor<f32>", getType(rank), rank == firstRank ? " {epl.updates = 0 : i64}" : "");
    return formatv("epl.mesh @mesh axes [{0}]\n"
                   "func.func @main({1}) -> ({2}) {{\n{3}  return {4} : {5}, tensor<f32>\n}\n",
                   writeAxes(), arguments, resultTypes, body, results, getType(rank));
  }

private:
  int pick(int count) { return static_cast<int>(random() % count); }
  template <typename T> const T &pickOf(const std::vector<T> &list) { return list[pick(list.size())]; }
  StringRef getType(int rank) const { return types[rank]; }

  std::string writeAxes() const {
    auto axes = llvm::map_range(mesh.axes,
                                [](Axis axis) { return formatv("\"{0}\"={1}", axis.name, axis.size).str(); });
    return llvm::join(axes, ", ");
  }

  /// A vector or matrix that is sharded, replicated, or open: one that propagation may shard.
  std::string addArgument(StringRef separator) {
    int rank = 1 + pick(2);
    firstRank = values[1].empty() && values[2].empty() ? rank : firstRank;
    std::string argument = formatv("{0}{1}: {2}", separator, add(rank), getType(rank));
    if (pick(4))
      argument += formatv(" {{epl.sharding = #epl.sharding<@mesh, [{0}]>}", writeSharding(rank));
    return argument;
  }

  /// For each axis a dimension that it divides with those before it, or none.
  std::string writeSharding(int rank) {
    std::vector<std::string> dims(rank);
    std::vector<int> parts(rank, 1);
    for (Axis axis : mesh.axes) {
      int dim = pick(rank + 1);
      if (dim == rank || extent % (parts[dim] * axis.size) != 0)
        continue;
      parts[dim] *= axis.size;
      dims[dim] += formatv("{0}\"{1}\"", dims[dim].empty() ? "" : ", ", axis.name);
    }
    return llvm::join(llvm::map_range(dims, [](const std::string &axes) { return "{" + axes + "}"; }), ", ");
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
    line("{0} = linalg.transpose ins({1} : {2}) outs(%empty2 : {2}) permutation = [1, 0]", add(2), a,
         getType(2));
  }
  /// Mostly from zero, sometimes from any other value.
  void writeMatmul() {
    std::string a = use(2), b = use(2), init = pick(4) ? "%zero2" : use(2);
    line("{0} = linalg.matmul ins({1}, {2} : {3}, {3}) outs({4} : {3}) -> {3}", add(2), a, b, getType(2),
         init);
  }
  void writeReduce(StringRef op) {
    std::string a = use(2), init = pick(4) ? "%zero1" : use(1);
    line("{0} = linalg.reduce {{ arith.{1} } ins({2} : {3}) outs({4} : {5}) dimensions = [{6}]", add(1), op,
         a, getType(2), init, getType(1), pick(2));
  }
  void writeSum() {
    std::string a = use(1);
    line("{0} = linalg.reduce {{ arith.addf } ins({1} : {2}) outs(%zero0 : tensor<f32>) dimensions = [0]",
         add(0), a, getType(1));
  }
  void writeBroadcast() {
    std::string a = use(1);
    line("{0} = linalg.broadcast ins({1} : {2}) outs(%empty2 : {3}) dimensions = [{4}]", add(2), a,
         getType(1), getType(2), pick(2));
  }
  /// The position along one dimension.
  void writeIota() {
    line(
        "{0} = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], "
        "iterator_types = [\"parallel\", \"parallel\"]} outs(%empty2 : {1}) {{\n"
        "  ^bb0(%out: f32):\n    %i = linalg.index {2} : index\n    %c = arith.index_cast %i : index to i32\n"
        "    %f = arith.sitofp %c : i32 to f32\n    linalg.yield %f : f32\n  } -> {1}",
        add(2), getType(2), pick(2));
  }
  /// Two halves of matrices, side by side.
  void writeSlices(int dim) {
    int rows = extent / (dim == 0 ? 2 : 1), columns = extent / (dim == 0 ? 1 : 2);
    std::string size = formatv("{0}, {1}", rows, columns),
                type = formatv("tensor<{0}x{1}xf32>", rows, columns);
    int first = slices;
    for (std::string source : {use(2), use(2)})
      line("%s{0} = tensor.extract_slice {1}[0, 0] [{2}] [1, 1] : {3} to {4}", slices++, source, size,
           getType(2), type);
    line("{0} = epl.concatenate %s{1}, %s{2} dim {3} : ({4}, {4}) -> {5}", add(2), first, first + 1, dim,
         type, getType(2));
  }

  std::mt19937 random;
  Mesh mesh;
  int extent;
  std::array<std::string, 3> types; ///< by rank
  std::string body;
  std::vector<std::string> values[3]; ///< by rank
  int count = 0, slices = 0, firstRank = 0;
};
} // namespace

std::string mlir::epl::writeRandomProgram(unsigned seed) { return ProgramWriter(seed).write(); }
