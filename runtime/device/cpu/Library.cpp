#include "runtime/device/cpu/Library.h"

#include "runtime/Error.h"

#include <cstdlib>
#include <dlfcn.h>

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

std::optional<Library> Library::find(const char *name, const char *variable,
                                     std::span<const char *const> paths) {
  if (const char *path = std::getenv(variable)) {
    if (*path == '\0')
      return std::nullopt;
    if (void *handle = open(path))
      return Library(name, handle);
    throw Error(std::string("cannot load the ") + name + " that " + variable + " names: " + dlerror());
  }
  for (const char *path : paths)
    if (void *handle = open(path))
      return Library(name, handle);
  return std::nullopt;
}

void *Library::find(const char *symbol) const { return dlsym(handle, symbol); }

void *Library::address(const char *symbol) const {
  if (void *address = find(symbol))
    return address;
  throw Error(std::string("the ") + name + " that was loaded has no function \"" + symbol + "\"");
}

} // namespace epl::runtime
