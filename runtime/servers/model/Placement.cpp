#include "runtime/servers/model/Placement.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Quoted.h"

namespace epl::runtime::servers {
namespace {

std::vector<PlacedBlock> cut(const Variable &variable, const SliceOptions &options) {
  try {
    uint32_t count = options.sliceVarUp && variable.sliced ? options.servers : 1;
    std::vector<Slice> slices = sliceVariable(variable.shape, count, options.minBlockSize);
    std::vector<PlacedBlock> blocks;
    blocks.reserve(slices.size());
    for (size_t i = 0; i < slices.size(); ++i)
      blocks.push_back(
          {blockName(variable.name, i, slices.size()), slices[i], sliceShape(variable.shape, slices[i]), 0});
    return blocks;
  } catch (const Error &error) {
    throw Error("variable " + quoted(variable.name) + " cannot be cut: " + error.what());
  }
}

void place(std::vector<PlacedBlock> &blocks, uint32_t servers, Dispatcher &dispatcher) {
  std::vector<std::string> names;
  names.reserve(blocks.size());
  for (const PlacedBlock &block : blocks)
    names.push_back(block.name);
  std::vector<uint32_t> places = dispatcher.dispatch(names);
  if (places.size() != blocks.size())
    throw Error("the dispatcher has given servers to " + std::to_string(places.size()) + " blocks from " +
                runtime::quoted(names.front()) + " on, expected " + std::to_string(blocks.size()));
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (places[i] >= servers)
      throw Error("the dispatcher has given block " + runtime::quoted(names[i]) + " to server " +
                  std::to_string(places[i]) + ", expected one below " + std::to_string(servers));
    blocks[i].server = places[i];
  }
}

} // namespace

std::string blockName(const std::string &variable, size_t index, size_t count) {
  return count == 1 ? variable : variable + ".block" + std::to_string(index);
}

std::vector<std::vector<PlacedBlock>> placeVariables(std::span<const Variable> variables,
                                                     const SliceOptions &options, Dispatcher &dispatcher) {
  if (options.servers == 0)
    throw Error("there are 0 servers, expected at least 1");
  std::vector<std::vector<PlacedBlock>> result;
  dispatcher.reset();
  for (const Variable &variable : variables) {
    result.push_back(cut(variable, options));
    place(result.back(), options.servers, dispatcher);
  }
  dispatcher.reset();
  return result;
}

} // namespace epl::runtime::servers
