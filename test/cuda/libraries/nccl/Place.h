//===- Place.h - Where members of a communicator meet -----------*- C++ -*-===//
//
// Members may be in one thread, in several, or in processes that know nothing of each other but a path. They
// meet in a folder: what one has to say is a file, which appears there whole, and the others look for it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nccl_double {

/// A file of the folder, open to be read: also when its name is gone.
class File {
public:
  explicit File(int descriptor) : descriptor(descriptor) {}
  File(File &&other) noexcept;
  File &operator=(File &&other) noexcept;
  ~File();

  /// False if there are not so many bytes.
  bool read(size_t begin, std::span<std::byte> to) const;
  template <typename T> std::optional<T> readHead() const {
    T head;
    return read(0, std::as_writable_bytes(std::span(&head, 1))) ? std::optional<T>(head) : std::nullopt;
  }
  /// All of it, as text.
  std::string readText() const;

private:
  int descriptor;
};

class Place {
public:
  explicit Place(std::string path) : path(std::move(path)) {}

  /// The path of a new folder in $TMPDIR or /tmp; empty if there can be none.
  static std::string make();

  const std::string &getPath() const { return path; }
  bool exists() const;
  bool has(const std::string &name) const;
  std::optional<File> open(const std::string &name) const;
  std::vector<std::string> list() const;

  /// False if it cannot be written: mostly as the folder is gone.
  bool put(const std::string &name, std::span<const std::byte> head, std::span<const std::byte> body) const;
  /// The same; false, too, if there is one of this name.
  bool putFirst(const std::string &name, std::span<const std::byte> content) const;
  void remove(const std::string &name) const;
  /// Removes the folder with all that is in it.
  void clear() const;

private:
  std::string pathOf(const std::string &name) const { return path + "/" + name; }
  std::string write(const std::string &name, std::span<const std::byte> head,
                    std::span<const std::byte> body) const;

  std::string path;
};

template <typename T> std::span<const std::byte> bytesOf(const T &value) {
  return std::as_bytes(std::span(&value, 1));
}

} // namespace nccl_double
