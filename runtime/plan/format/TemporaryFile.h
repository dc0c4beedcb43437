// Files that appear whole or not at all.

#ifndef EPL_RUNTIME_PLAN_FORMAT_TEMPORARYFILE_H
#define EPL_RUNTIME_PLAN_FORMAT_TEMPORARYFILE_H

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace epl::runtime {

/// A file that vanishes unless it is committed. Devices and pipes are written in place: a rename would put a
/// file where /dev/null was. All throw PlanError if the system does not let them.
class TemporaryFile {
public:
  /// A file that will be at `target`.
  explicit TemporaryFile(const std::filesystem::path &target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;

  void write(std::span<const uint8_t> bytes);
  /// Gives the file its name. Some file systems report a full disk only when the bytes reach it, at fsync or
  /// close, so both come before the rename.
  void commit();

private:
  [[noreturn]] void fail(const char *verb) const;

  std::filesystem::path target;
  bool committed; ///< or in place: nothing is to be removed
  std::string name;
  int file = -1;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_FORMAT_TEMPORARYFILE_H
