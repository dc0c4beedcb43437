// Libraries of NVIDIA, each found when it is needed: nothing is linked.
#ifndef EPL_RUNTIME_DEVICE_CUDA_NVIDIALIBRARY_H
#define EPL_RUNTIME_DEVICE_CUDA_NVIDIALIBRARY_H

#include "runtime/device/cpu/Library.h"

#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

namespace epl::runtime::cuda {

/// The functions of a library, which `bind` takes from it; null if there is none. It is opened the first
/// time: what the environment names, else what the loader finds, or where CUDA's toolkit puts it
/// (runtime/device/cpu/Library.h). Throws Error if it lacks a function, or if the one that is named cannot be
/// loaded.
template <typename Functions>
const Functions *openNvidia(const char *name, const char *variable, const char *file,
                            void (*bind)(const Library &library, Functions &functions)) {
  static const std::optional<Functions> opened = [&]() -> std::optional<Functions> {
    const std::string toolkit = std::string("/usr/local/cuda/lib64/") + file;
    const char *const paths[] = {file, toolkit.c_str()};
    std::optional<Library> library = Library::find(name, variable, file, paths);
    if (!library)
      return std::nullopt;
    Functions functions;
    bind(*library, functions);
    return functions;
  }();
  return opened ? &*opened : nullptr;
}

/// Says once on stderr that something is done without a library, and why.
inline void sayOnce(std::once_flag &isSaid, const std::string &what, const std::string &why) {
  std::call_once(isSaid, [&] { std::fprintf(stderr, "epl: %s: %s\n", what.c_str(), why.c_str()); });
}

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_NVIDIALIBRARY_H
