// Mutations of what single commands do, and with which buffers.

#include "test/unit/mutation/Mutations.h"

#include <algorithm>
#include <iterator>

namespace epl::runtime::test {
namespace {

using plan::PlanT;

/// A mutation for each command whose action is an ActionT, with what `change` does to the action.
template <typename ActionT, typename Change>
void addEach(std::vector<Mutation> &list, const PlanT &plan, const std::string &what, const Change &change) {
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    if (plan.commands[command]->action.type == plan::ActionUnionTraits<ActionT>::enum_value)
      list.push_back({"#" + std::to_string(command) + " " + what, {}, [=](PlanT &mutant) {
                        change(*static_cast<ActionT *>(mutant.commands[command]->action.value));
                      }});
}

/// A mutation for each tensor of each command whose action, an ActionT, is on a list of them.
template <typename ActionT, typename Change>
void addEachTensor(std::vector<Mutation> &list, const PlanT &plan, const std::string &what,
                   const Change &change) {
  size_t most = 0;
  for (const auto &command : plan.commands)
    if (command->action.type == plan::ActionUnionTraits<ActionT>::enum_value)
      most = std::max(most, static_cast<const ActionT *>(command->action.value)->tensors.size());
  for (size_t i = 0; i < most; ++i)
    addEach<ActionT>(list, plan, "tensor " + std::to_string(i) + " " + what, [=](ActionT &action) {
      if (i < action.tensors.size())
        change(action.tensors[i]);
    });
}

/// The fields of an action that name buffers.
std::vector<uint32_t *> operandsOf(plan::CommandT &command) {
  std::vector<uint32_t *> fields;
  plan::ActionUnion &action = command.action;
  if (plan::LaunchT *launch = action.AsLaunch())
    for (uint32_t &buffer : launch->buffers)
      fields.push_back(&buffer);
  if (plan::ContractT *contract = action.AsContract())
    fields = {&contract->a, &contract->b, &contract->c}; // biases are for GPUs
  if (plan::ReducePartT *reduce = action.AsReducePart())
    for (plan::ReducedTensorT &tensor : reduce->tensors)
      fields.insert(fields.end(), {&tensor.source, &tensor.target});
  if (plan::GatherPartsT *parts = action.AsGatherParts())
    for (plan::GatheredTensorT &tensor : parts->tensors)
      fields.push_back(&tensor.buffer);
  if (plan::GatherBlocksT *blocks = action.AsGatherBlocks())
    for (plan::GatheredBlocksT &tensor : blocks->tensors)
      fields.insert(fields.end(), {&tensor.source, &tensor.target});
  if (plan::ReduceBlocksT *reduce = action.AsReduceBlocks())
    for (plan::ReducedBlocksT &tensor : reduce->tensors)
      fields.insert(fields.end(), {&tensor.source, &tensor.target});
  if (plan::ExchangeBlocksT *exchange = action.AsExchangeBlocks())
    fields = {&exchange->source, &exchange->target};
  if (plan::ReduceToRootT *reduce = action.AsReduceToRoot())
    for (plan::ReducedTensorT &tensor : reduce->tensors)
      fields.insert(fields.end(), {&tensor.source, &tensor.target});
  if (plan::CopyFromRootT *copy = action.AsCopyFromRoot())
    for (plan::GatheredTensorT &tensor : copy->tensors)
      fields.push_back(&tensor.buffer);
  if (plan::CopyT *copy = action.AsCopy())
    fields = {&copy->source, &copy->target};
  if (plan::PullT *pull = action.AsPull())
    fields = {&pull->target};
  if (plan::PushT *push = action.AsPush())
    fields = {&push->source};
  return fields;
}

/// Another buffer of the same size, which nothing but the dataflow tells from the right one.
std::vector<Mutation> operands(const PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    std::vector<uint32_t *> fields = operandsOf(*plan.commands[command]);
    for (size_t i = 0; i < fields.size(); ++i)
      for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
        if (buffer != *fields[i] && plan.buffers[buffer]->size == plan.buffers[*fields[i]]->size)
          list.push_back({"operand " + std::to_string(i) + " of #" + std::to_string(command) + " is b" +
                              std::to_string(buffer),
                          {},
                          [=](PlanT &mutant) { *operandsOf(*mutant.commands[command])[i] = buffer; }});
  }
  return list;
}

std::vector<Mutation> operandsSwapped(const PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    std::vector<uint32_t *> fields = operandsOf(*plan.commands[command]);
    for (size_t i = 0; i < fields.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (*fields[i] != *fields[j])
          list.push_back({"operands " + std::to_string(i) + " and " + std::to_string(j) + " of #" +
                              std::to_string(command) + " swapped",
                          {},
                          [=](PlanT &mutant) {
                            std::vector<uint32_t *> swapped = operandsOf(*mutant.commands[command]);
                            std::swap(*swapped[i], *swapped[j]);
                          }});
  }
  return list;
}

std::vector<Mutation> operandsWild(const PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    for (size_t i = 0; i < operandsOf(*plan.commands[command]).size(); ++i)
      list.push_back({"operand " + std::to_string(i) + " of #" + std::to_string(command) + " is no buffer",
                      {"#" + std::to_string(command)},
                      [=](PlanT &mutant) { *operandsOf(*mutant.commands[command])[i] = UINT32_MAX; }});
  return list;
}

/// The first extent of what is divided into blocks, changed by `by`.
template <typename ActionT> auto stretch(int64_t by) {
  return [=](ActionT &action) {
    if (!action.shape.empty())
      action.shape.front() += by;
  };
}

/// Both halves of an all-reduce, and other collectives, over other elements than the program says.
std::vector<Mutation> chunks(const PlanT &plan) {
  std::vector<Mutation> list;
  for (int64_t by : {-64, -16, -1, 1, 16, 64}) {
    std::string what = "over " + std::to_string(by) + " more elements";
    auto lengthen = [=](auto &tensor) { tensor.count += by; };
    addEachTensor<plan::ReducePartT>(list, plan, what, lengthen);
    addEachTensor<plan::GatherPartsT>(list, plan, what, lengthen);
    auto widen = [=](plan::GatheredBlocksT &tensor) { tensor.inner += by; };
    addEachTensor<plan::GatherBlocksT>(list, plan, what, widen);
    addEachTensor<plan::ReduceBlocksT>(list, plan, what, stretch<plan::ReducedBlocksT>(by));
    addEach<plan::ExchangeBlocksT>(list, plan, what, stretch<plan::ExchangeBlocksT>(by));
  }
  auto halve = [](auto &tensor) { tensor.count /= 2; };
  addEachTensor<plan::ReducePartT>(list, plan, "over half", halve);
  addEachTensor<plan::GatherPartsT>(list, plan, "over half", halve);
  auto leaveOut = [](auto &action) { action.tensors.pop_back(); };
  addEach<plan::ReducePartT>(list, plan, "without its last tensor", leaveOut);
  addEach<plan::GatherPartsT>(list, plan, "without its last tensor", leaveOut);
  addEach<plan::GatherBlocksT>(list, plan, "without its last tensor", leaveOut);
  addEach<plan::ReduceBlocksT>(list, plan, "without its last tensor", leaveOut);
  auto repeat = [](auto &action) { action.tensors.push_back(action.tensors.front()); };
  addEach<plan::ReducePartT>(list, plan, "with its first tensor twice", repeat);
  addEach<plan::GatherPartsT>(list, plan, "with its first tensor twice", repeat);
  addEach<plan::GatherBlocksT>(list, plan, "with its first tensor twice", repeat);
  addEach<plan::ReduceBlocksT>(list, plan, "with its first tensor twice", repeat);
  auto iteration = [](auto &action) { std::ranges::rotate(action.tensors, action.tensors.begin() + 1); };
  addEach<plan::ReducePartT>(list, plan, "with its first tensor last", iteration);
  addEach<plan::GatherPartsT>(list, plan, "with its first tensor last", iteration);
  addEach<plan::GatherBlocksT>(list, plan, "with its first tensor last", iteration);
  addEach<plan::ReduceBlocksT>(list, plan, "with its first tensor last", iteration);
  addEachTensor<plan::GatherBlocksT>(list, plan, "over half",
                                     [](plan::GatheredBlocksT &tensor) { tensor.outer /= 2; });
  return list;
}

template <typename Change> std::vector<Mutation> eachCollective(const PlanT &plan, const Change &change) {
  std::vector<Mutation> list;
  addEach<plan::ReducePartT>(list, plan, "with another member list", change);
  addEach<plan::GatherPartsT>(list, plan, "with another member list", change);
  addEach<plan::GatherBlocksT>(list, plan, "with another member list", change);
  addEach<plan::ReduceBlocksT>(list, plan, "with another member list", change);
  addEach<plan::ExchangeBlocksT>(list, plan, "with another member list", change);
  return list;
}

std::vector<Mutation> members(const PlanT &plan) {
  return eachCollective(plan, [count = uint32_t(plan.communicators.size())](auto &action) {
    action.communicator = (action.communicator + 1) % (count == 1 ? 2 : count);
  });
}

/// The collective in the lane of another communicator, too.
std::vector<Mutation> membersAndLanes(const PlanT &plan) {
  std::vector<Mutation> list;
  for (Mutation &mutation : members(plan))
    list.push_back({mutation.what + " and its lane", {}, [=](PlanT &mutant) {
                      mutation.change(mutant);
                      for (uint32_t i = 0; i < mutant.commands.size(); ++i)
                        if (const auto *reduce = mutant.commands[i]->action.AsReducePart())
                          for (uint32_t lane = 0; lane < mutant.lanes.size(); ++lane)
                            if (mutant.lanes[lane]->communicator == int32_t(reduce->communicator))
                              mutant.commands[i]->lane = lane;
                      std::vector<uint32_t> order;
                      for (uint32_t i = 0; i < mutant.commands.size(); ++i)
                        order.push_back(i);
                      if (order.size() > 0)
                        reorderCommands(mutant, order);
                    }});
  return list;
}

/// One width of element for another: fewer or more bytes.
std::vector<Mutation> widths(const PlanT &plan) {
  std::vector<Mutation> list;
  auto change = [](auto &action) {
    bool wide = action.type == plan::ElementType::f64 || action.type == plan::ElementType::i64;
    action.type = wide ? plan::ElementType::f32 : plan::ElementType::f64;
  };
  addEachTensor<plan::ReducePartT>(list, plan, "of another width", change);
  addEachTensor<plan::GatherPartsT>(list, plan, "of another width", change);
  addEachTensor<plan::GatherBlocksT>(list, plan, "of another width", change);
  addEachTensor<plan::ReduceBlocksT>(list, plan, "of another width", change);
  addEach<plan::ExchangeBlocksT>(list, plan, "of another width", change);
  addEach<plan::ContractT>(list, plan, "of another width", change);
  return list;
}

std::vector<Mutation> reductions(const PlanT &plan) {
  std::vector<Mutation> list;
  for (int shift = 1; shift < 6; ++shift)
    addEach<plan::ReducePartT>(list, plan, "by another function", [=](plan::ReducePartT &reduce) {
      reduce.reduction = plan::ReductionKind((int(reduce.reduction) + shift) % 6);
    });
  addEach<plan::ReducePartT>(list, plan, "of integers", [](plan::ReducePartT &reduce) {
    if (reduce.tensors[0].type == plan::ElementType::f32)
      reduce.tensors[0].type = plan::ElementType::i32;
    else
      reduce.reduction = plan::ReductionKind::max;
  });
  return list;
}

std::vector<Mutation> blocks(const PlanT &plan) {
  std::vector<Mutation> list;
  addEachTensor<plan::GatherBlocksT>(list, plan, "with rows for columns", [](plan::GatheredBlocksT &tensor) {
    std::swap(tensor.outer, tensor.inner);
  });
  auto reverse = [](auto &dims) { std::reverse(dims.begin(), dims.end()); };
  addEachTensor<plan::ReduceBlocksT>(list, plan, "to parts of another dimension",
                                     [=](plan::ReducedBlocksT &tensor) { reverse(tensor.sharding); });
  addEach<plan::ExchangeBlocksT>(list, plan, "from parts of another dimension",
                                 [=](plan::ExchangeBlocksT &exchange) { reverse(exchange.from); });
  addEach<plan::ExchangeBlocksT>(list, plan, "to parts of another dimension",
                                 [=](plan::ExchangeBlocksT &exchange) { reverse(exchange.to); });
  addEach<plan::ExchangeBlocksT>(list, plan, "the other way round", [](plan::ExchangeBlocksT &exchange) {
    std::swap(exchange.from, exchange.to);
  });
  return list;
}

std::vector<Mutation> otherKernels(const PlanT &plan) {
  std::vector<Mutation> list;
  uint32_t count = uint32_t(plan.kernels.size());
  for (uint32_t shift = 1; shift < count; ++shift)
    addEach<plan::LaunchT>(list, plan, "by the kernel " + std::to_string(shift) + " further",
                           [=](plan::LaunchT &launch) { launch.kernel = (launch.kernel + shift) % count; });
  return list;
}

std::vector<Mutation> contracts(const PlanT &plan) {
  std::vector<Mutation> list;
  for (int64_t by : {-1, 1})
    for (int64_t plan::ContractT::*field :
         {&plan::ContractT::m, &plan::ContractT::n, &plan::ContractT::k, &plan::ContractT::lda,
          &plan::ContractT::ldb, &plan::ContractT::ldc})
      addEach<plan::ContractT>(list, plan, "of another shape",
                               [=](plan::ContractT &contract) { contract.*field += by; });
  for (bool plan::ContractT::*field :
       {&plan::ContractT::transpose_a, &plan::ContractT::transpose_b, &plan::ContractT::accumulate})
    addEach<plan::ContractT>(list, plan, "of another form",
                             [=](plan::ContractT &contract) { contract.*field = !(contract.*field); });
  addEach<plan::ContractT>(list, plan, "twice over the same",
                           [](plan::ContractT &contract) { contract.batch.emplace_back(2, 0, 0, 0); });
  return list;
}

std::vector<Mutation> copiedParts(const PlanT &plan) {
  std::vector<Mutation> list;
  for (uint64_t by : {uint64_t(4), uint64_t(-4), uint64_t(1) << 40, ~uint64_t(0)})
    for (uint64_t plan::CopyT::*field : {&plan::CopyT::from, &plan::CopyT::to, &plan::CopyT::size})
      addEach<plan::CopyT>(list, plan, "of another part", [=](plan::CopyT &copy) { copy.*field += by; });
  return list;
}

/// What `change` makes of each guard's list, by the position of the guard.
std::vector<Mutation> eachGuard(const PlanT &plan, const std::string &what, bool isNamed,
                                const std::function<void(std::vector<plan::Guard> &, size_t)> &change) {
  std::vector<Mutation> list;
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    for (size_t i = 0; i < plan.commands[command]->guards.size(); ++i) {
      std::string name = "#" + std::to_string(command);
      list.push_back({"guard " + std::to_string(i) + " of " + name + " " + what,
                      isNamed ? std::vector<std::string>{name} : std::vector<std::string>(),
                      [=](PlanT &mutant) { change(mutant.commands[command]->guards, i); }});
    }
  return list;
}

std::vector<Mutation> guards(const PlanT &plan) {
  std::vector<Mutation> list =
      eachGuard(plan, "left out", false, [](auto &guards, size_t i) { guards.erase(guards.begin() + i); });
  auto negate = [](auto &guards, size_t i) {
    guards[i] = plan::Guard(guards[i].buffer(), !guards[i].expected());
  };
  std::ranges::move(eachGuard(plan, "negated", false, negate), std::back_inserter(list));
  for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer) {
    auto replace = [=](auto &guards, size_t i) { guards[i] = plan::Guard(buffer, guards[i].expected()); };
    std::ranges::move(eachGuard(plan, "by b" + std::to_string(buffer), false, replace),
                      std::back_inserter(list));
  }
  return list;
}

