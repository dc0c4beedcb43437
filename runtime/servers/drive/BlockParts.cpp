#include "runtime/servers/drive/BlockParts.h"

#include "runtime/servers/model/Slices.h"
#include "runtime/servers/store/BlockStore.h"

#include <cstring>

namespace epl::runtime::servers {
namespace {

/// Where in a state, or in what is pushed, a block's part of it begins.
template <typename TensorT> size_t rowsBegin(const Job &job, uint32_t block, const TensorT &whole) {
  uint64_t elements = whole.sliced ? job.blocks.firstRow(block) * rowElements(whole.shape) : 0;
  return elements * elementBytes(whole.type);
}

} // namespace

TensorType typeOf(const Job &job, ValueId value) {
  const manifest::ParameterT &parameter = *job.manifest.parameters.at(value.parameter);
  if (value.state == BlockStore::kParameter)
    return {parameter.type, parameter.shape};
  const manifest::StateT &state = *parameter.states.at(size_t(value.state));
  return {state.type, state.shape};
}

Part partOf(const Job &job, uint32_t block, int32_t state) {
  const manifest::ParameterT &parameter = job.blocks.parameter(block);
  const manifest::BlockT &cut = job.blocks[block];
  if (state == BlockStore::kParameter)
    return {cut.begin * elementBytes(parameter.type), {parameter.type, cut.shape}};
  const manifest::StateT &kept = *parameter.states[size_t(state)];
  return {rowsBegin(job, block, kept), {kept.type, shapeIn(cut, kept)}};
}

HostTensor take(const HostTensor &whole, Part part) {
  return {std::move(part.type), whole.data + part.begin, whole.owner};
}

HostTensor pushOf(const Job &job, uint32_t block, const std::vector<HostTensor> &wholes) {
  const manifest::ParameterT &parameter = job.blocks.parameter(block);
  std::vector<PushPart> parts = job.blocks.pushParts(block);
  if (parts.size() == 1)
    return take(wholes.front(), {rowsBegin(job, block, *parameter.pushes.front()),
                                 {parts.front().type, parts.front().shape}});
  // Zeros between tensors: a worker sends no memory that it does not mean to.
  HostTensor result = HostTensor::allocate({plan::ElementType::i8, {int64_t(job.blocks.pushBytes(block))}});
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].bytes != 0)
      std::memcpy(result.data + parts[i].offset, wholes[i].data + rowsBegin(job, block, *parameter.pushes[i]),
                  parts[i].bytes);
  return result;
}

} // namespace epl::runtime::servers
