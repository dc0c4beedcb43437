// Of a float that is not finite the exponent has all bits set, whatever its type is.
#include "runtime/servers/drive/FiniteCheck.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Quoted.h"
#include "runtime/servers/drive/IdSplits.h"
#include "runtime/servers/model/Slices.h"

#include <algorithm>

namespace epl::runtime::servers {
namespace {

/// An element that is not finite: its number, and its value as text.
struct Found {
  size_t element;
  const char *value;
};

template <typename Bits>
std::optional<Found> find(const HostTensor &tensor, size_t begin, size_t end, Bits exponent) {
  const auto *bits = reinterpret_cast<const Bits *>(tensor.data);
  const auto *found = std::find_if(bits + begin, bits + end,
                                   [=](Bits element) { return Bits(element & exponent) == exponent; });
  if (found == bits + end)
    return std::nullopt;
  Bits mantissa = Bits(*found & Bits((exponent & -exponent) - 1));
  constexpr Bits sign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
  return Found{size_t(found - bits), mantissa != 0 ? "nan" : (*found & sign) != 0 ? "-inf" : "inf"};
}

/// The first one among elements of a tensor; none of integers.
std::optional<Found> find(const HostTensor &tensor, size_t begin, size_t end) {
  switch (tensor.type.element) {
  case plan::ElementType::f16:
    return find<uint16_t>(tensor, begin, end, 0x7c00);
  case plan::ElementType::bf16:
    return find<uint16_t>(tensor, begin, end, 0x7f80);
  case plan::ElementType::f32:
    return find<uint32_t>(tensor, begin, end, 0x7f800000);
  case plan::ElementType::f64:
    return find<uint64_t>(tensor, begin, end, 0x7ff0000000000000);
  default:
    return std::nullopt;
  }
}

/// Where an element of a tensor is, as `[2, 0]`.
std::string placeOf(size_t element, const std::vector<int64_t> &shape) {
  std::string text = "]";
  for (size_t dim = shape.size(); dim-- > 0;) {
    text = (dim == 0 ? "" : ", ") + std::to_string(element % size_t(shape[dim])) + text;
    element /= size_t(shape[dim]);
  }
  return "[" + text;
}

[[noreturn]] void fail(const std::string &what, const char *value, const std::string &place) {
  throw Error("what is pushed for " + what + " is " + value + " at " + place + ", expected finite numbers");
}

/// Of one lookup.
void checkRows(const manifest::TableT &table, std::span<const int64_t> ids, const HostTensor &gradients,
               std::optional<int64_t> padding) {
  size_t dim = table.dim, count = ids.size() * dim;
  for (size_t begin = 0; begin < count;) {
    std::optional<Found> found = find(gradients, begin, count);
    if (!found)
      return;
    size_t row = found->element / dim;
    if (ids[row] != padding)
      fail("id " + std::to_string(ids[row]) + " of table " + quoted(table.name), found->value,
           placeOf(found->element % dim, {int64_t(dim)}));
    begin = (row + 1) * dim;
  }
}

} // namespace

void checkFinite(const Job &job, uint32_t parameter, const std::vector<HostTensor> &pushes) {
  for (const HostTensor &push : pushes)
    if (std::optional<Found> found = find(push, 0, elementCount(push.type.shape)))
      fail(runtime::quoted(job.manifest.parameters.at(parameter)->name), found->value,
           placeOf(found->element, push.type.shape));
}

void checkFinite(const Job &job, std::span<const RowGradients> rows) {
  for (const RowGradients &own : rows) {
    checkTable(job, own.table);
    for (size_t lookup = 0; lookup < own.ids.size(); ++lookup)
      checkRows(*job.manifest.tables[own.table], own.ids[lookup], own.gradients.at(lookup), own.padding);
  }
}

} // namespace epl::runtime::servers
