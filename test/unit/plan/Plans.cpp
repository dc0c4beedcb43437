#include "test/unit/plan/Plans.h"

#include "runtime/plan/build/JoinParts.h"
#include "runtime/plan/model/Factorizations.h"

#include <algorithm>
#include <random>
#include <set>

namespace epl::runtime::test {

using plan::SlotRole;

uint32_t PlanMaker::axis(const std::string &name, uint32_t size) {
  axisSizes[name] = size;
  return addAxis(name, size);
}

uint32_t PlanMaker::slot(const std::string &name, SlotRole role, int64_t size,
                         const std::vector<std::string> &axes, int32_t updates) {
  plan::SlotT slot;
  slot.name = name;
  slot.role = role;
  slot.type = plan::ElementType::i8;
  slot.shape = {size};
  slot.sharding.push_back(std::make_unique<plan::DimShardingT>());
  slot.sharding.back()->axes = axes;
  slot.updates = updates;
  return addSlot(std::move(slot));
}

uint32_t PlanMaker::argument(const std::string &name, SlotRole role, int64_t size,
                             const std::vector<std::string> &axes) {
  uint32_t buffer = slotBuffer(slot(name, role, size, axes));
  sizes[buffer] = uint64_t(size);
  for (const std::string &axis : axes)
    sizes[buffer] /= axisSizes.at(axis);
  return buffer;
}

uint32_t PlanMaker::buffer(const std::string &name, uint64_t size) {
  uint32_t buffer = addBuffer(name, size);
  sizes[buffer] = size;
  return buffer;
}

uint32_t PlanMaker::view(const std::string &name, uint32_t of, uint64_t part, uint64_t size) {
  uint32_t index = addView(name, of, part * size, size);
  sizes[index] = size;
  return index;
}

void PlanMaker::run(const std::string &name, const std::vector<uint32_t> &inputs,
                    const std::vector<uint32_t> &outputs, const std::vector<int32_t> &inPlace,
                    int64_t workspace) {
  plan::KernelT kernel;
  kernel.name = kernel.symbol = name;
  kernel.extent = 1;
  run(std::move(kernel), inputs, outputs, inPlace, workspace);
}

void PlanMaker::factorize(const std::string &name, const plan::FactorizationT &factorization, int64_t count,
                          const std::vector<uint32_t> &inputs, const std::vector<uint32_t> &outputs) {
  plan::KernelT kernel;
  kernel.name = kernel.symbol = name;
  kernel.extent = count;
  kernel.factorization = std::make_unique<plan::FactorizationT>(factorization);
  uint64_t workspace = memoryOf(factorization).workspace;
  run(std::move(kernel), inputs, outputs, {}, workspace > 0 ? int64_t(buffer("work", workspace)) : -1);
}

void PlanMaker::run(plan::KernelT kernel, const std::vector<uint32_t> &inputs,
                    const std::vector<uint32_t> &outputs, const std::vector<int32_t> &inPlace,
                    int64_t workspace) {
  std::string name = kernel.name;
  kernel.num_inputs = uint32_t(inputs.size());
  kernel.num_outputs = uint32_t(outputs.size());
  kernel.in_place = inPlace.empty() ? std::vector<int32_t>(outputs.size(), -1) : inPlace;
  std::vector<uint32_t> buffers = inputs;
  buffers.insert(buffers.end(), outputs.begin(), outputs.end());
  for (uint32_t buffer : buffers)
    kernel.operand_sizes.push_back(sizeOf(buffer));
  if (workspace >= 0) {
    kernel.workspace = sizeOf(uint32_t(workspace));
    buffers.push_back(uint32_t(workspace));
  }
  uint32_t index = addKernel(std::move(kernel));
  launch({.name = name, .location = "step.py:" + std::to_string(index), .work = "tg0.forward"}, index,
         std::move(buffers));
}

void PlanMaker::sum(const std::string &name, uint32_t communicator, uint32_t source, uint32_t target) {
  sum(name, communicator, {{source, target}});
}

void PlanMaker::sum(const std::string &name, uint32_t communicator,
                    const std::vector<std::pair<uint32_t, uint32_t>> &tensors) {
  plan::ReducePartT reduce;
  reduce.communicator = communicator;
  for (auto [source, target] : tensors) {
    plan::ReducedTensorT &tensor = reduce.tensors.emplace_back();
    tensor.type = plan::ElementType::i8;
    tensor.source = source;
    tensor.target = target;
    tensor.count = int64_t(sizeOf(source));
  }
  allReduce({.name = name, .location = "", .work = "tg0.backward"}, std::move(reduce));
}

void PlanMaker::gather(const std::string &name, uint32_t communicator, uint32_t source, uint32_t target,
                       int64_t outer) {
  gather(name, communicator, {{source, target}}, outer);
}

void PlanMaker::gather(const std::string &name, uint32_t communicator,
                       const std::vector<std::pair<uint32_t, uint32_t>> &tensors, int64_t outer) {
  plan::GatherBlocksT gather;
  gather.communicator = communicator;
  for (auto [source, target] : tensors) {
    plan::GatheredBlocksT &tensor = gather.tensors.emplace_back();
    tensor.type = plan::ElementType::i8;
    tensor.source = source;
    tensor.target = target;
    tensor.outer = outer;
    tensor.inner = int64_t(sizeOf(source)) / outer;
  }
  allGather({.name = name, .location = "", .work = "tg0.forward"}, std::move(gather));
}

static std::vector<std::unique_ptr<plan::DimShardingT>> shardingOf(const PlanMaker::Axes &axes) {
  std::vector<std::unique_ptr<plan::DimShardingT>> sharding;
  for (const auto &dim : axes) {
    sharding.push_back(std::make_unique<plan::DimShardingT>());
    sharding.back()->axes = dim;
  }
  return sharding;
}

void PlanMaker::scatter(const std::string &name, uint32_t communicator, uint32_t source, uint32_t target,
                        std::vector<int64_t> shape, const Axes &to) {
  scatter(name, communicator, {{source, target, std::move(shape), to}});
}

void PlanMaker::scatter(const std::string &name, uint32_t communicator,
                        const std::vector<Scattered> &tensors) {
  plan::ReduceBlocksT reduce;
  reduce.communicator = communicator;
  for (const Scattered &each : tensors) {
    plan::ReducedBlocksT &tensor = reduce.tensors.emplace_back();
    tensor.type = plan::ElementType::i8;
    tensor.source = each.source;
    tensor.target = each.target;
    tensor.shape = each.shape;
    tensor.sharding = shardingOf(each.to);
  }
  reduceScatter({.name = name, .location = "", .work = "tg0.backward"}, std::move(reduce));
}

void PlanMaker::exchange(const std::string &name, uint32_t communicator, uint32_t source, uint32_t target,
                         std::vector<int64_t> shape, const Axes &from, const Axes &to) {
  plan::ExchangeBlocksT action;
  action.communicator = communicator;
  action.type = plan::ElementType::i8;
  action.source = source;
  action.target = target;
  action.shape = std::move(shape);
  action.from = shardingOf(from);
  action.to = shardingOf(to);
  Builder::exchange({.name = name, .location = "", .work = "tg0.forward"}, std::move(action));
}

void PlanMaker::put(uint32_t channel, uint32_t source, int64_t size, const std::vector<std::string> &axes,
                    uint32_t message, uint32_t depth) {
  plan::SendT send;
  send.channel = channel;
  send.message = message;
  send.depth = depth;
  send.type = plan::ElementType::i8;
  send.source = source;
  send.shape = {size};
  send.sharding = shardingOf({axes});
  Builder::send({.name = "send " + std::to_string(channel), .location = "", .work = "tg0.forward"},
                std::move(send));
}

void PlanMaker::take(uint32_t channel, uint32_t target, int64_t size, const std::vector<std::string> &axes,
                     uint32_t message, uint32_t depth) {
  plan::ReceiveT receive;
  receive.channel = channel;
  receive.message = message;
  receive.depth = depth;
  receive.type = plan::ElementType::i8;
  receive.target = target;
  receive.shape = {size};
  receive.sharding = shardingOf({axes});
  Builder::receive({.name = "receive " + std::to_string(channel), .location = "", .work = "tg0.forward"},
                   std::move(receive));
}

plan::PlanT trainingPlan(uint32_t devices) {
  PlanMaker maker;
  maker.axis("data", devices);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t w1 = maker.argument("w1", SlotRole::state, 128), w2 = maker.argument("w2", SlotRole::state, 192);
  uint32_t x = maker.argument("x", SlotRole::batch, 64 * devices, {"data"});
  uint32_t w1New = maker.slot("w1", SlotRole::result, 128, {}, 0);
  uint32_t w2New = maker.slot("w2", SlotRole::result, 192, {}, 1);
  uint32_t loss = maker.slot("loss", SlotRole::result, 4);

  uint32_t h1 = maker.buffer("h1", 256), h2 = maker.buffer("h2", 256), scratch = maker.buffer("scratch", 100);
  uint32_t localLoss = maker.buffer("local loss", 4), d2 = maker.buffer("d2", 256),
           g2 = maker.buffer("g2", 192);
  uint32_t d1 = maker.buffer("d1", 256), g1 = maker.buffer("g1", 128), sum1 = maker.buffer("sum1", 128);
  uint32_t next1 = maker.buffer("next1", 128), next2 = maker.buffer("next2", 192);
  maker.run("layer1", {w1, x}, {h1});
  maker.run("layer2", {w2, h1}, {h2}, {}, scratch);
  maker.run("loss", {h2}, {localLoss, d2}, {-1, 0});
  maker.sum("sum loss", data, localLoss, localLoss);
  maker.run("grad2", {d2, h1}, {g2});
  maker.sum("sum g2", data, g2, g2);
  maker.run("back2", {d2, w2}, {d1}, {0});
  maker.run("grad1", {d1, x}, {g1});
  maker.sum("sum g1", data, g1, sum1);
  maker.run("update2", {w2, g2}, {next2}, {0});
  maker.run("update1", {w1, sum1}, {next1}, {0});
  maker.setResult(w1New, next1);
  maker.setResult(w2New, next2);
  maker.setResult(loss, localLoss);
  return maker.finish();
}

plan::PlanT largePlan(uint32_t iterations) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t weights = maker.argument("weights", SlotRole::batch, 64);
  uint32_t value = maker.argument("start", SlotRole::batch, 64);
  uint32_t rows = maker.slot("history", SlotRole::result, 64 * int64_t(iterations));
  uint32_t history = maker.buffer("history", 64 * uint64_t(iterations));
  for (uint32_t i = 0; i < iterations; ++i) {
    uint32_t next = maker.buffer("next", 64);
    maker.run("layer", {value, weights}, {next});
    maker.sum("sum", data, next, next);
    plan::CopyT row;
    row.source = next;
    row.target = history;
    row.to = 64 * uint64_t(i);
    row.size = 64;
    maker.copy({.name = "row", .location = "", .work = "tg0.forward"}, row);
    value = next;
  }
  maker.setResult(rows, history);
  return maker.finish();
}

