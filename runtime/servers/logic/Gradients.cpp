#include "runtime/servers/logic/Gradients.h"

#include <utility>

namespace epl::runtime::servers {

std::optional<GradientHandle> Gradients::add(uint64_t step, GradientHandle gradient, uint32_t maxMerge) {
  next = step + 1;
  if (!queue.empty() && queue.back().count < maxMerge) {
    queue.back().step = step;
    ++queue.back().count;
    return queue.back().gradient;
  }
  queue.push_back({gradient, step, 1});
  return std::nullopt;
}

const Gradients::Entry *Gradients::send() {
  if (flying || queue.empty())
    return nullptr;
  flying = queue.front();
  queue.pop_front();
  return &*flying;
}

std::optional<Gradients::Entry> Gradients::acknowledged(uint64_t step) {
  if (!flying || flying->step != step)
    return std::nullopt;
  return std::exchange(flying, std::nullopt);
}

} // namespace epl::runtime::servers
