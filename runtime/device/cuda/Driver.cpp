#include "runtime/device/cuda/Driver.h"

#include "runtime/Error.h"

#include <dlfcn.h>

namespace epl::runtime::cuda {

#define EPL_TEXT_OF(name) #name
#define EPL_SYMBOL(name) EPL_TEXT_OF(name) // with the version that cuda.h's macro says

Driver Driver::open() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw NoDriverError(std::string("no CUDA driver: ") + dlerror());
  Driver driver;
  auto find = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    if (!function)
      throw NoDriverError(std::string("the CUDA driver is too old: it has no ") + symbol);
  };
#define EPL_FIND(name) find(driver.name, EPL_SYMBOL(name));
  EPL_CUDA_FUNCTIONS(EPL_FIND)
#undef EPL_FIND
  if (CUresult result = driver.cuInit(0); result != CUDA_SUCCESS)
    throw NoDriverError("no CUDA driver: " + driver.describe(result));
  return driver;
}

const Driver &Driver::get() {
  static const Driver driver = open(); // again at the next call, if it throws
  return driver;
}

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || cuGetErrorString(result, &text) != CUDA_SUCCESS)
    return "CUDA error " + std::to_string(int(result));
  return std::string(text) + " (" + name + ")";
}

void Driver::check(CUresult result, const std::string &what) const {
  if (result != CUDA_SUCCESS)
    throw Error(what + ": " + describe(result));
}

} // namespace epl::runtime::cuda
