#include "runtime/plan/model/Dump.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Convolutions.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Units.h"
#include "runtime/plan/schedule/Text.h"

#include <span>
#include <sstream>

namespace epl::runtime {
namespace {

class Dumper {
public:
  explicit Dumper(const plan::PlanT &plan) : plan(plan) {}

  std::string run() {
    out << "plan version " << plan.version << ", " << plan.layout << '\n';
    if (plan.provenance)
      out << "made by " << quoted(plan.provenance->producer) << " with " << quoted(plan.provenance->options)
          << " from " << quoted(plan.provenance->source) << '\n';
    dumpAxes();
    for (uint32_t i = 0; i < plan.slots.size(); ++i)
      dumpSlot(i);
    for (uint32_t i = 0; i < plan.buffers.size(); ++i)
      dumpBuffer(i);
    out << "arena " << plan.arena_size << " bytes\n";
    for (const auto &image : plan.images)
      dumpImage(*image);
    for (uint32_t i = 0; i < plan.kernels.size(); ++i)
      dumpKernel(i);
    dumpUnits();
    for (uint32_t i = 0; i < plan.lanes.size(); ++i)
      dumpLane(i);
    for (uint32_t i = 0; i < plan.parts.size(); ++i)
      dumpPart(i);
    return out.str();
  }

private:
  /// The items with `separator` between them, each as `print` writes it.
  template <typename Range, typename Print>
  void list(const Range &items, const char *separator, const Print &print) {
    const char *between = "";
    for (const auto &item : items) {
      out << between;
      print(item);
      between = separator;
    }
  }

  void names(const std::vector<std::string> &items) {
    list(items, ", ", [&](const std::string &item) { out << quoted(item); });
  }

  void buffers(std::span<const uint32_t> items) {
    out << '(';
    list(items, ", ", [&](uint32_t item) { out << 'b' << item; });
    out << ')';
  }

  void numbers(const auto &items) {
    out << '[';
    list(items, ", ", [&](auto item) { out << item; });
    out << ']';
  }

  void dumpAxes() {
    for (const auto &axis : plan.axes)
      out << "axis " << quoted(axis->name) << " = " << axis->size << '\n';
    for (size_t i = 0; i < plan.communicators.size(); ++i) {
      out << "communicator c" << i << " over ";
      names(plan.communicators[i]->axes);
      out << '\n';
    }
  }

  /// [{"data"}, {}]
  void shardings(const std::vector<std::unique_ptr<plan::DimShardingT>> &dims) {
    out << '[';
    list(dims, ", ", [&](const auto &dim) {
      out << '{';
      names(dim->axes);
      out << '}';
    });
    out << ']';
  }

  /// 64x512xf32
  void tensor(const std::vector<int64_t> &shape, plan::ElementType type) {
    for (int64_t extent : shape)
      out << extent << 'x';
    out << plan::EnumNameElementType(type);
  }

  /// s0 "params['w1']" state f32[64x512] sharding [{"data"}, {}]
  void dumpSlot(uint32_t index) {
    const plan::SlotT &slot = *plan.slots[index];
    out << "slot " << slotName(plan, index) << ' ' << plan::EnumNameSlotRole(slot.role) << ' '
        << plan::EnumNameElementType(slot.type) << '[';
    list(slot.shape, "x", [&](int64_t extent) { out << extent; });
    out << "] sharding ";
    shardings(slot.sharding);
    if (!slot.caller_shape.empty()) {
      out << " seen as ";
      list(slot.caller_shape, "x", [&](int64_t extent) { out << extent; });
      for (const auto &parts : slot.caller_parts) {
        out << " with parts ";
        list(parts->extents, "+", [&](int64_t extent) { out << extent; });
        out << " in " << parts->dim;
      }
    }
    if (slot.caller_rows)
      out << " rows from " << slot.caller_rows->first() << " of " << slot.caller_rows->count();
    dumpOwner(slot.owner.get());
    if (slot.in_host)
      out << " in the host";
    if (slot.updates != -1)
      out << " updates s" << slot.updates;
    if (!slot.origins.empty()) {
      out << " of ";
      list(slot.origins, ", ", [&](const plan::Origin &origin) { dumpWriter(origin); });
    }
    out << (slot.hidden ? " hidden\n" : "\n");
  }

  /// on member 1 of c0
  void dumpOwner(const plan::Owner *owner) {
    if (owner)
      out << " on member " << owner->member() << " of c" << owner->communicator();
  }

  /// s3 for the caller's slot, #12 or #12.1 for an output of a command.
  void dumpWriter(const plan::Origin &origin) {
    if (origin.command() < 0) {
      out << 's' << origin.output();
      return;
    }
    out << '#' << origin.command();
    if (origin.output() > 0)
      out << '.' << origin.output();
  }

  void dumpBuffer(uint32_t index) {
    const plan::BufferT &buffer = *plan.buffers[index];
    out << "buffer " << bufferName(plan, index) << ' ' << buffer.size << " bytes ";
    if (buffer.view_of != -1)
      out << "at " << buffer.offset << " of b" << buffer.view_of << '\n';
    else if (buffer.slot == -1)
      out << "at " << buffer.offset << '\n';
    else
      out << "of s" << buffer.slot << '\n';
  }

