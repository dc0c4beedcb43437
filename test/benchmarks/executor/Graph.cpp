#include "Graph.h"

#include <algorithm>
#include <random>

namespace epl::benchmark {

static constexpr uint32_t kLanes = 4;

Program Program::chain(uint32_t devices, uint32_t size) {
  Program program{devices, {}};
  for (uint32_t i = 0; i < size / devices; ++i)
    program.commands.push_back(
        {i % kLanes, i == 0 ? std::vector<Command::Wait>() : std::vector{Command::Wait{i - 1, true}}});
  return program;
}

Program Program::fanOut(uint32_t devices, uint32_t size) {
  Program program{devices, {}};
  for (uint32_t i = 0; i < size / devices; ++i)
    program.commands.push_back(
        {i % kLanes, i == 0 ? std::vector<Command::Wait>() : std::vector{Command::Wait{0, true}}});
  return program;
}

Program Program::random(uint32_t devices, uint32_t size) {
  constexpr uint32_t kReach = 64, kWaits = 3;
  std::mt19937 generator(0);
  Program program{devices, {}};
  for (uint32_t i = 0; i < size / devices; ++i) {
    Command command{uint32_t(generator()) % kLanes, {}};
    for (uint32_t wait = 0; wait < kWaits && i > 0; ++wait) {
      uint32_t earlier = i - 1 - uint32_t(generator()) % std::min(i, kReach);
      auto same = [&](Command::Wait other) { return other.command == earlier; };
      if (std::none_of(command.waits.begin(), command.waits.end(), same))
        command.waits.push_back({earlier, generator() % 4 == 0});
    }
    program.commands.push_back(command);
  }
  return program;
}

Graph expand(const Program &program) {
  Graph graph;
  for (const Command &command : program.commands)
    for (uint32_t device = 0; device < program.devices; ++device) {
      std::vector<uint32_t> &earlier = graph.emplace_back();
      for (Command::Wait wait : command.waits)
        for (uint32_t other = 0; other < program.devices; ++other)
          if (wait.everywhere || other == device)
            earlier.push_back(wait.command * program.devices + other);
    }
  return graph;
}

} // namespace epl::benchmark
