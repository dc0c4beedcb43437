//===- Operations.h - Work that was handed over -----------------*- C++ -*-===//
//
// An operation begins when somebody waits for it, or for one behind it, not before; then all that may run
// does so in an order that a seed chooses. What does not depend on that order: two operations that touch the
// same bytes, one of them writing, with no path between them are reported, whatever was computed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/cuda/machine/Memory.h"

#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace cuda_double {

/// The number of an operation, from 0 in the order in which they are handed over.
using OperationId = uint64_t;

/// Two operations that nothing orders.
struct Conflict {
  std::string first, second; ///< as they are called
  uint64_t address;          ///< that both touch
};

class Operations {
public:
  explicit Operations(uint64_t seed) : random(seed) {}

  /// Hands over work that begins after other operations, and after all that the host knows to be done. `work`
  /// gives the bytes that it has touched, sorted by address; it may throw, which ends all. Where it waits for
  /// somebody outside it gives nothing, others run, and it is called again.
  OperationId add(std::string name, std::vector<OperationId> after,
                  std::function<std::optional<std::vector<Use>>()> work);

  /// Runs until these are done, and as many others as chance has it; the host knows of these then. Throws
  /// what an operation throws. Calls `pause` between attempts where all wait for somebody outside: it may
  /// hand over more, and run it.
  void wait(std::span<const OperationId> wanted, const std::function<void()> &pause = {});

  enum class Progress { none, waits, moves };
  /// Runs one operation, or begins one, if one may: of all that may those that wait are asked until one goes
  /// on. For those who ask without waiting.
  Progress runOne();

  /// Forgets all, done or not, and chooses another order from now on.
  void restart(uint64_t seed);

  bool isDone(OperationId id) const { return id < base || operations[id - base].isDone; }
  bool areDone(std::span<const OperationId> ids) const;
  bool hasPending() const { return numPending > 0; }
  /// All that have not been forgotten.
  std::vector<OperationId> getAll() const;

  /// Adds to `conflicts` from now on.
  std::vector<Conflict> conflicts;

private:
  struct Operation {
    std::string name;
    std::vector<OperationId> after;
    std::function<std::optional<std::vector<Use>>()> work;
    bool hasBegun = false, isDone = false;
    std::vector<Use> uses;
    std::vector<bool> before; ///< by number less `base`: whether there is a path from it to this one
  };

  Operation &get(OperationId id) { return operations[id - base]; }
  std::vector<OperationId> findReady();
  bool run(OperationId id);
  void findConflicts(OperationId id);
  bool isOrdered(OperationId a, OperationId b);
  void forget();
  void clear();

  std::mt19937_64 random;
  std::vector<Operation> operations;
  OperationId base = 0; ///< the number of the first of these; those before are done, and the host knows
  std::vector<OperationId> hostKnows; ///< what it has waited for
  size_t numPending = 0;
};

} // namespace cuda_double