plan::PlanT gatherPlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  maker.axis("model", 3);
  uint32_t data = maker.addCommunicator({"data"}), model = maker.addCommunicator({"model"});
  uint32_t w = maker.argument("w", SlotRole::state, 384, {"data", "model"});
  uint32_t x = maker.argument("x", SlotRole::batch, 128, {"data"});
  uint32_t y = maker.slot("y", SlotRole::result, 256, {"data"});
  uint32_t half = maker.buffer("half", 192), whole = maker.buffer("whole", 384);
  uint32_t part = maker.buffer("part", 64), out = maker.buffer("out", 128), sum = maker.buffer("sum", 128);
  maker.gather("gather model", model, w, half, 4);
  maker.gather("gather data", data, half, whole, 2);
  maker.run("use", {whole, x}, {out, part});
  maker.run("more", {part, out}, {sum});
  maker.sum("sum model", model, sum, sum);
  maker.setResult(y, sum);
  return maker.finish();
}

plan::PlanT meshPlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  maker.axis("model", 2);
  uint32_t data = maker.addCommunicator({"data"}), model = maker.addCommunicator({"model"});
  uint32_t both = maker.addCommunicator({"model", "data"});
  uint32_t x = maker.argument("x", SlotRole::batch, 256, {"data", "model"});
  uint32_t r = maker.slot("r", SlotRole::result, 128);
  std::vector<uint32_t> t;
  for (int i = 0; i < 6; ++i)
    t.push_back(maker.buffer("t" + std::to_string(i), 128));
  maker.run("a", {x}, {t[0]});
  maker.sum("sum model", model, t[0], t[0]);
  maker.run("b", {t[0]}, {t[1]}, {0});
  maker.sum("sum data", data, t[1], t[2]);
  maker.run("c", {t[2]}, {t[3]});
  maker.sum("sum both", both, t[3], t[3]);
  maker.run("d", {x}, {t[4]});
  maker.sum("sum data again", data, t[4], t[4]);
  maker.run("e", {t[3], t[4]}, {t[5]}, {1});
  maker.setResult(r, t[5]);
  return maker.finish();
}

