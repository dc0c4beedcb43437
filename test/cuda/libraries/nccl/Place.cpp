//===- Place.cpp - Where members of a communicator meet -------------------===//

#include "test/cuda/libraries/nccl/Place.h"

#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace nccl_double;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

File::File(File &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}

File &File::operator=(File &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  return *this;
}

File::~File() {
  if (descriptor >= 0)
    close(descriptor);
}

bool File::read(size_t begin, std::span<std::byte> to) const {
  while (!to.empty()) {
    ssize_t got = pread(descriptor, to.data(), to.size(), static_cast<off_t>(begin));
    if (got <= 0)
      return false;
    begin += static_cast<size_t>(got);
    to = to.subspan(static_cast<size_t>(got));
  }
  return true;
}

std::string File::readText() const {
  struct stat state{};
  if (fstat(descriptor, &state) != 0)
    return "";
  std::string text(static_cast<size_t>(state.st_size), ' ');
  return read(0, std::as_writable_bytes(std::span(text))) ? text : "";
}

static bool writeAll(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0)
      return false;
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

std::string Place::make() {
  const char *folder = std::getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/epl-nccl-XXXXXX";
  return mkdtemp(path.data()) ? path : "";
}

bool Place::exists() const { return access(path.c_str(), F_OK) == 0; }

bool Place::has(const std::string &name) const { return access(pathOf(name).c_str(), F_OK) == 0; }

std::optional<File> Place::open(const std::string &name) const {
  int descriptor = ::open(pathOf(name).c_str(), O_RDONLY | O_CLOEXEC);
  return descriptor >= 0 ? std::optional<File>(descriptor) : std::nullopt;
}

std::vector<std::string> Place::list() const {
  std::vector<std::string> names;
  DIR *folder = opendir(path.c_str());
  while (const dirent *entry = folder ? readdir(folder) : nullptr)
    if (entry->d_name[0] != '.')
      names.emplace_back(entry->d_name);
  if (folder)
    closedir(folder);
  return names;
}

/// A file that nobody looks for yet: its path; empty if it cannot be written.
std::string Place::write(const std::string &name, std::span<const std::byte> head,
                         std::span<const std::byte> body) const {
  std::string part = pathOf("part-" + name + "-XXXXXX");
  int descriptor = mkostemp(part.data(), O_CLOEXEC);
  if (descriptor < 0)
    return "";
  bool isWritten = writeAll(descriptor, head) && writeAll(descriptor, body);
  close(descriptor);
  if (isWritten)
    return part;
  unlink(part.c_str());
  return "";
}

bool Place::put(const std::string &name, std::span<const std::byte> head,
                std::span<const std::byte> body) const {
  std::string part = write(name, head, body);
  return !part.empty() && std::rename(part.c_str(), pathOf(name).c_str()) == 0;
}

bool Place::putFirst(const std::string &name, std::span<const std::byte> content) const {
  std::string part = write(name, content, {});
  if (part.empty())
    return false;
  bool isFirst = link(part.c_str(), pathOf(name).c_str()) == 0;
  unlink(part.c_str());
  return isFirst;
}

void Place::remove(const std::string &name) const { unlink(pathOf(name).c_str()); }

void Place::clear() const {
  for (const std::string &name : list())
    remove(name);
  rmdir(path.c_str());
}
