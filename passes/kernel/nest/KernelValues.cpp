#include "passes/kernel/nest/KernelValues.h"

using namespace mlir;
using namespace mlir::epl;

static void placeScalars(KernelOp kernel, KernelFunction &function, KernelValues &values) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto axis = dyn_cast<AxisIndexOp>(op))
      values.scalars.map(axis.getResult(), function.getAxisIndex(axis));
    else if (llvm::none_of(op.getResultTypes(), llvm::IsaPred<TensorType>))
      function.getBuilder().clone(op, values.scalars);
  }
}

static void placeOperands(KernelOp kernel, KernelFunction &function, KernelValues &values) {
  Block &body = kernel.getBody().front();
  for (BlockArgument argument : body.getArguments())
    values.buffers[argument] = function.getInput(argument.getArgNumber());
  for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    values.buffers[stripViews(value)] = function.getOutput(index);
}

void mlir::epl::placeValues(KernelOp kernel, FusionPlan &plan, KernelFunction &function, KernelValues &values,
                            function_ref<Value(Value temporary)> findHost) {
  placeScalars(kernel, function, values);
  placeOperands(kernel, function, values);
  auto allocate = [&](Value value) { return function.allocate(cast<RankedTensorType>(value.getType())); };
  for (Value temporary : plan.temporaries) {
    Value host = findHost ? findHost(temporary) : Value();
    values.buffers[temporary] = host ? host : allocate(temporary);
  }
  auto place = [&](std::vector<Stage> &stages) {
    for (Stage &stage : stages)
      for (Root &root : stage.roots)
        for (Value value : root.values)
          if (Value &buffer = values.buffers[value]; !buffer)
            buffer = allocate(value);
  };
  for (Nest &nest : plan.nests) {
    place(nest.prologue);
    place(nest.stages);
  }
}
