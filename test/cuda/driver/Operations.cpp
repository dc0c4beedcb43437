//===- Operations.cpp - Work that was handed over -------------------------===//

#include "test/cuda/driver/Operations.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

using namespace cuda_double;

OperationId Operations::add(std::string name, std::vector<OperationId> after,
                            std::function<std::optional<std::vector<Use>>()> work) {
  after.insert(after.end(), hostKnows.begin(), hostKnows.end());
  std::erase_if(after, [&](OperationId id) { return id < base; });
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  Operation made;
  made.before.resize(operations.size());
  for (OperationId id : after) {
    made.before[id - base] = true;
    const std::vector<bool> &further = get(id).before;
    for (size_t i = 0; i < further.size(); ++i)
      if (further[i])
        made.before[i] = true;
  }
  made.name = std::move(name);
  made.after = std::move(after);
  made.work = std::move(work);
  operations.push_back(std::move(made));
  ++numPending;
  return base + operations.size() - 1;
}

bool Operations::areDone(std::span<const OperationId> ids) const {
  return std::all_of(ids.begin(), ids.end(), [&](OperationId id) { return isDone(id); });
}

std::vector<OperationId> Operations::getAll() const {
  std::vector<OperationId> all(operations.size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = base + i;
  return all;
}

std::vector<OperationId> Operations::findReady() {
  std::vector<OperationId> ready;
  for (size_t i = 0; i < operations.size(); ++i)
    if (!operations[i].isDone && areDone(operations[i].after))
      ready.push_back(base + i);
  return ready;
}

bool Operations::isOrdered(OperationId a, OperationId b) {
  auto [first, second] = std::minmax(a, b);
  return get(second).before[first - base];
}

/// Compares what an operation has touched with all that were done and that nothing orders with it.
void Operations::findConflicts(OperationId id) {
  for (size_t i = 0; i < operations.size(); ++i) {
    Operation &other = operations[i], &own = get(id);
    if (base + i == id || !other.isDone || isOrdered(base + i, id))
      continue;
    for (size_t a = 0, b = 0; a < own.uses.size() && b < other.uses.size();) {
      const Use &left = own.uses[a], &right = other.uses[b];
      bool meet = left.begin < right.end && right.begin < left.end;
      if (meet && (left.isWritten || right.isWritten)) {
        conflicts.push_back({other.name, own.name, std::max(left.begin, right.begin)});
        break;
      }
      left.end < right.end ? ++a : ++b;
    }
  }
}

/// False if it goes on waiting.
bool Operations::run(OperationId id) {
  std::optional<std::vector<Use>> uses = get(id).work();
  if (!uses)
    return !std::exchange(get(id).hasBegun, true);
  get(id).uses = std::move(*uses);
  get(id).isDone = true;
  get(id).work = nullptr;
  --numPending;
  findConflicts(id);
  return true;
}

Operations::Progress Operations::runOne() {
  std::vector<OperationId> ready = findReady();
  Progress otherwise = ready.empty() ? Progress::none : Progress::waits;
  while (!ready.empty()) {
    auto chosen = ready.begin() + static_cast<ptrdiff_t>(random() % ready.size());
    if (run(*chosen))
      return Progress::moves;
    ready.erase(chosen);
  }
  return otherwise;
}

void Operations::wait(std::span<const OperationId> wanted, const std::function<void()> &pause) {
  while (!areDone(wanted)) {
    Progress progress = runOne();
    if (progress == Progress::none)
      throw std::logic_error("operations wait for each other");
    if (progress == Progress::waits && pause)
      pause();
  }
  hostKnows.insert(hostKnows.end(), wanted.begin(), wanted.end());
  forget();
}

/// Where all is done and the host knows it, all that follows is behind it.
void Operations::forget() {
  if (numPending > 0)
    return;
  std::vector<bool> known(operations.size());
  for (OperationId id : hostKnows)
    if (id >= base) {
      known[id - base] = true;
      for (size_t i = 0; i < get(id).before.size(); ++i)
        known[i] = known[i] || get(id).before[i];
    }
  if (std::find(known.begin(), known.end(), false) != known.end())
    return;
  clear();
}

void Operations::clear() {
  base += operations.size();
  operations.clear();
  hostKnows.clear();
  numPending = 0;
}

void Operations::restart(uint64_t seed) {
  clear();
  conflicts.clear();
  random.seed(seed);
}
