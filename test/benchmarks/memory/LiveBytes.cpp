// How much of a plan's arena is needed in any case: at every command, the buffers that have been written and
// will be used again hold live data at once, whatever the layout. An output that may take the place of an
// input that dies in the same command counts once.
//
//   live_bytes PLAN...     prints {"arena": bytes, "bound": bytes} for each
#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Lifetime.h"
#include "runtime/plan/verify/ReadVerified.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

namespace epl::runtime {
namespace {

/// The commands, in program order, between which a buffer of the arena is in use.
struct Life {
  uint32_t begin = UINT32_MAX, end = 0;
};

std::vector<Life> livesOf(const plan::PlanT &plan) {
  Mesh mesh(plan);
  std::vector<Life> lives(plan.buffers.size());
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    for (const Access &access : accessesOf(plan, mesh, *plan.commands[command])) {
      Life &life = lives[access.root];
      life.begin = std::min(life.begin, command);
      life.end = command;
    }
  return lives;
}

bool isInArena(const plan::BufferT &buffer) { return buffer.slot < 0 && buffer.view_of < 0; }

uint64_t bytesOf(const plan::BufferT &buffer) {
  return !isInArena(buffer) ? 0 : (buffer.size + arenaAlignment - 1) / arenaAlignment * arenaAlignment;
}

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

/// The inputs and outputs of a command that may be in one place.
Pairs sharing(const plan::PlanT &plan, const plan::ActionUnion &action) {
  Pairs pairs;
  if (const plan::LaunchT *launch = action.AsLaunch()) {
    const plan::KernelT &kernel = *plan.kernels[launch->kernel];
    for (uint32_t output = 0; output < kernel.num_outputs; ++output)
      if (int32_t input = kernel.in_place[output]; input >= 0)
        pairs.emplace_back(launch->buffers[size_t(input)], launch->buffers[kernel.num_inputs + output]);
  } else if (const plan::ReducePartT *reduce = action.AsReducePart()) {
    for (const plan::ReducedTensorT &tensor : reduce->tensors)
      pairs.emplace_back(tensor.source, tensor.target);
  }
  return pairs;
}

/// Bytes of the outputs of a command that may lie where an input lay.
uint64_t sharedBytes(const plan::PlanT &plan, const std::vector<Life> &lives, uint32_t command) {
  uint64_t shared = 0;
  for (auto [from, to] : sharing(plan, plan.commands[command]->action))
    if (lives[from].end == command && lives[to].begin == command && isInArena(*plan.buffers[from]))
      shared += bytesOf(*plan.buffers[to]);
  return shared;
}

uint64_t liveBytes(const plan::PlanT &plan) {
  std::vector<Life> lives = livesOf(plan);
  std::vector<int64_t> change(plan.commands.size() + 1);
  for (uint32_t buffer = 0; buffer < lives.size(); ++buffer)
    if (lives[buffer].begin <= lives[buffer].end) {
      change[lives[buffer].begin] += int64_t(bytesOf(*plan.buffers[buffer]));
      change[lives[buffer].end + 1] -= int64_t(bytesOf(*plan.buffers[buffer]));
    }
  uint64_t live = 0, most = 0;
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    live += uint64_t(change[command]);
    most = std::max(most, live - sharedBytes(plan, lives, command));
  }
  return most;
}

} // namespace
} // namespace epl::runtime

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    epl::runtime::plan::PlanT plan = epl::runtime::readPlan(argv[i]);
    std::cout << nlohmann::json{{"arena", plan.arena_size}, {"bound", epl::runtime::liveBytes(plan)}}.dump()
              << std::endl;
  }
}
