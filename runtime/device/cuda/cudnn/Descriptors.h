// Descriptors of cuDNN, and the plan by which it runs a convolution.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CUDNN_DESCRIPTORS_H
#define EPL_RUNTIME_DEVICE_CUDA_CUDNN_DESCRIPTORS_H

#include "runtime/device/cuda/cudnn/Cudnn.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace epl::runtime::cuda::dnn {

/// A descriptor, with what the first failure of the library has said.
class OwnDescriptor {
public:
  OwnDescriptor(const Cudnn &api, Kind kind) : api(&api) {
    status = api.cudnnBackendCreateDescriptor(kind, &made);
  }
  OwnDescriptor(OwnDescriptor &&other) noexcept
      : api(other.api), made(std::exchange(other.made, nullptr)), status(other.status) {}
  OwnDescriptor &operator=(OwnDescriptor &&) = delete;
  ~OwnDescriptor() {
    if (made)
      api->cudnnBackendDestroyDescriptor(made);
  }

  template <typename T> OwnDescriptor &set(Attribute attribute, ValueType type, std::span<const T> values) {
    if (status == Status::success)
      status = api->cudnnBackendSetAttribute(made, attribute, type, int64_t(values.size()),
                                             static_cast<const void *>(values.data()));
    return *this;
  }
  template <typename T> OwnDescriptor &set(Attribute attribute, ValueType type, const T &value) {
    return set(attribute, type, std::span<const T>(&value, 1));
  }
  OwnDescriptor &set(Attribute attribute, const OwnDescriptor &other) {
    return set(attribute, ValueType::descriptor, other.made);
  }
  /// After the last attribute: whether the library takes all of it.
  bool finish() {
    if (status == Status::success)
      status = api->cudnnBackendFinalize(made);
    return status == Status::success;
  }

  Descriptor get() const { return made; }
  Status state() const { return status; }

private:
  const Cudnn *api;
  Descriptor made = nullptr;
  Status status = Status::success;
};

} // namespace epl::runtime::cuda::dnn

#endif // EPL_RUNTIME_DEVICE_CUDA_CUDNN_DESCRIPTORS_H
