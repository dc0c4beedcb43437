#include "test/unit/servers/logic/Network.h"

#include <algorithm>
#include <utility>

namespace epl::runtime::servers::test {

void Network::after(Milliseconds wait, std::function<void()> action) {
  queue.push({time + wait, events++, std::move(action)});
}

void Network::after(Milliseconds wait, Process &process, std::function<void()> action) {
  after(wait, [this, &process, action = std::move(action)] {
    if (!process.alive)
      return;
    if (process.stopped > time)
      after(process.stopped - time, process, action);
    else
      action();
  });
}

void Network::run(Milliseconds until, const std::function<bool()> &done) {
  while (!queue.empty() && queue.top().time <= until && !done()) {
    Event event = queue.top();
    queue.pop();
    time = event.time;
    event.action();
  }
}

uint64_t Network::open(Process &from, Process &to) {
  uint64_t number = streams.size() + 1;
  streams[number] = Stream{{{&to}, {&from}}};
  streams[number].lasts = ++opened[{&from, &to}] % 3 == 0;
  if (!to.alive && to.reachable)
    breakStream(number);
  after(delay(), to, [this, number, &from, wait = delay()] {
    after(wait, from, [this, number, &from] {
      if (!streams.at(number).broken)
        from.opened(number);
    });
  });
  return number;
}

void Network::send(uint64_t number, Process &from, const NetworkFrame &frame) {
  Stream &stream = streams.at(number);
  if (stream.broken || !from.alive) // which may be since the frame before
    return;
  if (!stream.lasts && std::uniform_real_distribution<>()(random) < lossRate)
    return breakStream(number);
  Way &way = wayFrom(stream, from);
  way.frames.push_back(frame);
  way.last = std::max(way.last, time + delay());
  int index = &way == &stream.ways[1];
  after(way.last - time, *way.to, [=, this] { deliver(number, index); });
  watch(from, /*isSent=*/true, frame);
}

/// One frame comes: the first of those that have not. So they keep their order where the process stands
/// still.
void Network::deliver(uint64_t number, int index) {
  Way &way = streams.at(number).ways[index];
  if (way.frames.empty() || !way.open)
    return; // was lost
  NetworkFrame frame = std::move(way.frames.front());
  way.frames.pop_front();
  watch(*way.to, /*isSent=*/false, frame);
  if (way.to->alive)
    way.to->received(number, frame);
}

/// Tells an end of a stream that it has ended.
void Network::tell(uint64_t number, int index, Milliseconds wait) {
  after(wait, *streams.at(number).ways[index].to, [=, this] {
    Way &way = streams.at(number).ways[index];
    if (std::exchange(way.open, false))
      way.to->broke(number);
  });
}

/// What is on its way is lost, and both ends see it, one after the other.
void Network::breakStream(uint64_t number) {
  Stream &stream = streams.at(number);
  stream.broken = true;
  for (int index : {0, 1}) {
    stream.ways[index].frames.clear();
    tell(number, index, delay());
  }
}

void Network::close(uint64_t number, Process &from, bool last) {
  Stream &stream = streams.at(number);
  Way &way = wayFrom(stream, from), &back = stream.ways[&way == &stream.ways[0] ? 1 : 0];
  back.open = false;
  back.frames.clear();
  if (stream.broken)
    return;
  stream.broken = true;
  if (!last)
    way.frames.resize(random() % (way.frames.size() + 1));
  tell(number, &way == &stream.ways[1], std::max(way.last, time) - time + delay());
}

void Network::kill(Process &process, bool silently) {
  process.alive = false;
  process.reachable = !silently;
  if (silently)
    return;
  for (auto &[number, stream] : streams)
    if (!stream.broken && (stream.ways[0].to == &process || stream.ways[1].to == &process))
      breakStream(number);
}

} // namespace epl::runtime::servers::test
