#include "runtime/device/cuda/cudnn/Cudnn.h"

#include "runtime/device/cuda/NvidiaLibrary.h"

namespace epl::runtime::cuda::dnn {

const Cudnn *Cudnn::get() {
  return openNvidia<Cudnn>("cuDNN", "EPL_CUDNN", "libcudnn.so.9",
                           [](const Library &library, Cudnn &functions) {
#define EPL_FIND(name) library.bind(#name, functions.name);
                             EPL_CUDNN_FUNCTIONS(EPL_FIND)
#undef EPL_FIND
                           });
}

} // namespace epl::runtime::cuda::dnn
