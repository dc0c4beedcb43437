//===- EplTypes.td - Types of the epl dialect -----------------------------===//
#ifndef EPL_TYPES
#define EPL_TYPES

include "dialect/EplMachineAttrs.td"

def Epl_DistType : TypeDef<Epl_Dialect, "Dist"> {
  let mnemonic = "dist";
  let summary = "a tensor distributed over a mesh";
  let description = [{
    The global tensor type and how it is laid out. A value of this type stands for one local tensor on each
    rank. It is the type of arguments, results and collectives of a local program; the ops inside tasks work
    on the local tensors.

    Example: `!epl.dist<tensor<64x128xf32>, <@mesh, [{"data"}, {} ]>>`.

    Constraints:
    - (D1) the sharding has one entry for each dimension of the tensor.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$global, "::mlir::epl::ShardingAttr":$sharding);
  let assemblyFormat = "`<` $global `,` $sharding `>`";
  let genVerifyDecl = 1;
}

#endif // EPL_TYPES
