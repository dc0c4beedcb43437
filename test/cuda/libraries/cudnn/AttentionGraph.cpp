//===- AttentionGraph.cpp - Attention as the stand-in of cuDNN recognizes it ---------===//

#include "test/cuda/libraries/cudnn/AttentionGraph.h"

#include <set>

namespace cudnn_double {

using Ints = std::vector<int64_t>;

namespace {

/// Follows operations back from what they make. All must be met.
class Finder {
public:
  explicit Finder(const DescriptorT &graph)
      : operations(graph.list<Descriptor>(Attribute::graphOperations)) {}

  std::optional<AttentionGraph> find() {
    AttentionGraph found{};
    const DescriptorT *last = lastProduct();
    if (!last)
      return std::nullopt;
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
    const DescriptorT *first = scaled ? makerOf(x(scaled), Kind::productOperation) : nullptr;
    if (!first || !found.stats || met.size() != operations.size())
      return std::nullopt;
    found.scale = b(scaled);
    found.q = &first->at(Attribute::productA);
    found.k = &first->at(Attribute::productB);
    return found;
  }

private:
  static const DescriptorT *x(const DescriptorT *operation) { return &operation->at(Attribute::pointwiseX); }
  static const DescriptorT *b(const DescriptorT *operation) { return &operation->at(Attribute::pointwiseB); }

  static Attribute resultOf(Kind kind) {
    return kind == Kind::productOperation     ? Attribute::productC
           : kind == Kind::reductionOperation ? Attribute::reductionY
                                              : Attribute::pointwiseY;
  }

  /// The operation of a kind that makes a tensor, or null.
  const DescriptorT *makerOf(const DescriptorT *tensor, Kind kind) {
    for (const DescriptorT *operation : operations)
      if (operation->kind == kind && &operation->at(resultOf(kind)) == tensor) {
        met.insert(operation);
        return operation;
      }
    return nullptr;
  }

  const DescriptorT *pointwise(const DescriptorT *tensor, PointwiseMode mode) {
    const DescriptorT *operation = nullptr;
    for (const DescriptorT *each : operations)
      if (each->kind == Kind::pointwiseOperation && &each->at(Attribute::pointwiseY) == tensor &&
          each->at(Attribute::pointwiseDescriptor).get<PointwiseMode>(Attribute::pointwiseMode) == mode)
        operation = each;
    bool hasOperands =
        operation && (mode == PointwiseMode::exp || mode == PointwiseMode::log ||
                      mode == PointwiseMode::position || operation->has(Attribute::pointwiseB));
    if (!hasOperands)
      return nullptr;
    met.insert(operation);
    return operation;
  }

  const DescriptorT *lastProduct() {
    for (const DescriptorT *operation : operations)
      if (operation->kind == Kind::productOperation &&
          !operation->at(Attribute::productC).has(Attribute::tensorIsVirtual))
        return makerOf(&operation->at(Attribute::productC), Kind::productOperation);
    return nullptr;
  }

  bool isReduced(const DescriptorT *tensor, ReductionOperator by, const DescriptorT *of) {
    const DescriptorT *operation = makerOf(tensor, Kind::reductionOperation);
    return operation && &operation->at(Attribute::reductionX) == of &&
           operation->at(Attribute::reductionDescriptor)
                   .get<ReductionOperator>(Attribute::reductionOperator) == by;
  }

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

  bool isCausal(const DescriptorT *condition, const DescriptorT *scores) {
    const DescriptorT *compare = pointwise(condition, PointwiseMode::isAtLeast);
    auto isPosition = [&](const DescriptorT *tensor, int64_t axis) {
      const DescriptorT *operation = pointwise(tensor, PointwiseMode::position);
      return operation && x(operation) == scores &&
             operation->at(Attribute::pointwiseDescriptor).get<int64_t>(Attribute::pointwiseAxis) == axis;
    };
    return compare && isPosition(x(compare), 2) && isPosition(b(compare), 3);
  }

  std::vector<Descriptor> operations;
  std::set<const DescriptorT *> met;
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
  bool fits = q[0] == k[0] && q[0] == v[0] && q[1] == k[1] && q[1] == v[1] && q[3] == k[2] && k[3] == v[2] &&
              o == Ints{q[0], q[1], q[2], v[3]} && extentsOf(*found.stats) == Ints{q[0], q[1], q[2], 1};
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
