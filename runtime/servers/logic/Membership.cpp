#include "runtime/servers/logic/Membership.h"

#include <algorithm>

namespace epl::runtime::servers {

Membership::Membership(const GatherOptions &options, const std::vector<std::string> &addresses,
                       Milliseconds now) {
  for (uint32_t server = 0; server < addresses.size(); ++server) {
    GatherOptions own = options;
    own.server = server, own.address = addresses[server], own.seed = options.seed + server;
    links.emplace_back(std::move(own), now);
  }
}

Membership::Actions Membership::received(uint64_t stream, std::span<const std::byte> head,
                                         const Payload &payload, Milliseconds now) {
  return spread(workerOf(stream).received(stream, head, payload, now));
}

Membership::Actions Membership::broke(uint64_t stream, const std::string &why, Milliseconds now) {
  return spread(workerOf(stream).broke(stream, why, now));
}

Membership::Actions Membership::refused(uint64_t stream, const std::string &why) {
  return spread(workerOf(stream).refused(stream, why));
}

Membership::Actions Membership::tick(Milliseconds now) {
  Actions actions;
  for (GatherWorker &link : links)
    std::ranges::move(link.tick(now), std::back_inserter(actions));
  return spread(std::move(actions));
}

std::optional<uint64_t> Membership::first() const {
  bool isKnown =
      std::ranges::all_of(links, [](const GatherWorker &link) { return link.first().has_value(); });
  return isKnown ? links.front().first() : std::nullopt;
}

void Membership::knows(bool goesOn) {
  for (GatherWorker &link : links)
    link.knows(goesOn);
}

Membership::Actions Membership::end(const std::string &failure, bool ofServer) {
  Actions actions;
  for (GatherWorker &link : links)
    std::ranges::move(failure.empty() ? link.leave() : link.fail(failure, ofServer),
                      std::back_inserter(actions));
  if (ended.empty())
    ended = links.front().error();
  return actions;
}

/// Ends all streams if one has ended.
Membership::Actions Membership::spread(Actions actions) {
  auto over = std::ranges::find_if(links, [](const GatherWorker &link) { return !link.error().empty(); });
  if (!ended.empty() || over == links.end())
    return actions;
  ended = over->error();
  std::ranges::move(end(ended, /*ofServer=*/true), std::back_inserter(actions));
  return actions;
}

} // namespace epl::runtime::servers