plan::PlanT thirdRankPlan() {
  PlanMaker maker;
  maker.axis("x", 2);
  maker.axis("y", 2);
  uint32_t alongX = maker.addCommunicator({"x"}), alongY = maker.addCommunicator({"y"}),
           both = maker.addCommunicator({"x", "y"});
  uint32_t a = maker.argument("a", plan::SlotRole::state, 64);
  uint32_t s = maker.buffer("s", 128), b = maker.buffer("b", 128), u = maker.buffer("u", 256);
  maker.gather("w", alongX, a, s, 1);
  maker.run("k", {a}, {a, b}, {0, -1}); // in the place of what "w" reads of other ranks
  maker.gather("z", alongY, b, u, 1);
  maker.sum("total", both, s, b); // in the place of what "z" reads
  maker.setResult(maker.slot("a", plan::SlotRole::result, 64, {}, 0), a);
  maker.setResult(maker.slot("b", plan::SlotRole::result, 128), b);
  maker.setResult(maker.slot("u", plan::SlotRole::result, 256), u);
  return maker.finish();
}

plan::PlanT sumsPlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  maker.axis("model", 3);
  uint32_t data = maker.addCommunicator({"data"}), both = maker.addCommunicator({"data", "model"});
  uint32_t x = maker.argument("x", SlotRole::batch, 384, {"data", "model"});
  uint32_t w = maker.argument("w", SlotRole::state, 128);
  uint32_t wNew = maker.slot("w", SlotRole::result, 128, {}, 1), r = maker.slot("r", SlotRole::result, 37);
  uint32_t one = maker.buffer("one", 1), odd = maker.buffer("odd", 37), large = maker.buffer("large", 128);
  uint32_t oddSum = maker.buffer("odd sum", 37), twice = maker.buffer("twice", 128),
           again = maker.buffer("again", 128), next = maker.buffer("next", 128),
           end = maker.buffer("end", 37);
  maker.run("a", {x}, {one, odd});
  maker.run("b", {x, w}, {large});
  maker.sum("sum all", both, {{one, one}, {odd, oddSum}, {large, large}});
  maker.run("c", {large, one}, {twice}, {0});
  maker.sum("sum twice", data, {{twice, next}, {twice, again}});
  maker.run("d", {again, oddSum}, {end}, {1});
  maker.setResult(wNew, next);
  maker.setResult(r, end);
  return maker.finish();
}

