#include "runtime/plan/build/CommandEdits.h"

#include <algorithm>

namespace epl::runtime {

void forEachBuffer(plan::CommandT &command, const std::function<void(uint32_t &)> &visit) {
  plan::ActionUnion &action = command.action;
  if (plan::LaunchT *launch = action.AsLaunch())
    std::ranges::for_each(launch->buffers, visit);
  if (plan::ContractT *contract = action.AsContract()) {
    visit(contract->a), visit(contract->b), visit(contract->c);
    if (contract->has_bias)
      visit(contract->bias);
    if (contract->attention && contract->attention->gradient >= 0)
      visit(contract->attention->stats);
  }
  if (plan::AttentionGradientT *gradient = action.AsAttentionGradient()) {
    for (auto *operands : {&gradient->inputs, &gradient->outputs})
      for (plan::AttentionOperand &operand : *operands) {
        uint32_t buffer = operand.buffer();
        visit(buffer);
        operand = plan::AttentionOperand(buffer, operand.sample(), operand.head(), operand.position());
      }
    visit(gradient->stats);
  }
  if (plan::ReducePartT *reduce = action.AsReducePart())
    for (plan::ReducedTensorT &tensor : reduce->tensors)
      visit(tensor.source), visit(tensor.target);
  if (plan::GatherPartsT *gather = action.AsGatherParts())
    for (plan::GatheredTensorT &tensor : gather->tensors)
      visit(tensor.buffer);
  if (plan::GatherBlocksT *gather = action.AsGatherBlocks())
    for (plan::GatheredBlocksT &tensor : gather->tensors)
      visit(tensor.source), visit(tensor.target);
  if (plan::ReduceBlocksT *reduce = action.AsReduceBlocks())
    for (plan::ReducedBlocksT &tensor : reduce->tensors)
      visit(tensor.source), visit(tensor.target);
  if (plan::ReduceToRootT *reduce = action.AsReduceToRoot())
    for (plan::ReducedTensorT &tensor : reduce->tensors)
      visit(tensor.source), visit(tensor.target);
  if (plan::CopyFromRootT *copy = action.AsCopyFromRoot())
    for (plan::GatheredTensorT &tensor : copy->tensors)
      visit(tensor.buffer);
  if (plan::ExchangeBlocksT *exchange = action.AsExchangeBlocks())
    visit(exchange->source), visit(exchange->target);
  if (plan::CopyT *copy = action.AsCopy())
    visit(copy->source), visit(copy->target);
  if (plan::SendT *send = action.AsSend())
    visit(send->source);
  if (plan::ReceiveT *receive = action.AsReceive())
    visit(receive->target);
  if (plan::PullT *pull = action.AsPull())
    visit(pull->target);
  if (plan::PushT *push = action.AsPush())
    visit(push->source);
  for (plan::Guard &guard : command.guards) {
    uint32_t buffer = guard.buffer();
    visit(buffer);
    guard = plan::Guard(buffer, guard.expected());
  }
}

void renumber(plan::CommandT &command, const std::function<uint32_t(uint32_t)> &indexOf) {
  for (plan::Wait &wait : command.waits)
    wait = plan::Wait(indexOf(wait.command()), wait.scope(), wait.communicator());
  if (plan::ReducePartT *reduce = command.action.AsReducePart())
    reduce->gather = indexOf(reduce->gather);
  if (plan::GatherPartsT *gather = command.action.AsGatherParts())
    gather->reduce = indexOf(gather->reduce);
  if (plan::ContractT *contract = command.action.AsContract(); contract && contract->attention) {
    contract->attention->scores = indexOf(contract->attention->scores);
    contract->attention->softmax = indexOf(contract->attention->softmax);
    if (contract->attention->gradient >= 0)
      contract->attention->gradient = int32_t(indexOf(uint32_t(contract->attention->gradient)));
  }
  if (plan::AttentionGradientT *gradient = command.action.AsAttentionGradient())
    gradient->attention = indexOf(gradient->attention);
  if (command.attention >= 0)
    command.attention = int32_t(indexOf(uint32_t(command.attention)));
}

std::unique_ptr<plan::CommandT> makeCopy(const plan::PlanT &plan, std::string name, const plan::SlotT &slot,
                                         uint32_t source, uint32_t target) {
  auto command = std::make_unique<plan::CommandT>();
  command->name = std::move(name);
  plan::CopyT copy;
  copy.source = source;
  copy.target = target;
  copy.size = plan.buffers[source]->size;
  command->action.Set(copy);
  if (slot.owner)
    command->owner = std::make_unique<plan::Owner>(*slot.owner);
  return command;
}

} // namespace epl::runtime
