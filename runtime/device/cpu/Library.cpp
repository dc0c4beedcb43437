#include "runtime/device/cpu/Library.h"

#include "runtime/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <mutex>

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

namespace {
/// Paths by the variables that go before them.
struct Offers {
  std::mutex mutex;
  std::map<std::string, std::string> paths;

  static Offers &get() {
    static Offers offers;
    return offers;
  }
};
} // namespace

void Library::offer(const std::string &variable, const std::string &path) {
  std::lock_guard lock(Offers::get().mutex);
  Offers::get().paths[variable] = path;
}

static void *openOffered(const char *variable) {
  std::lock_guard lock(Offers::get().mutex);
  auto found = Offers::get().paths.find(variable);
  return found == Offers::get().paths.end() ? nullptr : open(found->second.c_str());
}

std::optional<Library> Library::find(const char *name, const char *variable,
                                     std::span<const char *const> paths) {
  if (const char *path = std::getenv(variable)) {
    if (*path == '\0')
      return std::nullopt;
    if (void *handle = open(path))
      return Library(name, handle);
    throw Error(std::string("cannot load the ") + name + " that " + variable + " names: " + dlerror());
  }
  if (void *handle = openOffered(variable))
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