plan::PlanT sharedStatePlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t w = maker.argument("w", SlotRole::state, 64), b = maker.argument("b", SlotRole::state, 6);
  uint32_t x = maker.argument("x", SlotRole::batch, 128, {"data"});
  uint32_t wNew = maker.slot("w", SlotRole::result, 64, {}, 0),
           bNew = maker.slot("b", SlotRole::result, 6, {}, 1);
  uint32_t gradient = maker.buffer("gradient", 64), bias = maker.buffer("bias", 6),
           rows = maker.buffer("rows", 32), part = maker.buffer("part", 3),
           newRows = maker.buffer("new rows", 32), newPart = maker.buffer("new part", 3),
           next = maker.buffer("next", 64), nextBias = maker.buffer("next bias", 6);
  maker.run("a", {x, w, b}, {gradient, bias});
  maker.scatter("scatter", data, {{gradient, rows, {4, 16}, {{}, {"data"}}}, {bias, part, {6}, {{"data"}}}});
  maker.run("update w", {rows}, {newRows}, {0});
  maker.run("update b", {part}, {newPart});
  maker.gather("gather", data, {{newRows, next}, {newPart, nextBias}}, 1);
  maker.setResult(wNew, next);
  maker.setResult(bNew, nextBias);
  return maker.finish();
}

plan::PlanT blocksPlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  maker.axis("model", 2);
  uint32_t data = maker.addCommunicator({"data"}), model = maker.addCommunicator({"model"});
  uint32_t both = maker.addCommunicator({"data", "model"});
  uint32_t x = maker.argument("x", SlotRole::batch, 256, {"data", "model"});
  uint32_t r = maker.slot("r", SlotRole::result, 128);
  uint32_t whole = maker.buffer("whole", 64), rows = maker.buffer("rows", 32),
           columns = maker.buffer("columns", 32), more = maker.buffer("more", 16),
           block = maker.buffer("block", 16), swapped = maker.buffer("swapped", 16),
           end = maker.buffer("end", 128);
  maker.run("a", {x}, {whole});
  maker.scatter("sum data", data, whole, rows, {8, 8}, {{"data"}, {}});
  maker.exchange("to columns", data, rows, columns, {8, 8}, {{"data"}, {}}, {{}, {"data"}});
  maker.scatter("sum model", model, whole, more, {8, 8}, {{"model"}, {"data"}});
  maker.run("b", {rows, more}, {block});
  maker.exchange("swap", both, block, swapped, {8, 8}, {{"data"}, {"model"}}, {{"model"}, {"data"}});
  maker.run("c", {swapped, columns}, {end});
  maker.setResult(r, end);
  return maker.finish();
}

plan::PlanT copyPlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t a = maker.argument("a", SlotRole::state, 64), b = maker.argument("b", SlotRole::state, 64);
  uint32_t c = maker.argument("c", SlotRole::state, 64), x = maker.argument("x", SlotRole::batch, 64);
  uint32_t aNew = maker.slot("a", SlotRole::result, 64, {}, 0),
           bNew = maker.slot("b", SlotRole::result, 64, {}, 1);
  uint32_t cNew = maker.slot("c", SlotRole::result, 64, {}, 2), same = maker.slot("x", SlotRole::result, 64);
  uint32_t first = maker.slot("first", SlotRole::result, 64),
           second = maker.slot("second", SlotRole::result, 64);
  uint32_t value = maker.buffer("value", 64), next = maker.buffer("next", 64);
  maker.run("early", {x}, {next});
  maker.run("late", {c, next}, {value});
  maker.setResult(aNew, b);
  maker.setResult(bNew, a);
  maker.setResult(cNew, next);
  maker.setResult(same, x);
  maker.setResult(first, value);
  maker.setResult(second, value);
  return maker.finish();
}

