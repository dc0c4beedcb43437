// How a tensor is cut into the blocks that servers hold.

#ifndef EPL_RUNTIME_SERVERS_MODEL_SLICES_H
#define EPL_RUNTIME_SERVERS_MODEL_SLICES_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// A run of a tensor's elements in row-major order.
struct Slice {
  uint64_t begin, size;

  bool operator==(const Slice &) const = default;
};

/// The elements of a tensor. Throws Error if an extent is negative, or if there are more than 2^48.
uint64_t elementCount(std::span<const int64_t> shape);

/// The elements of a row: of what one index of dimension 0 names; 1 for vectors and scalars.
uint64_t rowElements(std::span<const int64_t> shape);

/// Cuts a tensor into at most `count` slices, as Fluid's slice_variable does: of equal size but for the last,
/// none of fewer than `minBlockSize` elements but for the last and the only one, of whole rows where there
/// are two dimensions and more. One slice, of nothing, for a tensor without elements. Throws Error if a
/// number is 0.
std::vector<Slice> sliceVariable(std::span<const int64_t> shape, uint32_t count, uint64_t minBlockSize);

/// The shape of a slice that sliceVariable has made, of which each is some rows.
std::vector<int64_t> sliceShape(std::span<const int64_t> shape, Slice slice);

/// What block `index` of the `count` of a tensor is called, as Fluid calls it: `w.block0`; `w` if it is the
/// only one.
std::string blockName(const std::string &tensor, size_t index, size_t count);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_MODEL_SLICES_H