std::vector<Mutation> guardsWild(const PlanT &plan) {
  return eachGuard(plan, "by no buffer", true,
                   [](auto &guards, size_t i) { guards[i] = plan::Guard(UINT32_MAX, guards[i].expected()); });
}

/// Each half of an all-reduce with another command as its other half.
std::vector<Mutation> halves(const PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t shift = 1; shift < plan.commands.size(); ++shift) {
    auto next = [shift, count = uint32_t(plan.commands.size())](uint32_t &half) {
      half = (half + shift) % count;
    };
    addEach<plan::ReducePartT>(list, plan, "with another second half",
                               [=](plan::ReducePartT &reduce) { next(reduce.gather); });
    addEach<plan::GatherPartsT>(list, plan, "with another first half",
                                [=](plan::GatherPartsT &gather) { next(gather.reduce); });
  }
  return list;
}

/// A command that the program always runs, skipped now and then.
std::vector<Mutation> guardsAdded(const PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      if (plan.buffers[buffer]->size == 1)
        list.push_back({"#" + std::to_string(command) + " if b" + std::to_string(buffer),
                        {},
                        [=](PlanT &mutant) { mutant.commands[command]->guards.emplace_back(buffer, true); }});
  return list;
}

} // namespace

std::vector<MutationClass> actionMutations() {
  return {{"operand replaced", Promise::harmless, operands},
          {"operands swapped", Promise::harmless, operandsSwapped},
          {"operand no buffer", Promise::harmless, operandsWild},
          {"chunk of a collective retargeted", Promise::harmless, chunks},
          {"members of a collective changed", Promise::harmless, members},
          {"members and lane of a collective changed", Promise::harmless, membersAndLanes},
          {"half of an all-reduce changed", Promise::harmless, halves},
          {"element width changed", Promise::harmless, widths},
          {"reduction changed", Promise::anotherProgram, reductions},
          {"gathered layout changed", Promise::anotherProgram, blocks},
          {"kernel replaced", Promise::anotherProgram, otherKernels},
          {"contraction changed", Promise::anotherProgram, contracts},
          {"copied part changed", Promise::anotherProgram, copiedParts},
          {"guard changed", Promise::anotherProgram, guards},
          {"guard no buffer", Promise::harmless, guardsWild},
          {"guard added", Promise::harmless, guardsAdded}};
}

const std::vector<MutationClass> &mutationClasses() {
  static const std::vector<MutationClass> classes = [] {
    std::vector<MutationClass> all;
    for (const auto &part : {orderMutations(), memoryMutations(), tableMutations(), actionMutations(),
                             channelMutations(), unitMutations(), ownerMutations()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return classes;
}

} // namespace epl::runtime::test
