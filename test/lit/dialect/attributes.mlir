// RUN: epl-opt %s --split-input-file | epl-opt --split-input-file | FileCheck %s
// RUN: epl-opt %s --split-input-file --mlir-print-op-generic | epl-opt --split-input-file | FileCheck %s

// CHECK: test.strategies = [#epl.strategy<replicate, 1>, #epl.strategy<split, 4>]
module attributes {test.strategies = [#epl.strategy<replicate, 1>, #epl.strategy<split, 4>]} {}

// -----

// CHECK: test.scopes = [#epl.scope<replicate, 1, "encoder">, #epl.scope<split, 2, "">]
module attributes {test.scopes = [#epl.scope<replicate, 1, "encoder">, #epl.scope<split, 2, "">]} {}

// -----

// CHECK: test.scope = #epl.scope<split, 2, "", dims = [<"wq" = 1>, <"wo" = -2>, <"norm/*" whole>]>
// CHECK-SAME: test.split_dims = [#epl.dim_constraint<"wq" = 1>, #epl.dim_constraint<"w'\22[]>" whole>]
module attributes {test.scope = #epl.scope<split, 2, "", dims = [<"wq" = 1>, <"wo" = -2>, <"norm/*" whole>]>,
                   test.split_dims = [#epl.dim_constraint<"wq" = 1>, #epl.dim_constraint<"w'\22[]>" whole>]} {}

// -----

// CHECK: test.constraints = [#epl.constraint<[]>, #epl.constraint<[{"data"}, {}, {"model", "rows"}]>, #epl.constraint<[{}], whole = {"model"}>]
module attributes {test.constraints = [#epl.constraint<[]>, #epl.constraint<[{"data"}, {}, {"model", "rows"}]>,
                                       #epl.constraint<[{}], whole = {"model"}>]} {}

// -----

// CHECK: test.works = [#epl.work<@tg0, forward>, #epl.work<@tg0, backward>, #epl.work<@tg1, recompute>, #epl.work<@tg1, apply>]
module attributes {test.works = [#epl.work<@tg0, forward>, #epl.work<@tg0, backward>,
                                 #epl.work<@tg1, recompute>, #epl.work<@tg1, apply>]} {}

// -----

// CHECK: test.axes = [#epl.axis<"data"=4>, #epl.axis<"model"=8>]
module attributes {test.axes = [#epl.axis<"data" = 4>, #epl.axis<"model"=8>]} {}

// -----

// CHECK: test.replicated = #epl.sharding<@mesh, []>
// CHECK-SAME: test.sharded = #epl.sharding<@mesh, [{"data", "rows"}, {}, {"model"}]>
module attributes {test.replicated = #epl.sharding<@mesh, []>,
                   test.sharded = #epl.sharding<@mesh, [{"data", "rows"}, {}, {"model"}]>} {}

// -----

// CHECK: test.partial = [#epl.sharding<@mesh, [{"data"}], partial = sum{"model"}>
// CHECK-SAME: #epl.sharding<@mesh, [], partial = prod{"a", "b"}>
// CHECK-SAME: #epl.sharding<@mesh, [], partial = max{"a"}>
// CHECK-SAME: #epl.sharding<@mesh, [], partial = min{"a"}>
// CHECK-SAME: #epl.sharding<@mesh, [], partial = all{"a"}>
// CHECK-SAME: #epl.sharding<@mesh, [], partial = any{"a"}>
module attributes {test.partial = [
    #epl.sharding<@mesh, [{"data"}], partial = sum{"model"}>, #epl.sharding<@mesh, [], partial = prod{"a", "b"}>,
    #epl.sharding<@mesh, [], partial = max{"a"}>, #epl.sharding<@mesh, [], partial = min{"a"}>,
    #epl.sharding<@mesh, [], partial = all{"a"}>, #epl.sharding<@mesh, [], partial = any{"a"}>]} {}

// -----

// CHECK: test.batched = #epl.gemm<{{.*}}, batch = [8, 8, 12, 6]>
// CHECK-SAME: test.gemm = #epl.gemm<m = 2, n = 3, k = 4, lda = 4, ldb = 3, ldc = 3, transpose_a = false, transpose_b = true, accumulate = false>
module attributes {
  test.gemm = #epl.gemm<m = 2, n = 3, k = 4, lda = 4, ldb = 3, ldc = 3, transpose_a = false, transpose_b = true, accumulate = false>,
  test.batched = #epl.gemm<m = 2, n = 3, k = 4, lda = 4, ldb = 3, ldc = 3, transpose_a = false, transpose_b = false, accumulate = true, batch = [8, 8, 12, 6]>
} {}

// -----

// CHECK: test.convolution = #epl.convolution<image, operands = [3, 1, 0], flips = true, accumulate = true, samples = [1, 0, 0, 0], groups = [1, 0, 0, 0], channels = [1, 0, 0, 0], features = [1, 0, 0, 0], axes = [5, 4, 9, 1, 1, 1, 1, 1, 4, 3]>
module attributes {
  test.convolution = #epl.convolution<image, operands = [3, 1, 0], flips = true, accumulate = true, samples = [1, 0, 0, 0], groups = [1, 0, 0, 0], channels = [1, 0, 0, 0], features = [1, 0, 0, 0], axes = [5, 4, 9, 1, 1, 1, 1, 1, 4, 3]>
} {}

// -----

// CHECK: !epl.dist<tensor<64x128xf32>, <@mesh, [{"data"}, {}]>>
func.func private @dist(!epl.dist<tensor<64x128xf32>, <@mesh, [{"data"}, {}]>>)

// -----

// CHECK: module attributes {epl.machine = #epl.machine<kind = "h100", compute = <f64 = 1, f32 = 2, f16 = 3>, memory = <bytes = 4, bytes_per_second = 5, latency_ns = 6>, within_process = <bytes_per_second = 7, latency_ns = 8>, between_processes = <bytes_per_second = 9, latency_ns = 10>, between_nodes = <bytes_per_second = 11, latency_ns = 12>>}
module attributes {epl.machine = #epl.machine<kind = "h100", compute = <f64 = 1, f32 = 2, f16 = 3>,
    memory = <bytes = 4, bytes_per_second = 5, latency_ns = 6>, within_process = <bytes_per_second = 7, latency_ns = 8>,
    between_nodes = <latency_ns = 12, bytes_per_second = 11>, between_processes = <bytes_per_second = 9, latency_ns = 10>>} {}

// A dimension of one element beside an empty one.
// CHECK: func.func @empty(%{{.*}}: tensor<4x1x0x4xf32> {epl.caller_shape = array<i64: 4, 0, 4>})
func.func @empty(%x: tensor<4x1x0x4xf32> {epl.caller_shape = array<i64: 4, 0, 4>}) {
  return
}

// Micro-batches of no sample.
// CHECK: func.func @no_sample(%{{.*}}: tensor<2x0x4xf32> {epl.caller_shape = array<i64: 0, 4>})
func.func @no_sample(%x: tensor<2x0x4xf32> {epl.caller_shape = array<i64: 0, 4>}) {
  return
}

// -----

// CHECK: test.owners = [#epl.owner<"data" = 1>, #epl.sharding<@mesh, [{}], owner = <"data" = 1>>
// CHECK-SAME: #epl.sharding<@mesh, [{"model"}], partial = sum{"rows"}, owner = <"data" = 0>>
module attributes {test.owners = [
    #epl.owner<"data" = 1>, #epl.sharding<@mesh, [{}], owner = <"data" = 1>>,
    #epl.sharding<@mesh, [{"model"}], partial = sum{"rows"}, owner = <"data" = 0>>]} {}

// -----

// CHECK: test.attention = #epl.attention<scale = 1.250000e-01 : f32, causal = true>
module attributes {test.attention = #epl.attention<scale = 1.250000e-01 : f32, causal = true>} {}

// -----

// CHECK: test.gradient = #epl.attention_gradient<parts = 7, steps = [96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24]>
module attributes {test.gradient = #epl.attention_gradient<parts = 7, steps = [96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24, 96, 8, 24]>} {}
