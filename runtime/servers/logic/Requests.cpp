#include "runtime/servers/logic/Requests.h"

namespace epl::runtime::servers {

bool Requests::add(const Request &request) {
  if (!numbers.emplace(std::pair(request.block, request.state), count).second)
    return false;
  list.emplace(count++, request);
  return true;
}

Request *Requests::find(uint32_t block, int32_t state) {
  auto found = numbers.find({block, state});
  return found == numbers.end() ? nullptr : &list.at(found->second);
}

void Requests::erase(const Request &request) {
  auto found = numbers.find({request.block, request.state});
  list.erase(found->second);
  numbers.erase(found);
}

void Requests::restart() {
  for (auto &[number, request] : list)
    request.order = PieceOrder();
}

std::vector<Message> Requests::frames(uint64_t from) const {
  std::vector<Message> result;
  frames::PullRequestT pulls;
  auto flush = [&] {
    if (!pulls.blocks.empty())
      result.emplace_back(pulls);
    pulls.blocks.clear();
  };
  for (auto next = list.lower_bound(from); next != list.end(); ++next) {
    const Request &request = next->second;
    if (request.rows)
      continue;
    if (request.state == -1) {
      pulls.blocks.emplace_back(request.least, request.block);
      if (pulls.blocks.size() == maxPulledBlocks)
        flush();
      continue;
    }
    frames::FetchT fetch;
    fetch.block = request.block, fetch.state = request.state, fetch.least = request.least;
    result.emplace_back(fetch);
  }
  flush();
  return result;
}

std::vector<Request> Requests::rows(uint64_t from) const {
  std::vector<Request> result;
  for (auto next = list.lower_bound(from); next != list.end(); ++next)
    if (next->second.rows)
      result.push_back(next->second);
  return result;
}

} // namespace epl::runtime::servers
