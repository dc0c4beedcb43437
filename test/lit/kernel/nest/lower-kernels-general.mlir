// RUN: epl-opt %s --epl-lower-kernels=loops | FileCheck %s
// RUN: epl-opt %s --epl-lower-kernels=loops --epl-codegen-cpu=loops | FileCheck %s --check-prefix=BINARY

// A reduction copies its init first, then accumulates in its result; i1 lives in bytes.

// CHECK: epl.kernel @sum fusion
// CHECK: extent = 1 : i64, flops = 24 : i64, form = "general", workspace = 0 : i64
// CHECK-LABEL: func.func private @sum.body
// CHECK-SAME: %[[X:.*]]: memref<12xf32> {llvm.noalias}, %[[P:.*]]: memref<12xi8> {llvm.noalias}, %[[Y:.*]]: memref<3xf32> {llvm.noalias}, %{{.*}}: memref<0xi8> {llvm.noalias}, %{{.*}}: memref<0xi64>, %{{.*}}: i64, %{{.*}}: i64
// CHECK-SAME: epl.kernel = @sum
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NEXT: memref.store %{{.*}}, %[[Y]]
// CHECK: scf.for
// CHECK-NEXT: scf.for
// CHECK: %[[IN:.*]] = memref.load %[[X]]
// CHECK: %[[BYTE:.*]] = memref.load %[[P]]
// CHECK: arith.trunci %[[BYTE]] : i8 to i1
// CHECK: %[[OUT:.*]] = memref.load %[[Y]]
// CHECK: %[[TERM:.*]] = arith.select
// CHECK: %[[SUM:.*]] = arith.addf %[[OUT]], %[[TERM]]
// CHECK: memref.store %[[SUM]], %[[Y]]

// BINARY: epl.binary elf("{{.*}}") [{{.*}}"sse4.2"{{.*}}] "\7FELF
// BINARY-NOT: func.func
epl.kernel @sum fusion {
^bb0(%x: tensor<4x3xf32>, %p: tensor<4x3xi1>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x, %p : tensor<4x3xf32>, tensor<4x3xi1>) outs(%init : tensor<3xf32>) {
  ^bb0(%in: f32, %keep: i1, %out: f32):
    %term = arith.select %keep, %in, %zero : f32
    %sum = arith.addf %out, %term : f32
    linalg.yield %sum : f32
  } -> tensor<3xf32>
  epl.yield %y : tensor<3xf32>
}

// Values without elements have the general form also where kernels are fused.
// RUN: epl-opt %s --epl-lower-kernels | FileCheck %s --check-prefix=EMPTY
// EMPTY: epl.kernel @none fusion
// EMPTY: form = "general"
epl.kernel @none fusion {
^bb0(%x: tensor<4x3xf32>):
  %0 = tensor.extract_slice %x[0, 0] [4, 0] [1, 1] : tensor<4x3xf32> to tensor<4x0xf32>
  %e = tensor.empty() : tensor<4x0xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x0xf32>) outs(%e : tensor<4x0xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<4x0xf32>
  epl.yield %1 : tensor<4x0xf32>
}