plan::PlanT outsidePlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t w = maker.argument("w", SlotRole::pulled, 64, {"data"}),
           b = maker.argument("b", SlotRole::pulled, 32),
           x = maker.argument("x", SlotRole::batch, 64, {"data"});
  uint32_t loss = maker.slot("loss", SlotRole::result, 1),
           ofW = maker.slot("of w", SlotRole::pushed, 64, {"data"}),
           ofB = maker.slot("of b", SlotRole::pushed, 32);
  uint32_t shifted = maker.buffer("shifted", 32), scaled = maker.buffer("scaled", 32),
           value = maker.buffer("value", 1), part = maker.buffer("part of b", 32),
           whole = maker.buffer("of b", 32), gradient = maker.buffer("of w", 32);
  maker.run("shift", {x, b}, {shifted});
  maker.run("scale", {shifted, w}, {scaled, part});
  maker.sum("sum", data, part, whole);
  maker.run("loss", {scaled}, {value});
  maker.run("descend", {scaled, w}, {gradient});
  maker.setResult(loss, value);
  maker.setResult(ofW, gradient);
  maker.setResult(ofB, whole);
  return maker.finish();
}

plan::PlanT partsPlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t stack = maker.argument("stack", SlotRole::state, 64);
  uint32_t stackNew = maker.slot("stack", SlotRole::result, 64, {}, 0),
           last = maker.slot("last", SlotRole::result, 16);
  uint32_t first = maker.buffer("first", 16), part = maker.buffer("part", 16),
           head = maker.buffer("head", 48), next = maker.buffer("next", 64);
  auto copy = [&](const char *name, uint32_t source, uint32_t target, uint64_t from, uint64_t to,
                  uint64_t size) {
    plan::CopyT bytes;
    bytes.source = source, bytes.target = target, bytes.from = from, bytes.to = to, bytes.size = size;
    maker.copy({.name = name, .location = "", .work = "tg0.forward"}, bytes);
  };
  copy("take first", stack, first, 0, 0, 16);
  copy("take part", stack, part, 48, 0, 16);
  maker.run("update", {first, part}, {head});
  copy("put head", head, next, 0, 16, 48);
  copy("put part", part, next, 0, 0, 16);
  maker.setResult(stackNew, next);
  maker.setResult(last, part);
  return maker.finish();
}

plan::PlanT viewsPlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t w = maker.argument("w", SlotRole::state, 48), x = maker.argument("x", SlotRole::batch, 48);
  uint32_t wNew = maker.slot("w", SlotRole::result, 48, {}, 0), row = maker.slot("row", SlotRole::result, 16),
           first = maker.slot("first", SlotRole::result, 16), sum = maker.slot("sum", SlotRole::result, 16);
  uint32_t mask = maker.buffer("mask", 48), next = maker.buffer("next", 48), all = maker.buffer("all", 32),
           carried = 0;
  maker.run("mask", {x}, {mask});
  for (uint32_t i = 0; i < 3; ++i) {
    std::string number = std::to_string(i);
    std::vector<uint32_t> rows;
    for (uint32_t whole : {x, w, mask})
      rows.push_back(maker.view("row", whole, i, 16));
    uint32_t value = maker.buffer("value" + number, 16), made = maker.buffer("carried" + number, 16);
    maker.run("use" + number, rows, {value}, {2});
    maker.sum("sum" + number, data, rows[1], made);
    uint32_t carriedOn = maker.buffer("next" + number, 16);
    maker.run("carry" + number, {value, made, i > 0 ? carried : value}, {carriedOn}, {1});
    carried = carriedOn;
  }
  uint32_t last = maker.view("last", mask, 1, 16);
  maker.gather("gather", data, last, all, 1);
  maker.run("update", {w, all}, {next}, {0});
  maker.setResult(wNew, next);
  maker.setResult(row, last);
  maker.setResult(first, maker.view("first", w, 0, 16));
  maker.setResult(sum, carried);
  return maker.finish();
}

