#include "runtime/binding/Leaves.h"

#include "runtime/binding/Arrays.h"

#include <algorithm>
#include <nanobind/stl/shared_ptr.h>

namespace epl::runtime::binding {

namespace nb = nanobind;

/// An attribute by an interned name: what `attr` with a C string would make anew each time.
static nb::object attribute(nb::handle object, PyObject *name) {
  return owned(PyObject_GetAttr(object.ptr(), name));
}

static nb::object baseArray(nb::handle key) {
  static PyObject *const kBaseArray = PyUnicode_InternFromString("_base_array");
  return attribute(key, kBaseArray);
}

Leaves::Leaves(Types types, const nb::list &knownDtypes, nb::object convert)
    : types(std::move(types)), toHost(std::move(convert)) {
  for (nb::handle dtype : knownDtypes)
    dtypes.push_back(nb::borrow(dtype));
}

/// Python's numbers have a dtype of their own each, whatever their value.
static char scalarTag(nb::handle leaf) {
  if (PyBool_Check(leaf.ptr()))
    return 'b';
  if (PyLong_CheckExact(leaf.ptr()))
    return 'i';
  if (PyFloat_CheckExact(leaf.ptr()))
    return 'f';
  return PyComplex_CheckExact(leaf.ptr()) ? 'c' : '\0';
}

static void appendShape(nb::handle shape, std::string &text) {
  nb::tuple extents = nb::cast<nb::tuple>(shape);
  text += char(extents.size());
  for (nb::handle extent : extents) {
    auto value = nb::cast<int64_t>(extent);
    text.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
}

/// Appends the description of a number, a key, or an array of a known type and dtype; false, with nothing
/// appended, for other leaves.
bool Leaves::describeKnown(nb::handle leaf, std::string &text) const {
  if (char tag = scalarTag(leaf)) {
    text += tag;
    return true;
  }
  return is(leaf, types.key) ? describeKey(leaf, text) : describeArray(leaf, text);
}

bool Leaves::describeArray(nb::handle leaf, std::string &text) const {
  static PyObject *const kShape = PyUnicode_InternFromString("shape");
  static PyObject *const kDtype = PyUnicode_InternFromString("dtype");
  static PyObject *const kWeakType = PyUnicode_InternFromString("weak_type");
  bool isJax = is(leaf, types.jax), isNumpy = is(leaf, types.numpy);
  if (!isJax && !isNumpy && !is(leaf, types.own))
    return false;
  nb::object dtype = attribute(leaf, kDtype);
  auto known = std::find_if(dtypes.begin(), dtypes.end(), [&](const auto &other) { return other.is(dtype); });
  if (known == dtypes.end())
    return false;
  text += isNumpy ? 'n' : isJax && attribute(leaf, kWeakType).is(nb::bool_(true)) ? 'w' : 'a';
  text += char(known - dtypes.begin());
  appendShape(attribute(leaf, kShape), text);
  return true;
}

/// A key is its generator, an object that lives as long as the process, and an array of numbers.
bool Leaves::describeKey(nb::handle leaf, std::string &text) const {
  static PyObject *const kImpl = PyUnicode_InternFromString("_impl");
  nb::object generator = attribute(leaf, kImpl);
  const PyObject *pointer = generator.ptr();
  std::string described = "k";
  described.append(reinterpret_cast<const char *>(&pointer), sizeof(const PyObject *));
  if (!describeArray(baseArray(leaf), described))
    return false;
  text += described;
  return true;
}

nb::object Leaves::describeOther(nb::handle leaf) const {
  nb::object type = nb::borrow(leaf.type());
  if (!nb::hasattr(leaf, "shape") || !nb::hasattr(leaf, "dtype"))
    return type;
  return nb::make_tuple(type, nb::tuple(leaf.attr("shape")), leaf.attr("dtype"),
                        nb::getattr(leaf, "weak_type", nb::none()));
}

nb::object Leaves::describe(const nb::list &leaves) const {
  std::string text;
  nb::list others;
  for (nb::handle leaf : leaves) {
    if (describeKnown(leaf, text))
      continue;
    text += '?';
    others.append(describeOther(leaf));
  }
  nb::bytes known(text.data(), text.size());
  return others.empty() ? nb::object(known) : nb::make_tuple(known, nb::tuple(others));
}

nb::object Leaves::ownArray(nb::handle leaf) const {
  nb::object array = is(leaf, types.key) ? baseArray(leaf) : nb::borrow(leaf);
  return is(array, types.own) ? array : nb::object();
}

Argument Leaves::partOf(nb::handle leaf, const plan::SlotT &slot) const {
  static PyObject *const kArray = PyUnicode_InternFromString("array");
  Argument all = argument(attribute(leaf, kArray), slot);
  if (auto *tensor = std::get_if<HostTensor>(&all))
    return LocalTensor{std::move(*tensor)};
  return LocalTensor{std::get<std::shared_ptr<StateBuffer>>(all)->toHost()};
}

Argument Leaves::argument(nb::handle leaf, const plan::SlotT &slot) const {
  static PyObject *const kBuffer = PyUnicode_InternFromString("buffer");
  std::shared_ptr<StateBuffer> state;
  if (is(leaf, types.own) && nb::try_cast(attribute(leaf, kBuffer), state)) // else servers hold it
    return state;
  if (is(leaf, types.key))
    return argument(baseArray(leaf), slot);
  if (is(leaf, types.part))
    return partOf(leaf, slot);
  // JAX lends the memory of most of its arrays; for others NumPy makes a copy.
  if (is(leaf, types.jax) && slot.type != plan::ElementType::bf16 && PyObject_CheckBuffer(leaf.ptr()))
    if (std::optional<HostTensor> tensor = tryBorrow(leaf))
      return *std::move(tensor);
  return fromNumpy(toHost(leaf), slot.type, slot.name);
}

} // namespace epl::runtime::binding
