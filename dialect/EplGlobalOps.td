//===- EplGlobalOps.td - The global program -------------------------------===//
#ifndef EPL_GLOBAL_OPS
#define EPL_GLOBAL_OPS

include "dialect/EplScopeOps.td"

def Epl_MeshOp : Epl_Op<"mesh", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a mesh of devices with named axes";
  let description = [{
    ```mlir
    epl.mesh @mesh axes ["data"=2, "model"=4]
    epl.mesh @mesh1 axes ["data"=2, "model"=2] first 1 strides [3, 1]
    epl.mesh @mesh2 axes ["rows"=2 : data, "columns"=4 : model]
    ```

    What an axis is for is its role (`#epl.axis`); "data" and "model" need not say theirs.

    The device at a position is `first` and, for each axis, the position along it times its stride; where these
    are not said, 0 and devices in row-major order. Above, @mesh1 has devices 1, 2 and 4, 5.

    Constraints:
    - (C1) axis names are distinct.
    - (C2) the product of the sizes is at most 2147483647, so that no product of axes overflows.
    - (C3) `first` and strides are there both or neither; `first` is at least 0; there is one stride for each
      axis, at least 1; no device is above 2147483647.
    - (C4) from lower strides to higher ones each is past the devices along those below it, so that no two
      positions are one device.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypedArrayAttrBase<Epl_AxisAttr, "array of axes">:$axes,
                       OptionalAttr<I64Attr>:$first, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let assemblyFormat = [{
    $sym_name `axes` custom<Axes>($axes) (`first` $first^ `strides` $strides)? attr-dict
  }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::ArrayAttr":$axes), [{
    build($_builder, $_state, name, axes, /*first=*/::mlir::IntegerAttr(), /*strides=*/::mlir::DenseI64ArrayAttr());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The axis of that name, or null.
    ::mlir::epl::AxisAttr getAxis(::llvm::StringRef name);
    /// The position of the axis of that name in mesh order, or -1.
    int64_t getAxisPosition(::llvm::StringRef name);
    /// The axes of that role, in mesh order.
    ::llvm::SmallVector<::mlir::epl::AxisAttr> getAxesOfRole(::mlir::epl::AxisRole role);
    /// The number of devices: the product of the axes.
    int64_t getNumDevices();
    /// The device at the first position.
    int64_t getFirstDevice() { return getFirst().value_or(0); }
    /// How many devices further the next position along each axis is.
    ::llvm::SmallVector<int64_t> getDeviceStrides();
  }];
}

def Epl_TaskGraphOp : Epl_Op<"taskgraph", [Symbol, HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a part of the step that is parallelized as one: a scope, after flattening";
  let description = [{
    ```mlir
    epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh name("encoder")
    ```

    The mesh is missing until `epl-assign-meshes`. `dims` says how the user wants parameters split.

    Constraints:
    - (C1) `mesh` names an `epl.mesh`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Epl_StrategyAttr:$strategy,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh, OptionalAttr<StrAttr>:$scope_name,
                       OptionalAttr<Epl_DimConstraintArrayAttr>:$dims);
  let assemblyFormat = [{
    $sym_name `strategy` `(` $strategy `)` (`on` $mesh^)? (`name` `(` $scope_name^ `)`)?
    (`dims` `(` $dims^ `)`)? attr-dict
  }];
}

def Epl_ReshardOp : Epl_Op<"reshard", [Epl_GlobalLevel, Pure, AllTypesMatch<["operand", "result"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the identity on the global tensor, with another distribution";
  let description = [{
    Where a value must change its distribution: `epl-place` decides, `epl-localize` obeys.

    ```mlir
    %1 = epl.reshard %0 to <@mesh, [{} ]> : tensor<512xf32>
    ```

    Constraints:
    - (C1) the sharding fits the tensor: rank, known axes, divisible dimensions.

    Where the result is pending over an axis and the operand is not, the first member along the axis keeps the
    value and the others hold the neutral element of the reduction.
  }];
  let arguments = (ins AnyRankedTensor:$operand, Epl_ShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand `to` $sharding attr-dict `:` type($result)";
}

def Epl_ConcatenateOp : Epl_Op<"concatenate", [Epl_TensorLevel, Pure]> {
  let summary = "joins tensors along one dimension";
  let description = [{
    Its linalg form is a generic with captured tensors, which hides the operands from every rule; so front
    ends keep it as an op.

    ```mlir
    %c = epl.concatenate %a, %b dim 1 : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
    ```

    Constraints:
    - (C1) there is at least one operand; all have the rank and element type of the result.
    - (C2) `dim` is a dimension of the result.
    - (C3) extents along `dim` add up to the result's; the others are equal to it.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operands `dim` $dim attr-dict `:` functional-type($operands, $result)";
  let hasVerifier = 1;
}

def Epl_SortOp : Epl_Op<"sort", [Epl_TensorLevel, Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "sorts tensors together along one dimension, or gives the first elements of that order";
  let description = [{
    Along `dim`, the operands' elements at one position are moved together. The comparator says whether the
    elements of its even arguments come before those of its odd ones. The sort is stable: elements that come
    neither before nor after each other keep their order, so that the result is the same however the sort is
    split and run. Results shorter than the operands hold the first elements of the order: with `dim` of
    extent 50 in results and 50000 in operands this is a top-k, which costs little more than a pass.

    The comparator must be a strict weak order; with another one, the order of the result is not defined.

    ```mlir
    %values, %indices = epl.sort %x, %iota dim 1 : (tensor<4x9xf32>, tensor<4x9xi32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
    ^bb0(%a: f32, %b: f32, %i: i32, %j: i32):
      %before = arith.cmpf ogt, %a, %b : f32
      epl.yield %before : i1
    }
    ```

    Constraints:
    - (C1) there is at least one operand; all have the same shape.
    - (C2) `dim` is a dimension of the operands.
    - (C3) each operand has a result of its element type; all results have the operands' shape, but for the
      extent along `dim`, which is at most the operands'.
    - (C4) the comparator has two arguments of each operand's element type, in their order.
    - (C5) the comparator yields one i1.
    - (C6) the ops of the comparator have no side effects and work on scalars; nothing is captured.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands, I64Attr:$dim);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$comparator);
  let assemblyFormat = "$operands `dim` $dim attr-dict `:` functional-type($operands, $results) $comparator";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The shape of the operands.
    ::llvm::ArrayRef<int64_t> getShape();
    /// How many elements of the order the results hold.
    int64_t getLimit();
  }];
}

#endif // EPL_GLOBAL_OPS
