#include "test/unit/plan/TrainingLoop.h"

#include "test/unit/plan/Plans.h"

namespace epl::runtime::test {
namespace {

using plan::SlotRole;

constexpr uint64_t rowBytes = 64;
constexpr int64_t side = 64; // of square matrices of f32
constexpr uint64_t matrixBytes = uint64_t(side * side) * 4;

class Maker {
public:
  explicit Maker(const LoopShape &shape) : shape(shape), shardBytes(matrixBytes / shape.data) {
    maker.axis("data", shape.data);
    maker.axis("model", shape.model);
    data = maker.addCommunicator({"data"});
    model = maker.addCommunicator({"model"});
    both = maker.addCommunicator({"data", "model"});
    activate = kernel("activate", {matrixBytes}, matrixBytes, 0);
    scale = kernel("scale", {matrixBytes, matrixBytes}, matrixBytes, 0);
    update = kernel("update", {shardBytes, matrixBytes}, shardBytes, 0);
    for (uint32_t layer = 0; layer < shape.layers; ++layer)
      shards.push_back(
          maker.argument("w" + std::to_string(layer), SlotRole::state, int64_t(matrixBytes), {"data"}));
    input = maker.argument("x", SlotRole::batch, int64_t(matrixBytes));
    rows = uint64_t(shape.iterations) * shape.layers;
    for (uint32_t layer = 0; layer < shape.layers; ++layer)
      maker.slot("w" + std::to_string(layer), SlotRole::result, int64_t(matrixBytes), {"data"},
                 int32_t(layer));
    historySlot = maker.slot("history", SlotRole::result, int64_t(rowBytes * rows));
    history = maker.buffer("history", rowBytes * rows);
  }

  plan::PlanT make() {
    for (uint32_t iteration = 0; iteration < shape.iterations; ++iteration) {
      uint32_t value = input;
      for (uint32_t layer = 0; layer < shape.layers; ++layer)
        value = forward(layer, value);
      for (uint32_t layer = shape.layers; layer-- > 0;)
        value = backward(layer, value);
    }
    for (uint32_t layer = 0; layer < shape.layers; ++layer)
      maker.setResult(layer + shape.layers + 1, shards[layer]);
    maker.setResult(historySlot, history);
    return maker.finish();
  }

private:
  uint32_t kernel(const std::string &name, std::vector<uint64_t> inputs, uint64_t output, int32_t inPlace) {
    plan::KernelT kernel;
    kernel.name = kernel.symbol = name;
    kernel.extent = 1;
    kernel.num_inputs = uint32_t(inputs.size());
    kernel.num_outputs = 1;
    kernel.in_place = {inPlace};
    kernel.operand_sizes = std::move(inputs);
    kernel.operand_sizes.push_back(output);
    return maker.addKernel(std::move(kernel));
  }

  static CommandInfo info(const std::string &name) {
    return {.name = name, .location = "step.py:1", .work = "tg0.forward"};
  }

  void launch(const std::string &name, uint32_t kernel, const std::vector<uint32_t> &buffers) {
    maker.launch(info(name), kernel, buffers);
  }

  void contract(const std::string &name, uint32_t a, uint32_t b, uint32_t c) {
    plan::ContractT contract;
    contract.type = plan::ElementType::f32;
    contract.a = a, contract.b = b, contract.c = c;
    contract.m = contract.n = contract.k = contract.lda = contract.ldb = contract.ldc = side;
    maker.contract(info(name), std::move(contract));
  }

  /// Eight commands and two buffers.
  uint32_t forward(uint32_t layer, uint32_t value) {
    wholes.push_back(maker.buffer("whole", matrixBytes));
    uint32_t next = maker.buffer("next", matrixBytes);
    maker.gather("gather", data, shards[layer], wholes.back(), 1);
    contract("product", value, wholes.back(), next);
    maker.sum("sum", model, next, next);
    for (int i = 0; i < 4; ++i)
      launch("activate", activate, {next, next});
    kept.push_back(next);
    return next;
  }

  /// Twelve commands and three buffers.
  uint32_t backward(uint32_t layer, uint32_t value) {
    uint32_t back = maker.buffer("back", matrixBytes), gradient = maker.buffer("gradient", matrixBytes);
    uint32_t shard = maker.buffer("shard", shardBytes);
    contract("back", value, wholes.back(), back);
    maker.sum("sum back", model, back, back);
    contract("gradient", kept.back(), back, gradient);
    launch("scale", scale, {gradient, back, gradient});
    maker.sum("sum gradient", model, gradient, gradient);
    maker.sum("sum gradients", both, gradient, gradient);
    launch("activate back", activate, {back, back});
    launch("update", update, {shards[layer], gradient, shard});
    plan::CopyT copy;
    copy.source = back, copy.target = history;
    copy.to = rowBytes * row++, copy.size = rowBytes;
    maker.copy(info("row"), copy);
    shards[layer] = shard;
    wholes.pop_back();
    kept.pop_back();
    return back;
  }

  LoopShape shape;
  uint64_t shardBytes, row = 0, rows = 0;
  PlanMaker maker;
  uint32_t data, model, both;
  uint32_t activate, scale, update; // kernels
  uint32_t input, historySlot, history;
  std::vector<uint32_t> shards;       // of the weights of each layer
  std::vector<uint32_t> wholes, kept; // of the layers that are to come backward
};

} // namespace

plan::PlanT trainingLoop(const LoopShape &shape) { return Maker(shape).make(); }

} // namespace epl::runtime::test
