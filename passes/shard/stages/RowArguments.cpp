//===- RowArguments.cpp - An argument for each run of rows ----------------===//

#include "passes/shard/stages/RowArguments.h"

#include "passes/shard/analysis/AxisState.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
/// Arguments, or results, of the new function.
struct Values {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;

  void add(Type type, DictionaryAttr attr) {
    types.push_back(type);
    attrs.push_back(attr);
  }
};
} // namespace

/// What an argument or result says of itself, with its position among those of the caller.
static NamedAttrList getAttrs(DictionaryAttr attrs, int64_t position, Builder &builder) {
  NamedAttrList list(attrs);
  if (!list.get(EplDialect::kPositionAttr))
    list.set(EplDialect::kPositionAttr, builder.getI64IntegerAttr(position));
  list.erase(EplDialect::kShardingAttr);
  return list;
}

/// Adds the rows of each member of `argument`, or of what updates the arguments from `updates` on.
static void addRows(BlockArgument argument, int64_t members, NamedAttrList list,
                    std::optional<int64_t> updates, Values &values) {
  auto type = cast<RankedTensorType>(argument.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] /= members;
  Builder builder(argument.getContext());
  for (int64_t member = 0; member < members; ++member) {
    list.set(EplDialect::kCallerRowsAttr,
             builder.getDenseI64ArrayAttr({member * shape[0], type.getDimSize(0)}));
    if (updates)
      list.set(EplDialect::kUpdatesAttr, builder.getI64IntegerAttr(*updates + member));
    values.add(type.clone(shape), list.getDictionary(argument.getContext()));
  }
}

func::FuncOp mlir::epl::declareRows(func::FuncOp function, int64_t members,
                                    function_ref<bool(BlockArgument)> isCut) {
  Builder builder(function.getContext());
  Values arguments, results;
  SmallVector<int64_t> first; // of what each argument becomes
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    first.push_back(arguments.types.size());
    NamedAttrList list = getAttrs(function.getArgAttrDict(index), index, builder);
    if (isCut(argument))
      addRows(argument, members, list, std::nullopt, arguments);
    else
      arguments.add(argument.getType(), list.getDictionary(function.getContext()));
  }
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    NamedAttrList list = getAttrs(function.getResultAttrDict(index), int64_t(index), builder);
    BlockArgument updated = getUpdatedArgument(function, index);
    if (updated && isCut(updated)) {
      addRows(updated, members, list, first[updated.getArgNumber()], results);
      continue;
    }
    if (updated)
      list.set(EplDialect::kUpdatesAttr, builder.getI64IntegerAttr(first[updated.getArgNumber()]));
    results.add(type, list.getDictionary(function.getContext()));
  }
  func::FuncOp made = OpBuilder(function).cloneWithoutRegions(function);
  made.setType(builder.getFunctionType(arguments.types, results.types));
  made.setAllArgAttrs(arguments.attrs);
  made.setAllResultAttrs(results.attrs);
  made.addEntryBlock();
  return made;
}
