#include "runtime/device/cuda/cudnn/Cudnn.h"

#include "runtime/device/cpu/Library.h"

#include <optional>

namespace epl::runtime::cuda::dnn {

static std::optional<Cudnn> open() {
  // Where the loader finds it; where CUDA's toolkit puts it.
  static const char *const kPaths[] = {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9"};
  std::optional<Library> library = Library::find("cuDNN", "EPL_CUDNN", "libcudnn.so.9", kPaths);
  if (!library)
    return std::nullopt;
  Cudnn functions;
#define EPL_FIND(name) library->bind(#name, functions.name);
  EPL_CUDNN_FUNCTIONS(EPL_FIND)
#undef EPL_FIND
  return functions;
}

const Cudnn *Cudnn::get() {
  static const std::optional<Cudnn> library = open();
  return library ? &*library : nullptr;
}

} // namespace epl::runtime::cuda::dnn
