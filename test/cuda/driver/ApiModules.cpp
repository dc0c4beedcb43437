//===- ApiModules.cpp - Functions of the driver: modules, kernels ---------===//

#include "test/cuda/driver/Api.h"
#include "test/cuda/driver/KernelArguments.h"

#include <cstdio>
#include <cstring>

using namespace cuda_double;

/// Drivers of CUDA 13.1 know PTX up to 9.1.
static bool isKnown(const std::string &version) {
  int major = 0, minor = 0;
  return std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2 &&
         10 * (major + 4) + minor <= CUDA_VERSION / 100 + CUDA_VERSION % 100 / 10;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned, CUjit_option *, void **) {
  return call([&](Driver &driver) {
    int device = driver.getCurrentDevice();
    try {
      auto loaded = std::make_unique<LoadedModule>(parse(static_cast<const char *>(image)), device);
      if (!isKnown(loaded->module.version))
        throw DriverError{CUDA_ERROR_UNSUPPORTED_PTX_VERSION};
      *module = reinterpret_cast<CUmodule>(driver.keep(std::move(loaded)));
    } catch (const PtxError &error) {
      driver.report("ptx", error.what());
      throw DriverError{CUDA_ERROR_INVALID_PTX};
    }
  });
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleUnload(CUmodule module) {
  return call([&](Driver &driver) {
    if (driver.operations.hasPending())
      driver.report("module", "a module is unloaded while work is pending");
    std::vector<Function *> functions;
    for (Function *function : driver.all<Function>())
      if (function->module == &driver.look<LoadedModule>(module))
        functions.push_back(function);
    for (Function *function : functions)
      driver.drop<Function>(function);
    driver.drop<LoadedModule>(module);
  });
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
  return call([&](Driver &driver) {
    auto &loaded = driver.look<LoadedModule>(handle);
    auto found = loaded.module.entries.find(name);
    if (found == loaded.module.entries.end())
      throw DriverError{CUDA_ERROR_NOT_FOUND};
    *function = reinterpret_cast<CUfunction>(
        driver.keep(std::make_unique<Function>(Function{&loaded, &found->second})));
  });
}

CUresult cuFuncLoad(CUfunction function) {
  return call([&](Driver &driver) { driver.look<Function>(function).isLoaded = true; });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return call([&](Driver &driver) {
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > 227 * 1024)
      throw DriverError{CUDA_ERROR_INVALID_VALUE};
    driver.look<Function>(function).mostDynamicShared = value;
  });
}

KernelWork cuda_double::makeKernelWork(Function &function, std::array<unsigned, 3> grid,
                                       std::array<unsigned, 3> block, unsigned shared, void **arguments) {
  Launch launch;
  launch.entry = function.entry;
  launch.module = &function.module->module;
  launch.grid = grid;
  launch.block = block;
  launch.dynamicShared = shared;
  launch.parameters.resize(function.entry->parameterBytes);
  size_t next = 0;
  for (const Parameter &parameter : function.entry->parameters)
    std::memcpy(&launch.parameters[parameter.offset], arguments[next++], parameter.bytes);
  return {&function, std::move(launch)};
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned shared, CUstream stream, void **arguments,
                        void **extra) {
  return call([&](Driver &driver) {
    if (extra)
      throw DriverError{CUDA_ERROR_NOT_SUPPORTED};
    driver.enqueue(stream, makeKernelWork(driver.look<Function>(function), {gridX, gridY, gridZ},
                                          {blockX, blockY, blockZ}, shared, arguments));
  });
}
