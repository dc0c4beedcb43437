//===- LinkSharedObject.cpp - One shared object of several object files ----------===//
//
// Problem: a plan carries one ELF image; LLVM's linker is a program, not a library.
//
// Method: one call of ld.lld on temporary files, which never outlive the call. The C library that this
// process runs on is linked by path, so that the image names what it needs and the linker reports what nobody
// has.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/CpuObject.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>
#include <link.h>

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

static std::string findLinker() {
  if (llvm::sys::fs::can_execute(EPL_LLD))
    return EPL_LLD;
  llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ld.lld");
  return found ? *found : "";
}

// The file of a library that this process can load.
static std::string findLibrary(const char *name) {
  void *library = dlopen(name, RTLD_LAZY);
  if (!library)
    return name;
  llvm::scope_exit close([&] { dlclose(library); });
  link_map *map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, static_cast<void *>(&map)) == 0 ? map->l_name : name;
}

static std::string readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

FailureOr<ObjectBytes> mlir::epl::linkSharedObject(ArrayRef<ObjectBytes> objects, std::string &error) {
  std::string linker = findLinker(), libm = findLibrary("libm.so.6"), libc = findLibrary("libc.so.6");
  if (linker.empty()) {
    error = "cannot find the linker \"ld.lld\"";
    return failure();
  }
  TemporaryFiles files;
  FailureOr<std::string> image = files.create("so", error), log = files.create("log", error);
  if (failed(image) || failed(log))
    return failure();
  SmallVector<StringRef> arguments = {linker, "-shared", "-z", "defs", "--as-needed", "-s", "-o", *image};
  SmallVector<std::string> inputs;
  for (const ObjectBytes &object : objects) {
    FailureOr<std::string> path = files.create("o", error);
    if (failed(path) || failed(files.write(*path, object, error)))
      return failure();
    inputs.push_back(*path);
  }
  inputs.append({libm, libc});
  arguments.append(inputs.begin(), inputs.end());
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(*log), StringRef(*log)};
  if (llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt, redirects, 0, 0, &error) != 0) {
    error = "cannot link kernels: " + StringRef(error.empty() ? readFile(*log) : error).rtrim().str();
    return failure();
  }
  std::string bytes = readFile(*image);
  return ObjectBytes(bytes.begin(), bytes.end());
}
