// RUN: epl-opt %s --epl-codegen-cpu=cpu=x86-64-v4 | FileCheck %s
// RUN: epl-opt %s --epl-codegen-cpu="cpu=x86-64-v2 threads=1" | FileCheck %s --check-prefix=V2

// The functions and their constants become one image; the kernels stay.

// CHECK: epl.kernel @k0 fusion
// CHECK: epl.kernel @k1 fusion
// CHECK-NOT: func.func
// CHECK-NOT: memref.global
// CHECK: epl.binary elf("x86-64-v4") [{{.*}}"avx2"{{.*}}"avx512f"{{.*}}] "\7FELF
// V2-NOT: avx
// V2: "sse4.2"
// V2-NOT: avx
epl.kernel @k0 fusion {
^bb0(%x: tensor<2xf32>):
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  epl.yield %c : tensor<2xf32>
} {extent = 1 : i64, form = "general", workspace = 0 : i64}
memref.global "private" constant @k0.constant0 : memref<2xf32> = dense<[1.0, 2.0]>
func.func private @k0.body(%x: memref<2xf32>, %y: memref<2xf32>, %workspace: memref<0xi8>, %axes: memref<1xi64>, %begin: i64, %end: i64)
    attributes {epl.kernel = @k0} {
  %c = memref.get_global @k0.constant0 : memref<2xf32>
  %i = arith.index_cast %begin : i64 to index
  %0 = memref.load %c[%i] : memref<2xf32>
  memref.store %0, %y[%i] : memref<2xf32>
  return
}

epl.kernel @k1 fusion {
^bb0(%x: tensor<2xf32>):
  epl.yield %x : tensor<2xf32>
} {extent = 1 : i64, form = "general", workspace = 0 : i64}
func.func private @k1.body(%x: memref<2xf32>, %y: memref<2xf32>, %workspace: memref<0xi8>, %axes: memref<1xi64>, %begin: i64, %end: i64)
    attributes {epl.kernel = @k1} {
  memref.copy %x, %y : memref<2xf32> to memref<2xf32>
  return
}
