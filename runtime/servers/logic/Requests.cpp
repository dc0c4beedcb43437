#include "runtime/servers/logic/Requests.h"

#include <algorithm>

namespace epl::runtime::servers {

bool Requests::add(const Request &request) {
  if (find(request.block, request.state))
    return false;
  list.push_back(request);
  return true;
}

Request *Requests::find(uint32_t block, int32_t state) {
  auto found =
      std::ranges::find_if(list, [&](const Request &r) { return r.block == block && r.state == state; });
  return found == list.end() ? nullptr : &*found;
}

void Requests::erase(const Request &request) { list.erase(list.begin() + (&request - list.data())); }

void Requests::restart() {
  for (Request &request : list)
    request.order = PieceOrder();
}

std::vector<Message> Requests::frames(size_t from) const {
  std::vector<Message> result;
  frames::PullRequestT pulls;
  auto flush = [&] {
    if (!pulls.blocks.empty())
      result.emplace_back(pulls);
    pulls.blocks.clear();
  };
  for (size_t i = from; i < list.size(); ++i) {
    if (list[i].state == -1) {
      pulls.blocks.emplace_back(list[i].least, list[i].block);
      if (pulls.blocks.size() == maxPulledBlocks)
        flush();
      continue;
    }
    frames::FetchT fetch;
    fetch.block = list[i].block, fetch.state = list[i].state, fetch.least = list[i].least;
    result.emplace_back(fetch);
  }
  flush();
  return result;
}

} // namespace epl::runtime::servers
