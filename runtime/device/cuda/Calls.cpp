#include "runtime/device/cuda/Calls.h"

#include "runtime/Error.h"
#include "runtime/plan/model/Convolutions.h"
#include "runtime/plan/model/Images.h"

#include <algorithm>
#include <cassert>

namespace epl::runtime::cuda {

// Of blocks of the plugin's own kernels.
static constexpr uint64_t kMostRows = 65535;

void Calls::enqueueCall(const Driver &api, CUdeviceptr workspace, CUstream stream) const {
  if (library)
    library->enqueue(workspace, stream);
  if (copy)
    api.check(copy->enqueue(api, stream), "it cannot be enqueued");
  if (host)
    api.check(host->enqueue(stream), "it cannot be enqueued");
}

void Tables::upload(Copies &copies) {
  for (uint32_t card = 0; card < bytes.size(); ++card) {
    memory.push_back(allocateOn(cards, card, bytes[card].size(), "a table of what is moved"));
    copies.in(bytes[card].data(), memory.back()->pointer(), bytes[card].size(), card);
  }
}

void Tables::replace(uint32_t card, uint64_t begin, const Tables &other, Copies &copies) {
  assert(begin + other.bytes[card].size() <= bytes[card].size() && "there is a place for it");
  if (!other.bytes[card].empty())
    copies.in(other.bytes[card].data(), memory[card]->pointer() + begin, other.bytes[card].size(), card);
}

/// Null if the library does not take it.
template <typename Call> static std::unique_ptr<const LibraryWork> toWork(std::optional<Call> call) {
  return call ? std::make_unique<const Call>(std::move(*call)) : nullptr;
}

KernelCall CallMaker::copy(const std::vector<CopyRun> &runs, uint32_t card) {
  uint64_t most = 0;
  for (const CopyRun &run : runs)
    most = std::max<uint64_t>(most, run.bytes);
  KernelCall call(images.own(card, "epl_copy"), gridFor(most / 8),
                  uint32_t(std::min<uint64_t>(runs.size(), kMostRows)));
  call.addInTable(tables.add(card, runs));
  call.add(uint64_t(runs.size()));
  return call;
}

CUresult HostCopy::enqueue(const Driver &api, CUstream stream) const {
  if (bytes == 0)
    return CUDA_SUCCESS;
  return isIn ? api.cuMemcpyHtoDAsync(target, reinterpret_cast<const void *>(source), bytes, stream)
              : api.cuMemcpyDtoHAsync(reinterpret_cast<void *>(target), source, bytes, stream);
}

/// One from a slot in memory of the host, or to one; none if it is within the card.
std::optional<HostCopy> CallMaker::copyHost(const plan::CopyT &copy, uint32_t rank,
                                            const MoveAddresses &addresses) const {
  bool isIn = hostSlotOf(plan, copy.source) >= 0;
  if (!isIn && hostSlotOf(plan, copy.target) < 0)
    return std::nullopt;
  return HostCopy{addresses.buffer(rank, copy.source) + copy.from,
                  addresses.buffer(rank, copy.target) + copy.to, copy.size, isIn};
}

KernelCall CallMaker::sum(const Sums &sums, uint32_t card) {
  uint64_t most = 0;
  for (const SumRun &run : sums.runs)
    most = std::max<uint64_t>(most, run.count);
  KernelCall call(images.own(card, sums.kernel), gridFor(most),
                  uint32_t(std::min<uint64_t>(sums.runs.size(), kMostRows)));
  call.addInTable(tables.add(card, sums.runs));
  call.add(uint64_t(sums.runs.size()));
  call.addInTable(tables.add(card, sums.sources));
  call.add(int(sums.members));
  return call;
}

KernelCall CallMaker::launch(const plan::LaunchT &launch, const plan::KernelT &kernel, size_t phase,
                             const PlaceOfCommand &place, const MoveAddresses &addresses) const {
  const plan::GridT &grid = *kernel.grids[phase];
  KernelCall call(images.kernel(place.card, symbolOfPhase(kernel, phase)), grid);
  for (uint32_t buffer : launch.buffers)
    call.add(uint64_t(addresses.buffer(place.rank, buffer)));
  if (kernel.workspace == 0)
    call.add(uint64_t(0));
  call.add(place.coordinates);
  call.add(grid.extent);
  call.add(uint64_t(grid.slice));
  call.add(place.conditions);
  return call;
}

KernelCall CallMaker::contract(const plan::ContractT &contract, const ProductOperands &operands,
                               const PlaceOfCommand &place) const {
  ContractArguments arguments{};
  arguments.conditions = place.conditions;
  arguments.a = operands.a, arguments.b = operands.b, arguments.c = operands.c;
  arguments.m = contract.m, arguments.n = contract.n, arguments.k = contract.k;
  arguments.lda = contract.lda, arguments.ldb = contract.ldb, arguments.ldc = contract.ldc;
  arguments.transposeA = contract.transpose_a, arguments.transposeB = contract.transpose_b;
  arguments.accumulate = contract.accumulate;
  arguments.bias = operands.bias, arguments.activation = int(contract.activation);
  arguments.elements = contract.m * contract.n;
  if (contract.batch.size() > kMostBatchDims)
    throw Error("the product has a batch of " + std::to_string(contract.batch.size()) +
                " dimensions, expected at most " + std::to_string(kMostBatchDims));
  for (const plan::BatchDim &dim : contract.batch) {
    int at = arguments.batchDims++;
    arguments.extent[at] = dim.extent(), arguments.elements *= dim.extent();
    arguments.strideA[at] = dim.stride_a(), arguments.strideB[at] = dim.stride_b();
    arguments.strideC[at] = dim.stride_c();
  }
  std::string name = std::string("epl_contract_") + plan::EnumNameElementType(contract.type);
  KernelCall call(images.own(place.card, name + (contract.widens ? "_f32" : "")),
                  gridFor(uint64_t(arguments.elements)));
  call.add(arguments);
  return call;
}

/// By a library, or by the host.
void CallMaker::factorize(const plan::LaunchT &launch, const plan::KernelT &kernel,
                          const PlaceOfCommand &place, const MoveAddresses &addresses, Calls &calls) const {
  std::vector<CUdeviceptr> operands;
  operands.reserve(kernel.operand_sizes.size());
  for (size_t i = 0; i < kernel.operand_sizes.size(); ++i)
    operands.push_back(addresses.buffer(place.rank, launch.buffers[i]));
  if (std::shared_ptr<const FactorizationLibrary> library = images.factorizations(place.card)) {
    std::string type = plan::EnumNameElementType(kernel.factorization->type);
    FactorizationKernels own{images.own(place.card, "epl_matrices_" + type),
                             images.own(place.card, "epl_pivots")};
    calls.library = toWork(FactorizationCall::make(std::move(library), api, kernel, operands, own));
  }
  if (!calls.library)
    calls.host = std::make_unique<HostCall>(api, kernel, std::move(operands));
}

KernelCall CallMaker::widen(plan::ElementType type, CUdeviceptr from, CUdeviceptr to, uint64_t count,
                            uint32_t card) const {
  KernelCall call(images.own(card, std::string("epl_widen_") + plan::EnumNameElementType(type)),
                  gridFor(count));
  call.add(uint64_t(from)), call.add(uint64_t(to)), call.add(count);
  return call;
}

/// Whether the library takes the convolution that a kernel is; then it is a call of that. One that adds to
/// its last input adds to a copy of it, where the result lies elsewhere. One of 16-bit floats with an f32
/// result is one of f32.
bool CallMaker::convolve(const plan::LaunchT &launch, const plan::KernelT &kernel,
                         const PlaceOfCommand &place, const MoveAddresses &addresses, Calls &calls) {
  std::shared_ptr<const CudnnLibrary> library = images.cudnn(place.card);
  if (!library)
    return false;
  plan::ConvolutionT convolution = *kernel.convolution;
  auto addressOf = [&](uint32_t operand) { return addresses.buffer(place.rank, launch.buffers[operand]); };
  ConvolutionOperands operands = {addressOf(convolution.image), addressOf(convolution.filter),
                                  addressOf(convolution.output)};
  std::vector<KernelCall> before;
  WidenedTensors widened = widenedOf(kernel);
  for (size_t tensor = 0; tensor < operands.size(); ++tensor)
    if (uint64_t bytes = widened.bytes[tensor]) {
      CUdeviceptr to = addressOf(uint32_t(kernel.operand_sizes.size())) + widened.offsets[tensor];
      before.push_back(widen(convolution.type, operands[tensor], to, bytes / elementBytes(convolution.result),
                             place.card));
      operands[tensor] = to;
    }
  CUdeviceptr from = convolution.accumulate ? addressOf(kernel.num_inputs - 1) : 0,
              to = addressOf(kernel.num_inputs);
  if (from != 0 && from != to)
    before.push_back(copy({{to, from, kernel.operand_sizes.back()}}, place.card));
  convolution.type = convolution.result;
  calls.library = toWork(ConvolutionCall::make(std::move(library), convolution, operands, widened.size > 0));
  if (calls.library)
    calls.kernels = std::move(before);
  return calls.library != nullptr;
}

/// What the library does for the attention that a contraction ends; nothing if it does not take it.
std::optional<AttentionCall> CallMaker::attend(const plan::ContractT &contract, const PlaceOfCommand &place,
                                               const MoveAddresses &addresses) const {
  std::shared_ptr<const CudnnLibrary> library = images.cudnn(place.card);
  if (!library)
    return std::nullopt;
  AttentionShape shape = shapeOf(plan, contract);
  auto addressOf = [&](uint32_t buffer) { return addresses.buffer(place.rank, buffer); };
  return AttentionCall::make(
      std::move(library), shape,
      {addressOf(shape.q.buffer), addressOf(shape.k.buffer), addressOf(shape.v.buffer),
       addressOf(shape.o.buffer),
       contract.attention->gradient >= 0 ? addressOf(contract.attention->stats) : CUdeviceptr(0)});
}

/// The same of the gradient of attention.
std::optional<AttentionGradientCall> CallMaker::attendBack(const plan::AttentionGradientT &gradient,
                                                           const PlaceOfCommand &place,
                                                           const MoveAddresses &addresses) const {
  std::shared_ptr<const CudnnLibrary> library = images.cudnn(place.card);
  if (!library)
    return std::nullopt;
  auto addressOf = [&](uint32_t buffer) { return addresses.buffer(place.rank, buffer); };
  auto input = [&](size_t i) { return addressOf(gradient.inputs[i].buffer()); };
  auto output = [&](size_t i) { return addressOf(gradient.outputs[i].buffer()); };
  return AttentionGradientCall::make(std::move(library), shapeOf(plan, gradient),
                                     {input(0), input(1), input(2), input(3), addressOf(gradient.stats),
                                      input(4), output(0), output(1), output(2)});
}

/// What the library does for the command that ends attention, or its gradient; null if it does not take it:
/// of attention with a gradient both or neither, as each needs what the other one's commands make.
std::unique_ptr<const LibraryWork> CallMaker::attentionOf(const plan::CommandT &end,
                                                          const PlaceOfCommand &place,
                                                          const MoveAddresses &addresses) const {
  const plan::AttentionGradientT *gradient = end.action.AsAttentionGradient();
  const plan::ContractT *contract = gradient ? attentionEndOf(plan, *gradient) : end.action.AsContract();
  if (!contract || !contract->attention)
    return nullptr;
  std::optional<AttentionCall> call = attend(*contract, place, addresses);
  if (!call || contract->attention->gradient < 0)
    return toWork(std::move(call));
  gradient = plan.commands[size_t(contract->attention->gradient)]->action.AsAttentionGradient();
  std::optional<AttentionGradientCall> back = attendBack(*gradient, place, addresses);
  if (!back)
    return nullptr;
  return end.action.AsContract() ? toWork(std::move(call)) : toWork(std::move(back));
}

/// Whether the library does a command's work where the attention ends that it is a part of. It asks for the
/// addresses of that, so that it is asked again when these change.
bool CallMaker::isAttended(const plan::CommandT &command, const PlaceOfCommand &place,
                           const MoveAddresses &addresses) const {
  return command.attention >= 0 &&
         attentionOf(*plan.commands[size_t(command.attention)], place, addresses) != nullptr;
}

KernelCall CallMaker::makeList(const plan::KernelT &kernel, size_t phase, uint32_t card,
                               std::span<const KernelCall *const> launches) {
  std::vector<uint64_t> rows;
  std::vector<uint32_t> rowOfBlock;
  for (uint32_t number = 0; number < launches.size(); ++number) {
    std::span<const std::byte> arguments = launches[number]->getArguments();
    uint32_t blocks = launches[number]->getGrid().blocks;
    rows.insert(rows.end(), {rowOfBlock.size(), blocks});
    size_t begin = rows.size();
    rows.resize(begin + arguments.size() / sizeof(uint64_t));
    std::memcpy(rows.data() + begin, arguments.data(), arguments.size());
    rowOfBlock.insert(rowOfBlock.end(), blocks, number);
  }
  plan::GridT grid = launches.front()->getGrid();
  grid.blocks = uint32_t(rowOfBlock.size());
  KernelCall call(images.kernel(card, symbolOfList(kernel, phase)), grid);
  call.addInTable(tables.add(card, rows));
  call.addInTable(tables.add(card, rowOfBlock));
  return call;
}

Calls CallMaker::make(const plan::CommandT &command, const PlaceOfCommand &place,
                      const MoveAddresses &addresses) {
  Calls calls;
  uint32_t rank = place.rank, card = place.card;
  if (isAttended(command, place, addresses))
    return calls;
  if (calls.library = attentionOf(command, place, addresses);
      calls.library || command.action.AsAttentionGradient())
    return calls;
  if (const plan::LaunchT *action = command.action.AsLaunch()) {
    const plan::KernelT &kernel = *plan.kernels[action->kernel];
    if (kernel.factorization)
      factorize(*action, kernel, place, addresses, calls);
    if (kernel.convolution && convolve(*action, kernel, place, addresses, calls))
      return calls;
    for (size_t phase = 0; phase < kernel.grids.size(); ++phase)
      if (kernel.grids[phase]->extent != 0)
        calls.kernels.push_back(launch(*action, kernel, phase, place, addresses));
    return calls;
  }
  if (const plan::ContractT *action = command.action.AsContract()) {
    ProductOperands operands{addresses.buffer(rank, action->a), addresses.buffer(rank, action->b),
                             addresses.buffer(rank, action->c),
                             action->has_bias ? addresses.buffer(rank, action->bias) : 0};
    if (std::shared_ptr<const ProductLibrary> library = images.products(card))
      calls.library = toWork(ProductCall::make(std::move(library), *action, operands));
    if (!calls.library)
      calls.kernels.push_back(contract(*action, operands, place));
    return calls;
  }
  if (const plan::CopyT *action = command.action.AsCopy())
    calls.copy = copyHost(*action, rank, addresses);
  if (!calls.copy)
    add(movesOf(plan, channels, topology, command, rank, addresses), card, calls);
  return calls;
}

//===----------------------------------------------------------------------===//
// What is moved between ranks
//===----------------------------------------------------------------------===//

void CallMaker::add(const Moves &moves, uint32_t card, Calls &calls) {
  if (!moves.copies.empty())
    calls.kernels.push_back(copy(moves.copies, card));
  for (const Sums &sums : moves.sums)
    if (!sums.runs.empty())
      calls.kernels.push_back(sum(sums, card));
}

/// Its messages, as they go and come.
Calls CallMaker::exchange(const TransferPlace &place, uint32_t card,
                          const std::function<CUdeviceptr(uint32_t buffer)> &addressOf) {
  Calls calls;
  if (std::vector<CopyRun> packs = packsOf(place.transfer.sent, place.staging, addressOf); !packs.empty())
    calls.packs.push_back(copy(packs, card));
  calls.transfer = {place.comm, place.room, callsOf(place.transfer, place.staging, addressOf)};
  return calls;
}

Calls CallMaker::transfer(const plan::CommandT &command, uint32_t rank, uint32_t card,
                          const TransferPlace &place, const MoveAddresses &addresses,
                          RemoteAddresses &remote) {
  Calls calls;
  if (place.transfer.isLibraryCall) {
    if (auto found = libraryCallsOf(plan, command, rank, addresses); !found.empty())
      calls.transfer = {place.comm, nullptr, std::move(found)};
    return calls;
  }
  calls = exchange(place, card, [&](uint32_t buffer) { return addresses.buffer(rank, buffer); });
  Moves moves = movesOf(plan, channels, topology, command, rank, addresses);
  remote.locate(moves);
  receiveInPlace(calls.transfer->calls, moves);
  add(moves, card, calls);
  return calls;
}

Calls CallMaker::send(const TransferPlace &place, CUdeviceptr value, uint32_t card) {
  return exchange(place, card, [&](uint32_t) { return value; });
}

} // namespace epl::runtime::cuda
