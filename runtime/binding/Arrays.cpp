#include "runtime/binding/Arrays.h"

#include "runtime/Error.h"

#include <nanobind/ndarray.h>

#include <optional>

namespace epl::runtime::binding {

namespace nb = nanobind;
using plan::ElementType;

namespace {

/// A buffer that Python lends; given back with the interpreter's lock, from whatever thread.
class Loan {
public:
  /// Throws nb::python_error.
  explicit Loan(nb::handle array) {
    if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0)
      nb::raise_python_error();
  }
  Loan(const Loan &) = delete;
  ~Loan() {
    nb::gil_scoped_acquire lock;
    PyBuffer_Release(&buffer);
  }

  const Py_buffer &get() const { return buffer; }

private:
  Py_buffer buffer;
};

} // namespace

/// The element type of a buffer's format in Python's struct notation, if the runtime has it.
static std::optional<ElementType> parseFormat(const char *format, Py_ssize_t size) {
  if (!format || format[0] == '\0' || format[1] != '\0')
    return std::nullopt;
  switch (format[0]) {
  case '?':
    return ElementType::i1;
  case 'e':
    return ElementType::f16;
  case 'f':
    return ElementType::f32;
  case 'd':
    return ElementType::f64;
  default:
    break;
  }
  if (!std::strchr("bBhHiIlLqQ", format[0]))
    return std::nullopt;
  switch (size) {
  case 1:
    return ElementType::i8;
  case 2:
    return ElementType::i16;
  case 4:
    return ElementType::i32;
  default:
    return ElementType::i64;
  }
}

static std::shared_ptr<Loan> lend(nb::handle array, const std::string &name) {
  try {
    return std::make_shared<Loan>(array);
  } catch (nb::python_error &reason) {
    throw Error("argument \"" + name + "\" is no array in contiguous memory: " + reason.what());
  }
}

static HostTensor tensorOf(std::shared_ptr<Loan> loan, ElementType element) {
  const Py_buffer &buffer = loan->get();
  return {{element, {buffer.shape, buffer.shape + buffer.ndim}}, static_cast<std::byte *>(buffer.buf), loan};
}

std::optional<HostTensor> tryBorrow(nb::handle array) {
  std::shared_ptr<Loan> loan;
  try {
    loan = std::make_shared<Loan>(array);
  } catch (nb::python_error &) {
    return std::nullopt; // split, deleted, of another device: who converts it says so
  }
  std::optional<ElementType> found = parseFormat(loan->get().format, loan->get().itemsize);
  if (!found)
    return std::nullopt;
  return tensorOf(std::move(loan), *found);
}

nb::object owned(PyObject *reference) {
  if (!reference)
    nb::raise_python_error();
  return nb::steal(reference);
}

HostTensor fromNumpy(nb::handle array, ElementType element, const std::string &name) {
  nb::object source = nb::borrow(array);
  // ml_dtypes' bfloat16 has no format in the buffer protocol.
  if (element == ElementType::bf16 && nb::hasattr(array, "view"))
    source = array.attr("view")("uint16");
  auto loan = lend(source, name);
  const Py_buffer &buffer = loan->get();
  std::optional<ElementType> found = parseFormat(buffer.format, buffer.itemsize);
  if (!found) {
    nb::object dtype = array.attr("dtype");
    throw Error("argument \"" + name + "\" has elements of type " + nb::str(dtype).c_str() + ", expected " +
                elementName(element));
  }
  if (element == ElementType::bf16 && elementBytes(*found) == 2)
    found = element;
  return tensorOf(std::move(loan), *found);
}

static nb::dlpack::dtype dtypeOf(ElementType element) {
  switch (element) {
  case ElementType::i1:
    return nb::dtype<bool>();
  case ElementType::i8:
    return nb::dtype<int8_t>();
  case ElementType::i16:
    return nb::dtype<int16_t>();
  case ElementType::i32:
    return nb::dtype<int32_t>();
  case ElementType::i64:
    return nb::dtype<int64_t>();
  case ElementType::f16:
    return {uint8_t(nb::dlpack::dtype_code::Float), 16, 1};
  case ElementType::bf16:
    return nb::dtype<uint16_t>();
  case ElementType::f32:
    return nb::dtype<float>();
  case ElementType::f64:
    return nb::dtype<double>();
  }
  throw Error("a tensor has an element type that NumPy has not");
}

static nb::capsule capsuleOf(const std::shared_ptr<const void> &owner) {
  return {new std::shared_ptr<const void>(owner),
          [](void *pointer) noexcept { delete static_cast<std::shared_ptr<const void> *>(pointer); }};
}

nb::object toNumpy(std::byte *data, std::span<const size_t> shape, std::span<const int64_t> strides,
                   ElementType element, const std::shared_ptr<const void> &owner, bool writable) {
  nb::capsule capsule = capsuleOf(owner);
  nb::dlpack::dtype dtype = dtypeOf(element);
  if (writable)
    return nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), capsule, strides.data(), dtype).cast();
  return nb::ndarray<nb::numpy, nb::ro>(data, shape.size(), shape.data(), capsule, strides.data(), dtype)
      .cast();
}

nb::object toNumpy(const HostTensor &tensor, bool writable) {
  std::vector<size_t> shape(tensor.type.shape.begin(), tensor.type.shape.end());
  return toNumpy(tensor.data, shape, /*strides=*/{}, tensor.type.element, tensor.owner, writable);
}

} // namespace epl::runtime::binding