plan::PlanT branchPlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t w = maker.argument("w", SlotRole::state, 64),
           x = maker.argument("x", SlotRole::batch, 128, {"data"});
  uint32_t wNew = maker.slot("w", SlotRole::result, 64, {}, 0);
  uint32_t p = maker.buffer("p", 1), q = maker.buffer("q", 1);
  std::vector<uint32_t> t;
  for (int i = 0; i < 6; ++i)
    t.push_back(maker.buffer("t" + std::to_string(i), 64));
  maker.run("outer predicate", {w}, {p});
  maker.sum("sum p", data, p, p); // one value on all members
  maker.setGuards({{p, true}});
  maker.run("then", {x}, {t[0]});
  maker.sum("sum then", data, t[0], t[0]);
  maker.run("inner predicate", {t[0]}, {q});
  maker.sum("sum q", data, q, q);
  maker.setGuards({{p, true}, {q, false}});
  maker.run("inner else", {t[0], w}, {t[1]});
  maker.sum("sum inner", data, t[1], t[2]);
  maker.setGuards({{p, true}});
  maker.run("inner select", {q, t[0], t[2]}, {t[3]}, {1});
  maker.setGuards({{p, false}});
  maker.run("else", {x}, {t[4]});
  maker.setGuards({});
  maker.run("select", {p, t[3], t[4], w}, {t[5]}, {3});
  maker.setResult(wNew, t[5]);
  return maker.finish();
}

/// What both parts of sideBySidePlan do with the caller's slots, which are s0 to s5.
static plan::PartT partOf(plan::PlanT plan, uint32_t first, std::vector<uint32_t> strides,
                          std::vector<uint32_t> slots) {
  plan::PartT part;
  part.plan = std::make_unique<plan::PlanT>(std::move(plan));
  part.first = first;
  part.strides = std::move(strides);
  part.slots = std::move(slots);
  return part;
}

static plan::PlanT firstLayer() {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t w = maker.argument("w", SlotRole::state, 64);
  uint32_t x = maker.argument("x", SlotRole::batch, 128, {"data"});
  uint32_t wNew = maker.slot("w", SlotRole::result, 64, {}, 0);
  uint32_t h = maker.buffer("h", 32), dh = maker.buffer("dh", 32), g = maker.buffer("g", 64),
           next = maker.buffer("next", 64);
  maker.run("layer1", {w, x}, {h});
  maker.put(0, h, 64, {"data"});
  maker.take(1, dh, 64, {"data"});
  maker.run("grad1", {dh, x}, {g});
  maker.sum("sum g1", data, g, g);
  maker.run("update1", {w, g}, {next}, {0});
  maker.setResult(wNew, next);
  return maker.finish();
}

static plan::PlanT secondLayer() {
  PlanMaker maker;
  maker.axis("data", 2), maker.axis("model", 2);
  uint32_t data = maker.addCommunicator({"data"}), model = maker.addCommunicator({"model"});
  uint32_t v = maker.argument("v", SlotRole::state, 96, {"model"});
  uint32_t x = maker.argument("x", SlotRole::batch, 128, {"data"});
  uint32_t vNew = maker.slot("v", SlotRole::result, 96, {"model"}, 0);
  uint32_t loss = maker.slot("loss", SlotRole::result, 4);
  uint32_t h = maker.buffer("h", 32), y = maker.buffer("y", 48), total = maker.buffer("loss", 4),
           dh = maker.buffer("dh", 32), g = maker.buffer("g", 48), next = maker.buffer("next", 48);
  maker.take(0, h, 64, {"data"});
  maker.run("layer2", {v, h}, {y});
  maker.run("loss", {y, x}, {total});
  maker.sum("sum loss", data, total, total);
  maker.run("back2", {y, v}, {dh});
  maker.sum("sum dh", model, dh, dh);
  maker.put(1, dh, 64, {"data"});
  maker.run("grad2", {y, h}, {g});
  maker.sum("sum g2", data, g, g);
  maker.run("update2", {v, g}, {next}, {0});
  maker.setResult(vNew, next);
  maker.setResult(loss, total);
  return maker.finish();
}

plan::PlanT sideBySidePlan() {
  auto slotOf = [](const char *name, SlotRole role, int64_t size, int32_t updates = -1) {
    plan::SlotT slot;
    slot.name = name;
    slot.role = role;
    slot.type = plan::ElementType::i8;
    slot.shape = {size};
    slot.sharding.push_back(std::make_unique<plan::DimShardingT>());
    slot.updates = updates;
    return slot;
  };
  std::vector<plan::SlotT> slots;
  slots.push_back(slotOf("w", SlotRole::state, 64));
  slots.push_back(slotOf("v", SlotRole::state, 96));
  slots.push_back(slotOf("x", SlotRole::batch, 128));
  slots.push_back(slotOf("loss", SlotRole::result, 4));
  slots.push_back(slotOf("w", SlotRole::result, 64, 0));
  slots.push_back(slotOf("v", SlotRole::result, 96, 1));
  std::vector<plan::PartT> parts;
  parts.push_back(partOf(firstLayer(), 0, {3}, {0, 2, 4}));
  parts.push_back(partOf(secondLayer(), 1, {3, 1}, {1, 2, 5, 3}));
  plan::PlanT common;
  common.device_kind = "cpu";
  return joinParts(std::move(common), std::move(slots), std::move(parts));
}

