// NumPy arrays as host tensors, and back.

#ifndef EPL_RUNTIME_BINDING_ARRAYS_H
#define EPL_RUNTIME_BINDING_ARRAYS_H

#include "runtime/session/State.h"

#include <nanobind/nanobind.h>

#include <optional>

namespace epl::runtime::binding {

/// The memory of an array (anything with a C-contiguous buffer in native byte order), which lives as long as
/// the tensor. `element` chooses among types of one size: an unsigned array fits a signless integer, any
/// array of two-byte elements fits bf16. `name` is for errors. Throws Error if the array has no such memory.
HostTensor fromNumpy(nanobind::handle array, plan::ElementType element, const std::string &name);

/// The same for an object that may have no such memory; such a one gives nothing.
std::optional<HostTensor> tryBorrow(nanobind::handle array);

/// A NumPy array over the tensor's memory, which it keeps; bf16 comes as uint16.
nanobind::object toNumpy(const HostTensor &tensor, bool writable);

/// An array over memory that `owner` keeps, whose elements are `strides` elements apart; none: row-major.
nanobind::object toNumpy(std::byte *data, std::span<const size_t> shape, std::span<const int64_t> strides,
                         plan::ElementType element, const std::shared_ptr<const void> &owner, bool writable);

/// The object of a new reference that Python's interface gave; throws the error that it set for null.
nanobind::object owned(PyObject *reference);

} // namespace epl::runtime::binding

#endif // EPL_RUNTIME_BINDING_ARRAYS_H
