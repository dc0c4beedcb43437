#include "runtime/plan/model/Dump.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Convolutions.h"
#include "runtime/plan/model/DumpAction.h"
#include "runtime/plan/model/DumpWriter.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Units.h"
#include "runtime/plan/schedule/Text.h"

#include <sstream>

namespace epl::runtime {
namespace {

class Dumper : DumpWriter {
public:
  Dumper(const plan::PlanT &plan, std::ostream &out) : DumpWriter(out), plan(plan) {}

  void run() {
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
  }

private:
  void dumpAxes() {
    for (const auto &axis : plan.axes)
      out << "axis " << quoted(axis->name) << " = " << axis->size << '\n';
    for (size_t i = 0; i < plan.communicators.size(); ++i) {
      out << "communicator c" << i << " over ";
      names(plan.communicators[i]->axes);
      out << '\n';
    }
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
    out << '\n';
    Dumper(*part.plan, out).run();
  }

  void dumpCommand(uint32_t index) {
    const plan::CommandT &command = *plan.commands[index];
    out << "  " << commandName(plan, index) << ' ';
    dumpAction(plan, command.action, out);
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

  const plan::PlanT &plan;
};

} // namespace

std::string dumpPlan(const plan::PlanT &plan) {
  std::ostringstream out;
  Dumper(plan, out).run();
  return out.str();
}

} // namespace epl::runtime