plan::PlanT factorizationPlan() {
  PlanMaker maker;
  constexpr int64_t matrices = 2 * 3 * 3 * 4, columns = 2 * 3 * 4;
  uint32_t a = maker.argument("a", SlotRole::batch, matrices),
           b = maker.argument("b", SlotRole::batch, columns);
  uint32_t result = maker.slot("x", SlotRole::result, columns);
  uint32_t v = maker.buffer("v", matrices), w = maker.buffer("w", columns), x = maker.buffer("x", columns);
  plan::FactorizationT eigh;
  eigh.kind = plan::FactorizationKind::eigh;
  eigh.type = plan::ElementType::f32;
  eigh.rows = eigh.columns = 3;
  maker.factorize("eigh", eigh, 2, {a}, {v, w});
  plan::FactorizationT solve = eigh;
  solve.kind = plan::FactorizationKind::triangular_solve;
  solve.columns = 1;
  solve.left = solve.lower = true;
  maker.factorize("solve", solve, 2, {v, b}, {x});
  maker.setResult(result, x);
  return maker.finish();
}

uint32_t findCommand(const plan::PlanT &plan, const std::string &name) {
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    if (plan.commands[command]->name == name)
      return command;
  throw std::logic_error("no command " + name);
}

std::vector<NamedPlan> allPlans() {
  std::vector<NamedPlan> plans;
  for (uint32_t devices : {1, 2, 3, 4})
    plans.push_back({"training on " + std::to_string(devices), trainingPlan(devices)});
  plans.push_back({"gather", gatherPlan()});
  plans.push_back({"mesh", meshPlan()});
  plans.push_back({"third rank", thirdRankPlan()});
  plans.push_back({"sums", sumsPlan()});
  plans.push_back({"shared state", sharedStatePlan()});
  plans.push_back({"blocks", blocksPlan()});
  plans.push_back({"copy", copyPlan()});
  plans.push_back({"parts", partsPlan()});
  plans.push_back({"outside", outsidePlan()});
  plans.push_back({"views", viewsPlan()});
  plans.push_back({"branch", branchPlan()});
  plans.push_back({"factorization", factorizationPlan()});
  plans.push_back({"owners", ownersPlan()});
  plans.push_back({"owners of 3", ownersPlan(3)});
  plans.push_back({"owners beside a split", ownersPlan(2, 2)});
  return plans;
}

namespace {

/// Random commands over random buffers of one size. A buffer is read only once it is written.
class RandomProgram {
public:
  explicit RandomProgram(uint64_t seed) : random(seed) {}

  plan::PlanT make(bool copiesResults, bool offloads, bool withResults) {
    maker.setOffload(offloads, withResults);
    makeMesh();
    for (int i = 0; i < 3; ++i)
      defined.push_back(maker.argument("s" + std::to_string(i), SlotRole::state, size));
    for (int i = 0; i < 3; ++i)
      maker.slot("s" + std::to_string(i), SlotRole::result, size, {}, i);
    uint32_t result = maker.slot("r", SlotRole::result, size);
    maker.run("first", defined, {fresh()}); // an argument that nothing touches has no buffer
    for (uint64_t count = 4 + pick(16); count > 0; --count)
      addCommand();
    std::vector<uint32_t> values = {any(), any(), any(), any()};
    for (uint32_t &value : values)
      value = copiesResults ? copy(value) : value;
    for (uint32_t i = 0; i < 3; ++i)
      maker.setResult(3 + i, values[i]);
    maker.setResult(result, values[3]);
    return maker.finish();
  }

private:
  static constexpr int64_t size = 64;

  uint32_t copy(uint32_t value) {
    uint32_t target = fresh();
    maker.copy({.name = "copy", .location = "", .work = ""}, value, target);
    return target;
  }

  uint64_t pick(uint64_t count) { return random() % count; }
  uint32_t any() { return defined[pick(defined.size())]; }

  void makeMesh() {
    static const std::vector<std::vector<uint32_t>> meshes{{1},    {2},       {3},      {2, 2},
                                                           {3, 2}, {2, 1, 2}, {2, 3, 2}};
    std::vector<uint32_t> sizes = meshes[pick(meshes.size())];
    std::vector<std::string> names;
    for (uint32_t axis : sizes)
      maker.axis(names.emplace_back(1, char('a' + names.size())), axis);
    for (uint64_t subset = 1; subset < uint64_t(1) << names.size(); ++subset) {
      std::vector<std::string> axes;
      uint64_t members = 1;
      for (size_t i = 0; i < names.size(); ++i)
        if (subset >> i & 1) {
          axes.push_back(names[i]);
          members *= sizes[i];
        }
      std::ranges::shuffle(axes, random);
      memberCount.push_back(members);
      maker.addCommunicator(axes);
      memberAxes.push_back(std::move(axes));
    }
  }

