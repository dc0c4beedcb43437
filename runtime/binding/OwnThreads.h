// Objects of Python that own something with threads.
#ifndef EPL_RUNTIME_BINDING_OWNTHREADS_H
#define EPL_RUNTIME_BINDING_OWNTHREADS_H

#include <nanobind/nanobind.h>

#include <memory>
#include <unistd.h>

namespace epl::runtime::binding {

/// Owns something with threads of its own, whose end waits for them. In a process that was forked off, where
/// they are not, it stays as it is. Made and destroyed with the interpreter's lock.
template <typename Owned> class OwnThreads {
public:
  explicit OwnThreads(std::unique_ptr<Owned> owned) : owned(std::move(owned)) {}
  OwnThreads(const OwnThreads &) = delete;
  ~OwnThreads() {
    if (getpid() != process) {
      (void)owned.release();
      return;
    }
    // The threads may be about to take the interpreter's lock.
    nanobind::gil_scoped_release unlocked;
    owned = nullptr;
  }

  Owned *operator->() const { return owned.get(); }
  Owned &operator*() const { return *owned; }

private:
  std::unique_ptr<Owned> owned;
  const pid_t process = getpid();
};

} // namespace epl::runtime::binding

#endif // EPL_RUNTIME_BINDING_OWNTHREADS_H
