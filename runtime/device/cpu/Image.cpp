#include "runtime/device/cpu/Image.h"

#include "runtime/Error.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace epl::runtime {

namespace {

/// A file that lives in memory only; closed with the object.
class MemoryFile {
public:
  explicit MemoryFile(std::span<const uint8_t> bytes) : descriptor(memfd_create("epl-kernels", MFD_CLOEXEC)) {
    if (descriptor < 0)
      fail();
    while (!bytes.empty()) {
      ssize_t written = write(descriptor, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        fail();
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }
  MemoryFile(const MemoryFile &) = delete;
  ~MemoryFile() {
    if (descriptor >= 0)
      close(descriptor);
  }

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  [[noreturn]] void fail() {
    throw Error(std::string("cannot place the plan's kernels in memory: ") + std::strerror(errno));
  }

  int descriptor;
};

} // namespace

Image::Image(std::span<const uint8_t> elf) {
  if (elf.empty())
    return;
  // The loader knows libraries by their paths: the next image must not get the same descriptor, so that this
  // file stays open as long as its library.
  auto file = std::make_shared<MemoryFile>(elf);
  void *loaded = dlopen(file->path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded)
    throw Error(std::string("cannot load the plan's kernels: ") + dlerror());
  handle = std::shared_ptr<void>(loaded, [file](void *library) { dlclose(library); });
}

KernelEntry Image::find(const std::string &symbol) const {
  void *address = handle ? dlsym(handle.get(), symbol.c_str()) : nullptr;
  if (!address)
    throw Error("the plan's image has no kernel \"" + symbol + "\"");
  return reinterpret_cast<KernelEntry>(address);
}

} // namespace epl::runtime
