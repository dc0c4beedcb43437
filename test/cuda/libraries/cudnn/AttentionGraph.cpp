//===- AttentionGraph.cpp - Attention as the stand-in of cuDNN recognizes it ---------===//

#include "test/cuda/libraries/cudnn/AttentionGraph.h"

#include "test/cuda/libraries/cudnn/GraphFinder.h"

namespace cudnn_double {

using Ints = std::vector<int64_t>;

namespace {

/// All operations must be met.
class Finder : GraphFinder {
public:
  explicit Finder(const DescriptorT &graph) : GraphFinder(graph) {}

  std::optional<AttentionGraph> find() {
    AttentionGraph found{};
    std::vector<const DescriptorT *> products = lastProducts();
    if (products.size() != 1)
      return std::nullopt;
    const DescriptorT *last = product(&products.front()->at(Attribute::productC));
    found.v = &last->at(Attribute::productB);
    found.o = &last->at(Attribute::productC);
    const DescriptorT *divide = pointwise(&last->at(Attribute::productA), PointwiseMode::divide);
    const DescriptorT *exponential = divide ? pointwise(x(divide), PointwiseMode::exp) : nullptr;
    const DescriptorT *difference =
        exponential ? pointwise(x(exponential), PointwiseMode::subtract) : nullptr;
    if (!difference || !isReduced(b(divide), ReductionOperator::add, x(divide)) ||
        !isReduced(b(difference), ReductionOperator::maximum, x(difference)))
      return std::nullopt;
    found.stats = stats(b(difference), b(divide));
    const DescriptorT *scores = x(difference);
    if (const DescriptorT *select = pointwise(scores, PointwiseMode::select)) {
      if (!isCausal(&select->at(Attribute::pointwiseT), x(select)))
        return std::nullopt;
      found.mask = b(select);
      scores = x(select);
    }
    const DescriptorT *scaled = pointwise(scores, PointwiseMode::multiply);
    const DescriptorT *first = scaled ? product(x(scaled)) : nullptr;
    if (!first || !found.stats || !hasMetAll())
      return std::nullopt;
    found.scale = b(scaled);
    found.q = &first->at(Attribute::productA);
    found.k = &first->at(Attribute::productB);
    return found;
  }

private:
  /// What maxima and logarithms of sums are added to, or null.
  const DescriptorT *stats(const DescriptorT *most, const DescriptorT *sum) {
    for (const DescriptorT *operation : operations) {
      const DescriptorT *made = operation->kind == Kind::pointwiseOperation
                                    ? pointwise(&operation->at(Attribute::pointwiseY), PointwiseMode::add)
                                    : nullptr;
      const DescriptorT *logarithm =
          made && x(made) == most ? pointwise(b(made), PointwiseMode::log) : nullptr;
      if (logarithm && x(logarithm) == sum)
        return &made->at(Attribute::pointwiseY);
    }
    return nullptr;
  }
};

} // namespace

static Ints extentsOf(const DescriptorT &tensor) { return tensor.list<int64_t>(Attribute::tensorExtents); }

/// Whether an engine takes the tensors: of 16 bits, a multiple of eight elements side by side.
static bool isTaken(const AttentionGraph &found) {
  auto type = found.q->get<DataType>(Attribute::tensorType);
  for (const DescriptorT *tensor : {found.q, found.k, found.v, found.o})
    if (tensor->get<DataType>(Attribute::tensorType) != type || extentsOf(*tensor).size() != 4)
      return false;
  Ints q = extentsOf(*found.q), k = extentsOf(*found.k), v = extentsOf(*found.v), o = extentsOf(*found.o);
  bool fits = q[0] == k[0] && q[0] == v[0] && q[1] % k[1] == 0 && k[1] == v[1] && q[3] == k[2] &&
              k[3] == v[2] && o == Ints{q[0], q[1], q[2], v[3]} &&
              extentsOf(*found.stats) == Ints{q[0], q[1], q[2], 1};
  auto stride = [](const DescriptorT &tensor, size_t dim) {
    return tensor.list<int64_t>(Attribute::tensorStrides)[dim];
  };
  bool isDense = stride(*found.q, 3) == 1 && stride(*found.k, 2) == 1 && stride(*found.v, 3) == 1 &&
                 stride(*found.o, 3) == 1;
  auto isWidth = [](int64_t width) { return width % 8 == 0; };
  bool areScalars = found.scale->has(Attribute::tensorIsByValue) &&
                    (!found.mask || found.mask->has(Attribute::tensorIsByValue));
  return (type == DataType::bf16 || type == DataType::f16) && fits && isDense && isWidth(q[3]) &&
         isWidth(v[3]) && areScalars;
}

std::optional<AttentionGraph> findAttention(const DescriptorT &graph) {
  std::optional<AttentionGraph> found = Finder(graph).find();
  return found && isTaken(*found) ? found : std::nullopt;
}

} // namespace cudnn_double