  uint32_t fresh(uint64_t bytes = size) { return maker.buffer("t" + std::to_string(counter++), bytes); }

  void addCommand() {
    std::string name = "c" + std::to_string(counter);
    switch (pick(8)) {
    case 0:
      return addSum(name);
    case 1:
      return addGather(name);
    case 2:
      return addScatter(name);
    case 3:
      return addExchange(name);
    case 4:
      return addParts(name);
    case 5: {
      uint32_t input = any(), output = fresh();
      maker.run(name, {input}, {output}, {0});
      return defined.push_back(output);
    }
    default:
      return addLaunch(name);
    }
  }

  void addLaunch(const std::string &name) {
    uint32_t a = any(), b = any(), output = fresh();
    maker.run(name, {a, b}, {output}, {pick(2) && a != b ? 1 : -1}, pick(3) == 0 ? int64_t(fresh()) : -1);
    defined.push_back(output);
  }

  /// A tensor, and its halves.
  void addParts(const std::string &name) {
    uint32_t whole = fresh(2 * size);
    maker.run(name, {any()}, {whole});
    for (uint64_t part : {0, 1})
      views.insert(defined.emplace_back(maker.view(name + " part", whole, part, size)));
  }

  /// Of one to three tensors.
  void addSum(const std::string &name) {
    std::map<uint32_t, uint32_t> tensors; // source, target
    for (uint64_t count = 1 + pick(3); count > 0; --count)
      tensors[any()] = 0;
    for (auto &[source, target] : tensors) {
      // Arguments are written only as results, and views are read only.
      target = source < 3 || views.contains(source) || pick(2) ? fresh() : source;
      if (target != source)
        defined.push_back(target);
    }
    maker.sum(name, uint32_t(pick(memberCount.size())), {tensors.begin(), tensors.end()});
  }

  void addGather(const std::string &name) {
    uint32_t communicator = uint32_t(pick(memberCount.size())), output = fresh();
    std::vector<std::pair<uint32_t, uint32_t>> tensors; // one or two
    std::vector<uint32_t> gathered;
    for (uint64_t count = 1 + pick(2); count > 0; --count) {
      gathered.push_back(fresh(size * memberCount[communicator]));
      tensors.emplace_back(any(), gathered.back());
    }
    maker.gather(name, communicator, tensors, pick(2) ? 4 : 1);
    maker.run(name + " use", gathered, {output});
    defined.push_back(output);
  }

  /// Blocks of rows, where the members can have equal ones.
  void addScatter(const std::string &name) {
    uint32_t communicator = uint32_t(pick(memberCount.size())), output = fresh();
    if (size % memberCount[communicator] != 0)
      return addSum(name);
    std::vector<PlanMaker::Scattered> tensors; // one or two
    std::vector<uint32_t> blocks;
    for (uint64_t count = 1 + pick(2); count > 0; --count) {
      blocks.push_back(fresh(size / memberCount[communicator]));
      tensors.push_back({any(), blocks.back(), {size}, {memberAxes[communicator]}});
    }
    maker.scatter(name, communicator, tensors);
    maker.run(name + " use", blocks, {output});
    defined.push_back(output);
  }

  /// Rows for columns, or, where columns do not divide, parts in another order.
  void addExchange(const std::string &name) {
    uint32_t communicator = uint32_t(pick(memberCount.size())), source = any(), output = fresh();
    const std::vector<std::string> &axes = memberAxes[communicator];
    int64_t members = int64_t(memberCount[communicator]);
    if (8 % members == 0)
      maker.exchange(name, communicator, source, output, {8 * members, 8}, {axes, {}}, {{}, axes});
    else
      maker.exchange(name, communicator, source, output, {size * members}, {axes},
                     {{axes.rbegin(), axes.rend()}});
    defined.push_back(output);
  }

  std::mt19937_64 random;
  PlanMaker maker;
  std::vector<uint64_t> memberCount; // of each communicator
  std::vector<std::vector<std::string>> memberAxes;
  std::vector<uint32_t> defined; // buffers of `size` bytes that hold a value
  std::set<uint32_t> views;      // of these
  uint32_t counter = 0;
};

} // namespace

plan::PlanT randomPlan(uint64_t seed, bool copiesResults, bool offloads) {
  return RandomProgram(seed).make(copiesResults, offloads, /*withResults=*/seed % 2 == 0);
}

} // namespace epl::runtime::test
