//===- Meetings.cpp - Work that waits for others --------------------------===//

#include "test/cuda/driver/Api.h"

using namespace cuda_double;

/// What each meeting of a device is said to write: an address that no memory has.
static Use turnOf(int device) { return {uint64_t(device) + 1, uint64_t(device) + 2, true}; }

bool Driver::isTurn(uint64_t address) const { return address <= capacities.size(); }

/// Both before it begins and before it writes: memory may be freed while it waits.
void Driver::checkRanges(const MeetingWork &work) {
  for (const auto *ranges : {&work.reads, &work.writes})
    for (auto [begin, size] : *ranges)
      if (!memory.find(begin, size))
        throw Fault(work.name + " touches " + memory.describeMiss(begin, size));
}

std::vector<Use> Driver::touchRanges(const MeetingWork &work, bool alsoWrites) {
  for (auto [begin, size] : work.reads)
    touch(begin, size, false, work.device, work.name);
  if (alsoWrites)
    for (auto [begin, size] : work.writes)
      touch(begin, size, true, work.device, work.name);
  return memory.takeUses();
}

/// It begins the first time, and is asked from the next time on: whatever is ready may run in between.
std::optional<std::vector<Use>> Driver::attend(const MeetingWork &work, std::shared_ptr<Meeting> &begun) {
  if (!begun) {
    ++numOperations;
    checkRanges(work);
    touchRanges(work, false);
    begun = work.begin();
    return std::nullopt;
  }
  Meeting::State state = begun->ask();
  if (state == Meeting::State::waits)
    return std::nullopt;
  bool isComplete = state == Meeting::State::complete;
  if (isComplete) {
    checkRanges(work);
    begun->end();
  }
  begun = nullptr;
  std::vector<Use> uses = touchRanges(work, isComplete);
  if (!work.occupies)
    ++counters[work.name].launches;
  else if (work.device >= 0)
    uses.insert(uses.begin(), turnOf(work.device));
  return uses;
}

CUresult eplCudaMeet(CUstream stream, const MeetingWork &work) {
  return call([&](Driver &driver) { driver.enqueue(stream, work); });
}

void eplCudaReport(const char *kind, const char *text) { Driver::get().report(kind, text); }
