// The leaves of a call: what they are, and where their elements lie.
#ifndef EPL_RUNTIME_BINDING_LEAVES_H
#define EPL_RUNTIME_BINDING_LEAVES_H

#include "runtime/session/Session.h"

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace epl::runtime::binding {

/// What the front end tells about the types of leaves: those of its own arrays (with attributes `buffer`,
/// `shape`, `dtype`), of JAX's, of NumPy's, and of JAX's typed random keys (with attributes `_impl`, the
/// generator, and `_base_array`, an array of one of the first two types); that of the parts of batches (with
/// an attribute `array`, a leaf that is none); the dtypes of arrays; and a function that gives any other leaf
/// as an array in memory that nobody else writes.
class Leaves {
public:
  struct Types {
    nanobind::object own, jax, numpy, key, part;
  };

  Leaves(Types types, const nanobind::list &dtypes, nanobind::object toHost);

  /// A hashable description. Leaves of equal descriptions have equal shapes, dtypes and weak types.
  nanobind::object describe(const nanobind::list &leaves) const;

  /// A leaf as the argument for a slot. Only what toHost gives is copied. Throws what toHost raises.
  Argument argument(nanobind::handle leaf, const plan::SlotT &slot) const;

  /// The front end's array that a leaf is, or that holds its key; null for other leaves.
  nanobind::object ownArray(nanobind::handle leaf) const;

private:
  static bool is(nanobind::handle leaf, const nanobind::object &type) {
    return Py_TYPE(leaf.ptr()) == reinterpret_cast<PyTypeObject *>(type.ptr());
  }
  Argument partOf(nanobind::handle leaf, const plan::SlotT &slot) const;
  bool describeKnown(nanobind::handle leaf, std::string &text) const;
  bool describeArray(nanobind::handle leaf, std::string &text) const;
  bool describeKey(nanobind::handle leaf, std::string &text) const;
  nanobind::object describeOther(nanobind::handle leaf) const;

  Types types;
  nanobind::object toHost;
  std::vector<nanobind::object> dtypes; // those that are one object each
};

} // namespace epl::runtime::binding

#endif // EPL_RUNTIME_BINDING_LEAVES_H
