#include "runtime/device/cpu/Library.h"

#include "runtime/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>

namespace epl::runtime {

ScopedVariable::ScopedVariable(const char *name, const char *value) : name(name) {
  if (const char *current = std::getenv(name))
    before = current;
  setenv(name, value, 1);
}

ScopedVariable::~ScopedVariable() {
  if (before)
    setenv(name, before->c_str(), 1);
  else
    unsetenv(name);
}

static void *open(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

/// The folder of the program or Python module that this is a part of; empty if the system does not say.
static std::filesystem::path findOwnFolder() {
  Dl_info info;
  link_map *map = nullptr;
  void *here = reinterpret_cast<void *>(&findOwnFolder);
  if (dladdr1(here, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) == 0)
    return {};
  std::error_code none; // a program has no name in the map
  std::filesystem::path path =
      *map->l_name ? map->l_name : std::filesystem::read_symlink("/proc/self/exe", none);
  return path.parent_path();
}

/// The library of this name that was installed with us: the module lies beside the package, programs in its
/// "bin".
static void *openInstalled(const char *file) {
  std::filesystem::path folder = findOwnFolder();
  for (const char *relative : {"epl/lib", "../lib"})
    if (std::filesystem::path path = folder / relative / file; folder.is_absolute())
      if (void *handle = open(path.lexically_normal().c_str()))
        return handle;
  return nullptr;
}

std::optional<Library> Library::find(const char *name, const char *variable, const char *file,
                                     std::span<const char *const> paths) {
  if (const char *path = std::getenv(variable)) {
    if (*path == '\0')
      return std::nullopt;
    if (void *handle = open(path))
      return Library(name, handle);
    throw Error(std::string("cannot load the ") + name + " that " + variable + " names: " + dlerror());
  }
  if (void *handle = openInstalled(file))
    return Library(name, handle);
  for (const char *path : paths)
    if (void *handle = open(path))
      return Library(name, handle);
  return std::nullopt;
}

std::string Library::path() const {
  link_map *map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void *>(&map)) == 0 ? map->l_name : "";
}

void *Library::find(const char *symbol) const {
  if (void *address = dlsym(handle, symbol))
    return address;
  return dlsym(handle, (std::string("scipy_") + symbol).c_str());
}

void *Library::address(const char *symbol) const {
  if (void *address = find(symbol))
    return address;
  throw Error(std::string("the ") + name + " that was loaded has no function \"" + symbol + "\"");
}

} // namespace epl::runtime
