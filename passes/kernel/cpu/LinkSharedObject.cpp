//===- LinkSharedObject.cpp - One shared object of several object files ----------===//
//
// Problem: a plan carries one ELF image, which takes a linker.
//
// Method: lld, linked into this program, reads and writes temporary files, which never outlive the call. The
// C library that this process runs on is linked by path, so that the image names what it needs and the linker
// reports what nobody has.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/cpu/CpuObject.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include "lld/Common/Driver.h"

#include <dlfcn.h>
#include <link.h>
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace mlir::epl;

namespace {

// Temporary files of one link, removed with it.
class TemporaryFiles {
public:
  ~TemporaryFiles() {
    for (const std::string &path : paths)
      (void)llvm::sys::fs::remove(path); // what cannot be removed is the system's to clean
  }
  FailureOr<std::string> create(StringRef suffix, std::string &error) {
    SmallString<128> path;
    if (std::error_code code = llvm::sys::fs::createTemporaryFile("epl", suffix, path)) {
      error = "cannot create a temporary file: " + code.message();
      return failure();
    }
    paths.push_back(path.str().str());
    return paths.back();
  }
  LogicalResult write(StringRef path, ArrayRef<char> bytes, std::string &error) {
    std::error_code code;
    llvm::raw_fd_ostream stream(path, code);
    stream << StringRef(bytes.data(), bytes.size());
    stream.close();
    if (!stream.has_error())
      return success();
    error = "cannot write \"" + path.str() + "\": " + stream.error().message();
    stream.clear_error();
    return failure();
  }

private:
  SmallVector<std::string> paths;
};

} // namespace

// The file of a library that this process can load.
static std::string findLibrary(const char *name) {
  void *library = dlopen(name, RTLD_LAZY);
  if (!library)
    return name;
  llvm::scope_exit close([&] { dlclose(library); });
  link_map *map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, static_cast<void *>(&map)) == 0 ? map->l_name : name;
}

// lld's state is global: one link at a time. One that failed may be followed by others, unless lld crashed.
static LogicalResult runLinker(ArrayRef<const char *> arguments, std::string &error) {
  static std::mutex mutex;
  static bool crashed = false;
  std::lock_guard lock(mutex);
  if (crashed) {
    error = "cannot link kernels: the linker crashed before in this process";
    return failure();
  }
  std::string log;
  llvm::raw_string_ostream stream(log);
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  crashed = !result.canRunAgain;
  if (result.retCode == 0)
    return success();
  error = "cannot link kernels: " + StringRef(log).rtrim().str();
  return failure();
}

static FailureOr<ObjectBytes> readFile(StringRef path, std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (buffer)
    return ObjectBytes((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
  error = "cannot read \"" + path.str() + "\": " + buffer.getError().message();
  return failure();
}

FailureOr<ObjectBytes> mlir::epl::linkSharedObject(ArrayRef<ObjectBytes> objects, std::string &error) {
  TemporaryFiles files;
  FailureOr<std::string> image = files.create("so", error);
  if (failed(image))
    return failure();
  SmallVector<std::string> inputs;
  for (const ObjectBytes &object : objects) {
    FailureOr<std::string> path = files.create("o", error);
    if (failed(path) || failed(files.write(*path, object, error)))
      return failure();
    inputs.push_back(*path);
  }
  inputs.append({findLibrary("libm.so.6"), findLibrary("libc.so.6")});
  SmallVector<const char *> arguments = {"ld.lld",      "-shared", "-z", "defs",
                                         "--as-needed", "-s",      "-o", image->c_str()};
  for (const std::string &input : inputs)
    arguments.push_back(input.c_str());
  if (failed(runLinker(arguments, error)))
    return failure();
  return readFile(*image, error);
}
