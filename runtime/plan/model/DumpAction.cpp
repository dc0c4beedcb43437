#include "runtime/plan/model/DumpAction.h"

#include "runtime/plan/model/DumpWriter.h"

#include <algorithm>
#include <span>

namespace epl::runtime {
namespace {

class ActionDumper : DumpWriter {
public:
  ActionDumper(const plan::PlanT &plan, std::ostream &out) : DumpWriter(out), plan(plan) {}

  void run(const plan::ActionUnion &action) {
    if (const plan::LaunchT *launch = action.AsLaunch())
      dumpLaunch(*launch);
    else if (const plan::ContractT *contract = action.AsContract())
      dumpContract(*contract);
    else if (const plan::AttentionGradientT *gradient = action.AsAttentionGradient())
      dumpGradient(*gradient);
    else if (const plan::ReducePartT *reduce = action.AsReducePart())
      dumpReducePart(*reduce);
    else if (const plan::GatherPartsT *gather = action.AsGatherParts())
      dumpGatherParts(*gather);
    else if (const plan::GatherBlocksT *blocks = action.AsGatherBlocks())
      dumpGatherBlocks(*blocks);
    else if (const plan::ReduceBlocksT *reduce = action.AsReduceBlocks())
      dumpReduceBlocks(*reduce);
    else if (const plan::ReduceToRootT *toRoot = action.AsReduceToRoot())
      dumpReduceToRoot(*toRoot);
    else if (const plan::CopyFromRootT *fromRoot = action.AsCopyFromRoot())
      dumpCopyFromRoot(*fromRoot);
    else if (const plan::ExchangeBlocksT *exchange = action.AsExchangeBlocks())
      dumpExchange(*exchange);
    else if (const plan::CopyT *copy = action.AsCopy())
      dumpCopy(*copy);
    else if (const plan::SendT *send = action.AsSend())
      dumpTransfer("send b", send->source, " to", *send);
    else if (const plan::ReceiveT *receive = action.AsReceive())
      dumpTransfer("receive b", receive->target, " from", *receive);
    else if (const plan::PullT *pull = action.AsPull())
      out << "pull b" << pull->target;
    else if (const plan::PushT *push = action.AsPush())
      out << "push b" << push->source;
    else
      out << "nothing";
  }

private:
  void buffers(std::span<const uint32_t> items) {
    out << '(';
    list(items, ", ", [&](uint32_t item) { out << 'b' << item; });
    out << ')';
  }

  /// sum c0 b1 -> b2 100xf32, b3 -> b4 1xf32 with #7
  void dumpReducePart(const plan::ReducePartT &reduce) {
    out << "reduce_part " << plan::EnumNameReductionKind(reduce.reduction) << " c" << reduce.communicator
        << ' ';
    list(reduce.tensors, ", ", [&](const plan::ReducedTensorT &each) {
      out << 'b' << each.source << " -> b" << each.target << ' ';
      tensor({each.count}, each.type);
    });
    out << " with #" << reduce.gather;
  }

  /// c0 b2 100xf32, b4 1xf32 with #6
  void dumpGatherParts(const plan::GatherPartsT &gather) {
    out << "gather_parts c" << gather.communicator << ' ';
    list(gather.tensors, ", ", [&](const plan::GatheredTensorT &each) {
      out << 'b' << each.buffer << ' ';
      tensor({each.count}, each.type);
    });
    out << " with #" << gather.reduce;
  }

  /// sum c0 to member 1 b1 -> b2 100xf32, b3 -> b4 1xf32
  void dumpReduceToRoot(const plan::ReduceToRootT &reduce) {
    out << "reduce_to_root " << plan::EnumNameReductionKind(reduce.reduction) << " c" << reduce.communicator
        << " to member " << reduce.root << ' ';
    list(reduce.tensors, ", ", [&](const plan::ReducedTensorT &each) {
      out << 'b' << each.source << " -> b" << each.target << ' ';
      tensor({each.count}, each.type);
    });
  }

  /// c0 from member 1 b2 100xf32, b4 1xf32
  void dumpCopyFromRoot(const plan::CopyFromRootT &copy) {
    out << "copy_from_root c" << copy.communicator << " from member " << copy.root << ' ';
    list(copy.tensors, ", ", [&](const plan::GatheredTensorT &each) {
      out << 'b' << each.buffer << ' ';
      tensor({each.count}, each.type);
    });
  }

  /// c0 b1 -> b2 1x16xf32, b3 -> b4 8x16xf32
  void dumpGatherBlocks(const plan::GatherBlocksT &gather) {
    out << "gather_blocks c" << gather.communicator << ' ';
    list(gather.tensors, ", ", [&](const plan::GatheredBlocksT &each) {
      out << 'b' << each.source << " -> b" << each.target << ' ';
      tensor({each.outer, each.inner}, each.type);
    });
  }

