// What FlatBuffers' verifier does not look at.

#ifndef EPL_RUNTIME_PLAN_FORMAT_VECTORS_H
#define EPL_RUNTIME_PLAN_FORMAT_VECTORS_H

#include <algorithm>
#include <cstdint>
#include <flatbuffers/flatbuffers.h>

namespace epl::runtime {

/// Whether the eight-byte numbers of a vector may be read in place: the verifier asks where a vector's length
/// lies, and that has four bytes.
template <typename T> bool isAligned(const flatbuffers::Vector<T> *vector) {
  return !vector || reinterpret_cast<uintptr_t>(vector->Data()) % alignof(int64_t) == 0;
}

template <typename Table, typename Test>
bool holdsForAll(const flatbuffers::Vector<flatbuffers::Offset<Table>> *tables, Test test) {
  return !tables || std::all_of(tables->begin(), tables->end(), test);
}

/// How many tables bytes may have. A table takes eight bytes at least, with the offset that names it: more
/// tables than that are one table named again and again, which would grow without bound in memory.
inline flatbuffers::uoffset_t maxTables(size_t bytes) { return flatbuffers::uoffset_t(bytes / 8 + 1); }

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_FORMAT_VECTORS_H
