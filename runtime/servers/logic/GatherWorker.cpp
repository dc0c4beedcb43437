#include "runtime/servers/logic/GatherWorker.h"

#include "runtime/Error.h"
#include "runtime/servers/logic/Text.h"

#include <algorithm>
#include <utility>

namespace epl::runtime::servers {

using namespace gather_actions;

GatherWorker::GatherWorker(GatherOptions given, Milliseconds now)
    : options(std::move(given)), random(options.seed), noticed(now), link(options.timing, now) {}

bool GatherWorker::isCurrent(uint64_t stream) const {
  bool isUsed = link.state() == ServerLink::State::greeting || link.state() == ServerLink::State::welcomed;
  return isUsed && stream == ownStream();
}

void GatherWorker::accepted(uint64_t stream, Milliseconds now) {
  if (isCurrent(stream))
    link.accepted(now);
}

GatherWorker::Actions GatherWorker::received(uint64_t stream, std::span<const std::byte> head,
                                             const Payload &payload, Milliseconds now) {
  if (!isCurrent(stream))
    return {};
  notice(now);
  link.heardOf(now);
  absence.clear();
  Decoded decoded = decode(head, payload.size());
  if (auto *text = std::get_if<std::string>(&decoded))
    end("has sent a frame that " + *text);
  else if (std::string text = takeFrame(std::get<Message>(decoded), payload); !text.empty())
    end(text);
  return take();
}

std::string GatherWorker::takeFrame(const Message &message, const Payload &payload) {
  if (auto *joined = std::get_if<frames::JoinedT>(&message)) {
    link.welcomed(/*progress=*/false);
    if (!begun)
      next = joined->first;
    begun = begun.value_or(next);
    if (isOpen())
      give();
    return "";
  }
  if (auto *shared = std::get_if<frames::SharedT>(&message))
    return takePart(*shared, payload);
  if (auto *failed = std::get_if<frames::ShareFailedT>(&message)) {
    if (isOpen() && failed->number + 1 == next)
      fault = failed->text;
    return "";
  }
  if (auto *failure = std::get_if<frames::FailureT>(&message))
    return "has failed: " + failure->text;
  if (std::holds_alternative<frames::HeartbeatT>(message))
    return "";
  return textOf("has sent ", messageName(message), ", which has no place among all-gathers");
}

/// What has come before a stream broke comes again.
std::string GatherWorker::takePart(const frames::SharedT &shared, const Payload &payload) {
  if (!isOpen() || shared.number + 1 != next)
    return "";
  if (shared.worker >= options.workers || (from >= 0 && int32_t(shared.worker) != from))
    return textOf("has sent what worker ", shared.worker, " has given, which is not wanted");
  Part &part = parts[shared.worker];
  if (part.order.complete())
    return "";
  if (shared.offset == 0)
    part.bytes.resize(shared.total);
  if (std::string text = part.order.accept({shared.offset, payload.size()}, shared.total, part.bytes.size());
      !text.empty())
    return textOf("has sent what worker ", shared.worker, " has given, which ", text);
  payload.copyTo(std::span(part.bytes).subspan(shared.offset));
  whole += part.order.complete();
  return "";
}

GatherWorker::Actions GatherWorker::share(const std::string &text, SharedBytes bytes, int32_t only) {
  if (!ended.empty())
    return {};
  if (!begun || isOpen())
    throw Error(begun ? "an all-gather of this worker is not over yet" : "this worker has not joined yet");
  giving = std::move(bytes), what = text, from = only;
  fault.clear(), whole = 0;
  parts.assign(options.workers, {});
  ++next;
  if (link.state() == ServerLink::State::welcomed)
    give();
  return take();
}

void GatherWorker::give() {
  frames::ShareT share;
  share.number = next - 1, share.what = what, share.from = from;
  actions.emplace_back(SendBytes{ownStream(), share, giving});
}

std::vector<std::vector<std::byte>> GatherWorker::results() const {
  if (!fault.empty())
    throw Error(fault);
  std::vector<std::vector<std::byte>> results;
  results.reserve(parts.size());
  for (const Part &part : parts)
    results.push_back(part.bytes);
  return results;
}

GatherWorker::Actions GatherWorker::broke(uint64_t stream, const std::string &why, Milliseconds now) {
  if (!isCurrent(stream))
    return {};
  notice(now);
  link.broke(now, random);
  absence = why;
  if (std::string text = link.fault(now); !text.empty())
    end(text);
  return take();
}

GatherWorker::Actions GatherWorker::refused(uint64_t stream, const std::string &why) {
  if (!isCurrent(stream))
    return {};
  absence.clear();
  end("has no stream for this worker: " + why);
  return take();
}

/// Time goes on; if this process has stood still, nobody else is to blame.
void GatherWorker::notice(Milliseconds now) {
  link.shift(stoodStill(std::exchange(noticed, now), now, options.timing));
}

GatherWorker::Actions GatherWorker::tick(Milliseconds now) {
  notice(now);
  ServerLink::Due due = link.tick(now, /*waits=*/false);
  if (std::string text = link.fault(now); !text.empty()) {
    end(text);
  } else if (due == ServerLink::Due::reopen) {
    actions.emplace_back(CloseStream{ownStream(), /*atOnce=*/true});
    link.broke(now, random);
  } else if (due == ServerLink::Due::open && ended.empty()) {
    frames::JoinT join;
    join.protocol = protocolVersion, join.worker = options.worker, join.workers = options.workers;
    join.life = options.life, join.stream = link.opened(now);
    actions.emplace_back(OpenStream{ownStream()});
    actions.emplace_back(SendFrame{ownStream(), encode(join)});
  } else if (link.beats(now)) {
    frames::HeartbeatT heartbeat;
    heartbeat.goes_on = goesOn;
    actions.emplace_back(SendFrame{ownStream(), encode(heartbeat)});
  }
  return take();
}

GatherWorker::Actions GatherWorker::leave() {
  close();
  if (ended.empty())
    ended = "this worker has said goodbye to its servers";
  return take();
}

GatherWorker::Actions GatherWorker::fail(const std::string &why, bool ofServer) {
  frames::FailureT failure;
  failure.text = why, failure.of_server = ofServer;
  if (isCurrent(ownStream()))
    actions.emplace_back(SendFrame{ownStream(), encode(failure)});
  close();
  if (ended.empty())
    ended = why;
  return take();
}

/// `why`: for behind the server's name.
void GatherWorker::end(const std::string &why) {
  close();
  ended = textOf("server ", options.server, " (", options.address, ") ", why,
                 absence.empty() ? "" : " (" + absence + ")");
}

void GatherWorker::close() {
  if (isCurrent(ownStream()))
    actions.emplace_back(CloseStream{ownStream(), /*atOnce=*/false});
  link.close();
}

} // namespace epl::runtime::servers