  /// sum c0 b1 -> b2 8x4xf32 to [{"data"}, {}], b3 -> b4 8xf32 to [{"data"}]
  void dumpReduceBlocks(const plan::ReduceBlocksT &reduce) {
    out << "reduce_blocks " << plan::EnumNameReductionKind(reduce.reduction) << " c" << reduce.communicator
        << ' ';
    list(reduce.tensors, ", ", [&](const plan::ReducedBlocksT &each) {
      out << 'b' << each.source << " -> b" << each.target << ' ';
      tensor(each.shape, each.type);
      out << " to ";
      shardings(each.sharding);
    });
  }

  /// c0 b1 -> b2 8x4xf32 from [{"data"}, {}] to [{}, {"data"}]
  void dumpExchange(const plan::ExchangeBlocksT &exchange) {
    out << "exchange_blocks c" << exchange.communicator << " b" << exchange.source << " -> b"
        << exchange.target << ' ';
    tensor(exchange.shape, exchange.type);
    out << " from ";
    shardings(exchange.from);
    out << " to ";
    shardings(exchange.to);
  }

  /// send b3 to channel 0 8x4xf32 sharding [{"data"}, {}]
  /// send b3 to channel 0 message 5 in 2 8x4xf32 sharding [{"data"}, {}]
  template <typename ActionT>
  void dumpTransfer(const char *verb, uint32_t buffer, const char *direction, const ActionT &action) {
    out << verb << buffer << direction << " channel " << action.channel << ' ';
    if (action.message != 0 || action.depth != 1)
      out << "message " << action.message << " in " << action.depth << ' ';
    tensor(action.shape, action.type);
    out << " sharding ";
    shardings(action.sharding);
  }

  /// b1 at 64 -> b2, 128 bytes
  void dumpCopy(const plan::CopyT &copy) {
    auto place = [&](uint32_t buffer, uint64_t offset) {
      out << " b" << buffer;
      if (offset != 0)
        out << " at " << offset;
    };
    out << "copy";
    place(copy.source, copy.from);
    out << " ->";
    place(copy.target, copy.to);
    out << ", " << copy.size << " bytes";
  }

  /// k3 (b0, b1) -> (b2)
  void dumpLaunch(const plan::LaunchT &launch) {
    out << "launch k" << launch.kernel << ' ';
    std::span<const uint32_t> operands = launch.buffers;
    size_t inputs = launch.kernel < plan.kernels.size() ? plan.kernels[launch.kernel]->num_inputs : 0;
    inputs = std::min(inputs, operands.size());
    buffers(operands.first(inputs));
    out << " -> ";
    buffers(operands.subspan(inputs));
  }

  /// f32 b0 x b1^T + bias b7 -> b2 m 32 n 512 k 64 lda 64 ldb 64 ldc 512 relu batch [4: 8 8 16]
  void dumpContract(const plan::ContractT &contract) {
    out << "contract " << plan::EnumNameElementType(contract.type) << (contract.widens ? " to f32" : "")
        << " b" << contract.a << (contract.transpose_a ? "^T" : "") << " x b" << contract.b
        << (contract.transpose_b ? "^T" : "")
        << (contract.has_bias ? " + bias b" + std::to_string(contract.bias) : "")
        << (contract.accumulate ? " +> b" : " -> b") << contract.c << " m " << contract.m << " n "
        << contract.n << " k " << contract.k << " lda " << contract.lda << " ldb " << contract.ldb << " ldc "
        << contract.ldc;
    if (contract.activation != plan::Activation::none)
      out << ' ' << plan::EnumNameActivation(contract.activation);
    if (!contract.batch.empty()) {
      out << " batch [";
      list(contract.batch, ", ", [&](const plan::BatchDim &dim) {
        out << dim.extent() << ": " << dim.stride_a() << ' ' << dim.stride_b() << ' ' << dim.stride_c();
      });
      out << ']';
    }
    if (const plan::AttentionT *attention = contract.attention.get())
      out << " attention with #" << attention->scores << " and #" << attention->softmax << " scale "
          << attention->scale << (attention->causal ? " causal" : "");
    if (const plan::AttentionT *attention = contract.attention.get(); attention && attention->gradient >= 0)
      out << " gradient #" << attention->gradient << " rows b" << attention->stats;
  }

  /// gradient of #8 (b5 by 1024 16 32, .. rows b11) -> (b20 by 1024 16 32, ..)
  void dumpGradient(const plan::AttentionGradientT &gradient) {
    auto operands = [&](const std::vector<plan::AttentionOperand> &each) {
      list(each, ", ", [&](const plan::AttentionOperand &operand) {
        out << 'b' << operand.buffer() << " by " << operand.sample() << ' ' << operand.head() << ' '
            << operand.position();
      });
    };
    out << "gradient of #" << gradient.attention << " (";
    operands(gradient.inputs);
    out << " rows b" << gradient.stats << ") -> (";
    operands(gradient.outputs);
    out << ')';
  }

  const plan::PlanT &plan;
};

} // namespace

void dumpAction(const plan::PlanT &plan, const plan::ActionUnion &action, std::ostream &out) {
  ActionDumper(plan, out).run(action);
}

} // namespace epl::runtime
