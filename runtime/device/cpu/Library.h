// Numeric libraries of the system, loaded when a plan needs them.
#ifndef EPL_RUNTIME_DEVICE_CPU_LIBRARY_H
#define EPL_RUNTIME_DEVICE_CPU_LIBRARY_H

#include <optional>
#include <span>
#include <string>

namespace epl::runtime {

/// An environment variable that has another value while the object lives: for what a library reads while it
/// loads. Another copy of the library in this process, or a child process, must not see what is meant for
/// ours.
class ScopedVariable {
public:
  ScopedVariable(const char *name, const char *value);
  ScopedVariable(const ScopedVariable &) = delete;
  ~ScopedVariable();

private:
  const char *name;
  std::optional<std::string> before;
};

/// A shared library, open to the end of the process and visible to us alone: a NumPy or PyTorch with a copy
/// of its own does not meet it.
class Library {
public:
  /// Opens the library that the environment variable `variable` names, or if it is not set the one that is
  /// installed with the runtime as `file`, or the first of `paths` that exists. Nothing if there is none, or
  /// if the variable is empty. Throws Error if the library that the variable names cannot be loaded. `name`
  /// is for messages.
  static std::optional<Library> find(const char *name, const char *variable, const char *file,
                                     std::span<const char *const> paths);

  /// The file that it was loaded from.
  std::string path() const;

  /// Sets `function` to the library's function `symbol`. Throws Error if it has none. OpenBLAS's Python
  /// package "scipy-openblas32" has "scipy_" before all of its names: what is asked for by the plain one is
  /// found too.
  template <typename Function> void bind(const char *symbol, Function &function) const {
    function = reinterpret_cast<Function>(address(symbol));
  }

  /// The same, null if the library has no such function.
  template <typename Function> void bindIfThere(const char *symbol, Function &function) const {
    function = reinterpret_cast<Function>(find(symbol));
  }

private:
  Library(const char *name, void *handle) : name(name), handle(handle) {}
  void *address(const char *symbol) const;
  void *find(const char *symbol) const;

  const char *name;
  void *handle;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_LIBRARY_H
