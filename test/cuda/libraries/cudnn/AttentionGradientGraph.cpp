//===- AttentionGradientGraph.cpp - The gradient of attention as the stand-in of cuDNN recognizes it ---===//

#include "test/cuda/libraries/cudnn/AttentionGraph.h"
#include "test/cuda/libraries/cudnn/GraphFinder.h"

#include <algorithm>

namespace cudnn_double {

using Ints = std::vector<int64_t>;

namespace {

/// All operations must be met.
class Finder : GraphFinder {
public:
  explicit Finder(const DescriptorT &graph) : GraphFinder(graph) {}

  std::optional<AttentionGradientGraph> find() {
    if (!findScores() || !findSoftmax() || !findProducts() || !hasMetAll())
      return std::nullopt;
    return found;
  }

private:
  static const DescriptorT *a(const DescriptorT *product) { return &product->at(Attribute::productA); }
  static const DescriptorT *second(const DescriptorT *product) { return &product->at(Attribute::productB); }
  static const DescriptorT *c(const DescriptorT *product) { return &product->at(Attribute::productC); }
  const DescriptorT *reshaped(const DescriptorT *tensor) {
    const DescriptorT *operation = makerOf(tensor, Kind::reshapeOperation);
    return operation ? &operation->at(Attribute::reshapeX) : nullptr;
  }

  /// From dq = ds k on: ds = scale p (dO v^T - sums of rows).
  bool findScores() {
    for (const DescriptorT *last : lastProducts())
      if (const DescriptorT *operation = pointwise(a(last), PointwiseMode::multiply)) {
        ds = a(last), scaled = operation;
        found.dq = c(product(c(last)));
        found.k = reshaped(second(last));
      }
    const DescriptorT *weighted = scaled ? pointwise(x(scaled), PointwiseMode::multiply) : nullptr;
    const DescriptorT *difference = weighted ? pointwise(x(weighted), PointwiseMode::subtract) : nullptr;
    const DescriptorT *dp = difference ? product(x(difference)) : nullptr;
    if (!dp)
      return false;
    found.scale = b(scaled);
    p = b(weighted);
    found.dO = a(dp), found.v = second(dp);
    found.rowSums = b(difference);
    const DescriptorT *sums = pointwise(found.rowSums, PointwiseMode::multiply);
    const DescriptorT *reduction = sums ? makerOf(x(sums), Kind::reductionOperation) : nullptr;
    const DescriptorT *products =
        reduction ? pointwise(&reduction->at(Attribute::reductionX), PointwiseMode::multiply) : nullptr;
    if (!products || !isReduced(x(sums), ReductionOperator::add, &reduction->at(Attribute::reductionX)) ||
        x(products) != found.dO)
      return false;
    found.one = b(sums), found.o = b(products);
    return true;
  }

  /// p = exp(scale q k^T - stats).
  bool findSoftmax() {
    const DescriptorT *exponential = pointwise(p, PointwiseMode::exp);
    const DescriptorT *scores = exponential ? x(exponential) : nullptr;
    if (const DescriptorT *select = scores ? pointwise(scores, PointwiseMode::select) : nullptr) {
      if (!isCausal(&select->at(Attribute::pointwiseT), x(select)))
        return false;
      found.mask = b(select);
      scores = x(select);
    }
    const DescriptorT *difference = scores ? pointwise(scores, PointwiseMode::subtract) : nullptr;
    const DescriptorT *whole = difference ? pointwise(x(difference), PointwiseMode::multiply) : nullptr;
    const DescriptorT *first = whole ? product(x(whole)) : nullptr;
    if (!first || b(whole) != found.scale || second(first) != found.k)
      return false;
    found.stats = b(difference);
    found.q = a(first);
    return true;
  }

  /// dv = p^T dO, dk = ds^T q.
  bool findProducts() {
    for (const DescriptorT *operation : operations) {
      const DescriptorT *transposed =
          operation->kind == Kind::productOperation ? reshaped(a(operation)) : nullptr;
      if (transposed == p && second(operation) == found.dO)
        found.dv = groupsOf(c(product(c(operation))));
      if (transposed == ds && second(operation) == found.q)
        found.dk = groupsOf(c(product(c(operation))));
    }
    return found.dv && found.dk;
  }

  /// What a product for each head of q is summed to, for those of k and v; itself, if it is in memory.
  const DescriptorT *groupsOf(const DescriptorT *made) {
    if (!made->has(Attribute::tensorIsVirtual))
      return made;
    for (const DescriptorT *operation : operations)
      if (operation->kind == Kind::reductionOperation && &operation->at(Attribute::reductionX) == made)
        if (const DescriptorT *sum = &operation->at(Attribute::reductionY);
            isReduced(sum, ReductionOperator::add, made))
          return sum;
    return nullptr;
  }

  AttentionGradientGraph found{};
  const DescriptorT *p = nullptr, *ds = nullptr, *scaled = nullptr;
};

Ints extentsOf(const DescriptorT &tensor) { return tensor.list<int64_t>(Attribute::tensorExtents); }

Ints transposedOf(const DescriptorT &tensor) {
  Ints extents = extentsOf(tensor);
  if (extents.size() == 4)
    std::swap(extents[2], extents[3]);
  return extents;
}

/// Whether an engine takes the tensors: of 16 bits, of a multiple of eight elements side by side, at most
/// 256.
bool isTaken(const AttentionGradientGraph &found) {
  auto type = found.q->get<DataType>(Attribute::tensorType);
  if (type != DataType::bf16 && type != DataType::f16)
    return false;
  for (const DescriptorT *tensor :
       {found.q, found.k, found.v, found.o, found.dO, found.dq, found.dk, found.dv})
    if (tensor->get<DataType>(Attribute::tensorType) != type || extentsOf(*tensor).size() != 4)
      return false;
  auto isDense = [](const DescriptorT *tensor, size_t dim) {
    return tensor->list<int64_t>(Attribute::tensorStrides)[dim] == 1;
  };
  for (const DescriptorT *tensor : {found.q, found.o, found.dO, found.dq, found.dk, found.dv})
    if (!isDense(tensor, 3))
      return false;
  Ints q = extentsOf(*found.q), k = transposedOf(*found.k), v = transposedOf(*found.v),
       o = extentsOf(*found.o);
  bool fits = q[0] == k[0] && q[1] % k[1] == 0 && q[3] == k[3] && v == Ints{k[0], k[1], k[2], o[3]} &&
              o == Ints{q[0], q[1], q[2], v[3]} && extentsOf(*found.dO) == o && extentsOf(*found.dq) == q &&
              extentsOf(*found.dk) == k && extentsOf(*found.dv) == v &&
              extentsOf(*found.stats) == Ints{q[0], q[1], q[2], 1};
  auto isWidth = [](int64_t width) { return width % 8 == 0 && width <= 256; };
  bool areScalars = std::ranges::all_of(
                        std::initializer_list<const DescriptorT *>{found.scale, found.one},
                        [](const DescriptorT *tensor) { return tensor->has(Attribute::tensorIsByValue); }) &&
                    (!found.mask || found.mask->has(Attribute::tensorIsByValue));
  return isDense(found.k, 2) && isDense(found.v, 2) && fits && isWidth(q[3]) && isWidth(v[3]) && areScalars;
}

} // namespace

std::optional<AttentionGradientGraph> findAttentionGradient(const DescriptorT &graph) {
  std::optional<AttentionGradientGraph> found = Finder(graph).find();
  return found && isTaken(*found) ? found : std::nullopt;
}

} // namespace cudnn_double
