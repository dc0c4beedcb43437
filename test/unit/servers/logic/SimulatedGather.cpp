#include "test/unit/servers/logic/SimulatedGather.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime::servers::test {
namespace {

/// Frames of bytes in pieces of three.
void sendPieces(Network &network, uint64_t stream, Process &from, const gather_actions::SendBytes &action) {
  for (const Piece &piece : cutPieces(action.bytes->size(), 3))
    std::visit(
        [&](auto head) {
          head.offset = piece.offset, head.total = action.bytes->size();
          auto begin = action.bytes->begin() + ptrdiff_t(piece.offset);
          network.send(stream, from, {encode(Message(head)), {begin, begin + ptrdiff_t(piece.size)}});
        },
        action.head);
}

} // namespace

void GatheringServer::received(uint64_t stream, const NetworkFrame &frame) {
  if (frame.head.empty())
    return act(logic.broke(stream, ""));
  Decoded decoded = decode(frame.head, frame.payload.size());
  const Message &message = std::get<Message>(decoded);
  if (auto *join = std::get_if<frames::JoinT>(&message))
    act(logic.join(stream, *join, network.now()));
  else if (logic.has(stream))
    act(logic.received(stream, frame.head, Payload(frame.payload), network.now()));
}

void GatheringServer::tick() {
  act(logic.tick(network.now()));
  network.after(200, *this, [this] { tick(); });
}

void GatheringServer::act(const GatherServer::Actions &actions) {
  for (const GatherAction &action : actions) {
    if (auto *frame = std::get_if<gather_actions::SendFrame>(&action))
      network.send(frame->stream, *this, {frame->head, {}});
    else if (auto *bytes = std::get_if<gather_actions::SendBytes>(&action))
      sendPieces(network, bytes->stream, *this, *bytes);
    else if (auto *close = std::get_if<gather_actions::CloseStream>(&action))
      network.close(close->stream, *this, !close->atOnce);
  }
}

Sharer::Sharer(Network &network, GatheringServer &server, uint32_t number, uint32_t workers, uint64_t rounds,
               uint64_t life)
    : network(network), server(server), number(number), rounds(rounds), ownLife(life),
      logic({number, workers, life, 0, "one:6174", number, {}}, network.now()) {
  tick();
}

void Sharer::received(uint64_t stream, const NetworkFrame &frame) {
  if (links.contains(stream))
    act(logic.received(links.at(stream), frame.head, Payload(frame.payload), network.now()));
}

void Sharer::broke(uint64_t stream) {
  if (links.contains(stream))
    act(logic.broke(links.at(stream), "reset", network.now()));
}

void Sharer::leave() {
  left = true;
  act(logic.leave());
}

void Sharer::tick() {
  act(logic.tick(network.now()));
  if (!left)
    network.after(200, *this, [this] { tick(); });
}

void Sharer::act(const GatherServer::Actions &actions) {
  for (const GatherAction &action : actions) {
    if (auto *open = std::get_if<gather_actions::OpenStream>(&action)) {
      uint64_t stream = network.open(*this, server);
      links[stream] = open->stream, streams[open->stream] = stream;
    } else if (auto *frame = std::get_if<gather_actions::SendFrame>(&action)) {
      network.send(streams.at(frame->stream), *this, {frame->head, {}});
    } else if (auto *bytes = std::get_if<gather_actions::SendBytes>(&action)) {
      sendPieces(network, streams.at(bytes->stream), *this, *bytes);
    } else if (auto *close = std::get_if<gather_actions::CloseStream>(&action)) {
      if (!close->atOnce)
        network.send(streams.at(close->stream), *this, lastFrame);
      network.close(streams.at(close->stream), *this, !close->atOnce);
    }
  }
  goOn();
}

/// Notes a round that has come to its end, and gives to the next one.
void Sharer::goOn() {
  if (!logic.first() || logic.isOpen() || isOver() || waits || left)
    return;
  if (given)
    note();
  if (isOver()) {
    if (leaves)
      leave();
    return;
  }
  waits = true;
  network.after(network.randomness()() % 500, *this, [this] { share(); });
}

void Sharer::share() {
  waits = false, given = true;
  uint64_t round = first() + came.size();
  std::string text = std::to_string(number) + "/" + std::to_string(round);
  std::vector<std::byte> bytes(text.size());
  std::ranges::transform(text, bytes.begin(), [](char c) { return std::byte(c); });
  act(logic.share(what(round), std::make_shared<const std::vector<std::byte>>(bytes), from(round)));
}

void Sharer::note() {
  std::string all;
  try {
    for (const std::vector<std::byte> &each : logic.results()) {
      all += all.empty() || each.empty() ? "" : " ";
      for (std::byte byte : each)
        all += char(byte);
    }
  } catch (const Error &error) {
    all = error.what();
  }
  came.push_back(all);
  given = false;
}

} // namespace epl::runtime::servers::test
