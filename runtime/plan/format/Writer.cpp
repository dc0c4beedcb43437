#include "runtime/plan/format/Writer.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Hash.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace epl::runtime {
namespace {

/// A file that vanishes unless it is committed. Devices and pipes are written in place: a rename would put a
/// file where /dev/null was.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::filesystem::path &target) : target(target), committed(isSpecial(target)) {
    static std::atomic<unsigned> counter;
    name = target.string() + "." + std::to_string(getpid()) + "." + std::to_string(counter++) + ".tmp";
    file = committed ? open(target.c_str(), O_WRONLY | O_CLOEXEC)
                     : open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
      fail("create");
  }
  TemporaryFile(const TemporaryFile &) = delete;

  ~TemporaryFile() {
    if (file >= 0)
      close(file);
    if (!committed)
      unlink(name.c_str());
  }

  void write(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
      ssize_t count = ::write(file, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        fail("write");
      bytes = bytes.subspan(size_t(count));
    }
  }

  /// Gives the file its name. Some file systems report a full disk only when the bytes reach it, at fsync or
  /// close, so both come before the rename.
  void commit() {
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

private:
  static bool isSpecial(const std::filesystem::path &path) {
    std::error_code ignored;
    return std::filesystem::is_other(path, ignored);
  }

  [[noreturn]] void fail(const char *verb) const {
    throw PlanError("cannot " + std::string(verb) + " \"" + target.string() + "\": " + std::strerror(errno));
  }

  std::filesystem::path target;
  bool committed; ///< or in place: nothing is to be removed
  std::string name;
  int file = -1;
};

std::vector<uint8_t> bytesOf(const flatbuffers::FlatBufferBuilder &builder) {
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace

std::vector<uint8_t> sealPlan(std::span<const uint8_t> plan) {
  Hash128 hash = hashBytes(plan);
  flatbuffers::FlatBufferBuilder builder(plan.size() + 128);
  // The plan lies at a multiple of its widest scalar, so that it can be read in place.
  builder.ForceVectorAlignment(plan.size(), 1, alignof(uint64_t));
  auto bytes = builder.CreateVector(plan.data(), plan.size());
  plan::FinishSizePrefixedPlanFileBuffer(builder, plan::CreatePlanFile(builder, hash.low, hash.high, bytes));
  return bytesOf(builder);
}

std::vector<uint8_t> serializePlan(const plan::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::Plan::Pack(builder, &plan));
  return sealPlan(bytesOf(builder));
}

void writePlan(const plan::PlanT &plan, const std::filesystem::path &path) {
  writeFile(serializePlan(plan), path);
}

void writeFile(std::span<const uint8_t> bytes, const std::filesystem::path &path) {
  TemporaryFile file(path);
  file.write(bytes);
  file.commit();
}

} // namespace epl::runtime
