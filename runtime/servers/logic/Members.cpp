#include "runtime/servers/logic/Members.h"

#include <algorithm>

namespace epl::runtime::servers {

void Members::expect(uint32_t count) {
  for (uint32_t worker = 0; worker < count; ++worker)
    members.try_emplace(worker);
  std::erase_if(members, [&](const auto &entry) { return entry.first >= count; });
}

const uint32_t *Members::workerOf(StreamId stream) const {
  auto found = streams.find(stream);
  return found == streams.end() ? nullptr : &found->second;
}

void Members::attach(uint32_t worker, StreamId stream) {
  streams.erase(at(worker).stream);
  at(worker).stream = stream;
  if (stream != 0)
    streams[stream] = worker;
}

bool Members::isExpected(uint32_t worker, uint64_t step) const {
  const Member &member = at(worker);
  return member.presence != Presence::lost && member.firstStep <= step && step < member.endStep;
}

bool Members::allEnded() const {
  return std::ranges::all_of(members, [](const auto &entry) {
    return entry.second.presence == Presence::gone || entry.second.presence == Presence::lost;
  });
}

} // namespace epl::runtime::servers
