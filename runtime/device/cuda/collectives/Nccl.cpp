#include "runtime/device/cuda/collectives/Nccl.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Library.h"

#include <optional>

namespace epl::runtime::cuda::nccl {

static std::optional<Nccl> open() {
  // Where the loader finds it; where CUDA's toolkit puts it.
  static const char *const kPaths[] = {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2"};
  std::optional<Library> library = Library::find("NCCL", "EPL_NCCL", "libnccl.so.2", kPaths);
  if (!library)
    return std::nullopt;
  Nccl functions;
#define EPL_FIND(name) library->bind(#name, functions.name);
  EPL_NCCL_FUNCTIONS(EPL_FIND)
#undef EPL_FIND
  return functions;
}

const Nccl *Nccl::get() {
  static const std::optional<Nccl> library = open();
  return library ? &*library : nullptr;
}

int Nccl::version() const {
  int number = 0;
  check(ncclGetVersion(&number), "the version of NCCL");
  return number;
}

void Nccl::check(Status status, const char *what) const {
  if (status != Status::success)
    throw Error(std::string(what) + ": NCCL says \"" + ncclGetErrorString(status) + "\"");
}

} // namespace epl::runtime::cuda::nccl