  void dumpImage(const plan::ImageT &image) {
    out << "image " << plan::EnumNameImageKind(image.kind);
    if (image.isa != 0)
      out << ' ' << image.isa / 10 << '.' << image.isa % 10;
    out << ' ' << image.bytes.size() << " bytes for " << quoted(image.target);
    if (!image.features.empty()) {
      out << " with ";
      names(image.features);
    }
    out << '\n';
  }

  void dumpGrid(const plan::GridT &grid) {
    out << " grid " << grid.blocks << " x " << grid.threads << " shared " << grid.shared << " group "
        << grid.group << " slice " << grid.slice << " extent " << grid.extent;
  }

  void dumpKernel(uint32_t index) {
    const plan::KernelT &kernel = *plan.kernels[index];
    out << "kernel " << kernelName(plan, index) << " symbol " << quoted(kernel.symbol) << " form "
        << quoted(kernel.form) << " inputs " << kernel.num_inputs << " outputs " << kernel.num_outputs
        << " sizes ";
    numbers(kernel.operand_sizes);
    out << " in_place ";
    numbers(kernel.in_place);
    out << " workspace " << kernel.workspace << " extent " << kernel.extent << " flops " << kernel.flops;
    if (kernel.factorization)
      dumpFactorization(*kernel.factorization);
    if (kernel.convolution)
      out << " convolution " << textOf(*kernel.convolution);
    for (const std::unique_ptr<plan::GridT> &grid : kernel.grids)
      dumpGrid(*grid);
    out << '\n';
  }

  /// triangular_solve f32 8x3 left lower
  void dumpFactorization(const plan::FactorizationT &factorization) {
    out << " factorization " << plan::EnumNameFactorizationKind(factorization.kind) << ' ';
    tensor({factorization.rows, factorization.columns}, factorization.type);
    if (factorization.kind == plan::FactorizationKind::orthogonal)
      out << " of " << factorization.reflectors;
    const std::pair<bool, const char *> flags[] = {
        {factorization.vectors, " vectors"},     {factorization.full, " full"},
        {factorization.left, " left"},           {factorization.lower, " lower"},
        {factorization.transpose, " transpose"}, {factorization.unit_diagonal, " unit_diagonal"}};
    for (auto [is, name] : flags)
      out << (is ? name : "");
  }

  /// schedule "1f1b" of loop 0: s0.F.m0 s0.B.m0
  void dumpUnits() {
    for (const auto &[loop, table] : tablesOf(plan)) {
      if (!plan.parts.empty())
        return; // each part has its own
      out << "schedule " << quoted(plan.schedule) << " of loop " << loop << ": " << schedule::write(table);
    }
  }

  void dumpLane(uint32_t index) {
    const plan::LaneT &lane = *plan.lanes[index];
    out << "lane " << index << ' ' << plan::EnumNameLaneKind(lane.kind);
    if (lane.communicator != -1)
      out << " c" << lane.communicator;
    out << '\n';
    for (uint32_t command : lane.commands)
      if (command < plan.commands.size())
        dumpCommand(command);
  }

  /// part 1 from device 1 strides [2] slots [0, 3]
  void dumpPart(uint32_t index) {
    const plan::PartT &part = *plan.parts[index];
    out << "\npart " << index << " from device " << part.first << " strides ";
    numbers(part.strides);
    out << " slots ";
    numbers(part.slots);
    out << '\n' << Dumper(*part.plan).run();
  }

  void dumpCommand(uint32_t index) {
    const plan::CommandT &command = *plan.commands[index];
    out << "  " << commandName(plan, index) << ' ';
    dumpAction(command.action);
    dumpOwner(command.owner.get());
    if (!command.guards.empty()) {
      out << " if ";
      list(command.guards, " and ",
           [&](const plan::Guard &guard) { out << (guard.expected() ? "b" : "not b") << guard.buffer(); });
    }
    if (!command.waits.empty()) {
      out << " after ";
      list(command.waits, ", ", [&](const plan::Wait &wait) {
        out << '#' << wait.command();
        if (wait.scope() == plan::WaitScope::members)
          out << " of c" << wait.communicator();
      });
    }
    if (!command.origins.empty()) {
      out << " reads ";
      list(command.origins, ", ", [&](const plan::Origin &origin) {
        if (origin.operand() >= firstGuard)
          out << "if " << origin.operand() - firstGuard;
        else
          out << origin.operand();
        out << ':';
        dumpWriter(origin);
        if (origin.communicator() >= 0)
          out << " of c" << origin.communicator();
        if (origin.offset() > 0)
          out << " at " << origin.offset();
      });
    }
    if (command.attention >= 0)
      out << " for #" << command.attention;
    if (command.unit >= 0 && size_t(command.unit) < plan.units.size())
      out << " in " << unitName(plan, command.unit);
    if (!command.work.empty())
      out << " work " << quoted(command.work);
    if (!command.location.empty())
      out << " at " << quoted(command.location);
    if (!command.cause.empty())
      out << " because " << quoted(command.cause);
    out << '\n';
  }

  void dumpAction(const plan::ActionUnion &action) {
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
  std::ostringstream out;
};

} // namespace

std::string dumpPlan(const plan::PlanT &plan) { return Dumper(plan).run(); }

} // namespace epl::runtime
