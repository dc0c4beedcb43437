#include "runtime/plan/format/TemporaryFile.h"

#include "runtime/plan/format/Error.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace epl::runtime {

static bool isSpecial(const std::filesystem::path &path) {
  std::error_code ignored;
  return std::filesystem::is_other(path, ignored);
}

TemporaryFile::TemporaryFile(const std::filesystem::path &target)
    : target(target), committed(isSpecial(target)) {
  static std::atomic<unsigned> counter;
  name = target.string() + "." + std::to_string(getpid()) + "." + std::to_string(counter++) + ".tmp";
  file = committed ? open(target.c_str(), O_WRONLY | O_CLOEXEC)
                   : open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0)
    fail("create");
}

TemporaryFile::~TemporaryFile() {
  if (file >= 0)
    close(file);
  if (!committed)
    unlink(name.c_str());
}

void TemporaryFile::write(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      fail("write");
    bytes = bytes.subspan(size_t(count));
  }
}

void TemporaryFile::commit() {
  if (fsync(file) != 0 && errno != EINVAL) // what cannot be synced, as a pipe, says EINVAL
    fail("write");
  if (close(std::exchange(file, -1)) != 0)
    fail("write");
  if (committed)
    return;
  if (rename(name.c_str(), target.c_str()) != 0)
    fail("create");
  committed = true;
}

void TemporaryFile::fail(const char *verb) const {
  throw PlanError("cannot " + std::string(verb) + " \"" + target.string() + "\": " + std::strerror(errno));
}

} // namespace epl::runtime
