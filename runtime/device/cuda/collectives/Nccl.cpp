#include "runtime/device/cuda/collectives/Nccl.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/NvidiaLibrary.h"

namespace epl::runtime::cuda::nccl {

const Nccl *Nccl::get() {
  return openNvidia<Nccl>("NCCL", "EPL_NCCL", "libnccl.so.2", [](const Library &library, Nccl &functions) {
#define EPL_FIND(name) library.bind(#name, functions.name);
    EPL_NCCL_FUNCTIONS(EPL_FIND)
#undef EPL_FIND
  });
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
