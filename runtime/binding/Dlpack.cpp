#include "runtime/binding/Dlpack.h"

#include "runtime/binding/Arrays.h"

#include <nanobind/ndarray.h>

namespace epl::runtime::binding {

namespace nb = nanobind;

// The structures of dlpack.h, version 1.0 and those before, as far as nanobind has them not.
namespace {

struct Managed {
  static constexpr const char *kName = "dltensor";
  nb::dlpack::dltensor tensor;
  void *context;
  void (*deleter)(Managed *);
};

struct ManagedVersioned {
  static constexpr const char *kName = "dltensor_versioned";
  uint32_t major, minor;
  void *context;
  void (*deleter)(ManagedVersioned *);
  uint64_t flags;
  nb::dlpack::dltensor tensor;
};

constexpr uint64_t kReadOnly = 1, kIsCopied = 2; // flags

/// A tensor with all that it points to.
template <typename T> struct Exported {
  T managed{};
  std::vector<int64_t> shape, strides; // in elements
  std::shared_ptr<const void> owner;
};

} // namespace

/// Of a capsule that nobody has taken the tensor out of: who does so gives it another name.
template <typename T> static void endCapsule(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, T::kName)) {
    auto *managed = static_cast<T *>(PyCapsule_GetPointer(capsule, T::kName));
    managed->deleter(managed);
  }
}

template <typename T>
static nb::object capsuleOf(std::unique_ptr<Exported<T>> exported, nb::dlpack::dltensor tensor) {
  tensor.ndim = int32_t(exported->shape.size());
  tensor.shape = exported->shape.data(), tensor.strides = exported->strides.data();
  T &managed = exported->managed;
  managed.tensor = tensor;
  managed.context = exported.get();
  managed.deleter = [](T *self) { delete static_cast<Exported<T> *>(self->context); };
  nb::object capsule = owned(PyCapsule_New(&managed, T::kName, &endCapsule<T>));
  exported.release(); // which the deleter ends
  return capsule;
}

template <typename T>
static std::unique_ptr<Exported<T>> exportBox(const Box &box, size_t elementSize,
                                              std::shared_ptr<const void> owner) {
  auto exported = std::make_unique<Exported<T>>();
  for (const Box::Range &range : box.dims) {
    exported->shape.push_back(int64_t(range.extent));
    exported->strides.push_back(int64_t(range.stride / elementSize));
  }
  exported->owner = std::move(owner);
  return exported;
}

nb::object makeDlpack(const Shard &shard, const TensorType &type, uint32_t card,
                      std::shared_ptr<const void> owner, const DlpackRequest &request) {
  size_t size = elementBytes(type.element);
  nb::dlpack::dltensor tensor;
  tensor.data = shard.data;
  tensor.device = {nb::device::cuda::value, int32_t(card)};
  tensor.dtype = {request.code, uint8_t(size * 8), 1};
  if (!request.isVersioned)
    return capsuleOf(exportBox<Managed>(shard.box, size, std::move(owner)), tensor);
  auto exported = exportBox<ManagedVersioned>(shard.box, size, std::move(owner));
  exported->managed.major = 1;
  exported->managed.flags = request.isCopy ? kIsCopied : kReadOnly;
  return capsuleOf(std::move(exported), tensor);
}

} // namespace epl::runtime::binding
