// RUN: epl-opt %s --epl-codegen-cpu=cpu=x86-64 | FileCheck %s
// RUN: epl-opt %s --epl-codegen-cpu=cpu=x86-64-v2 | FileCheck %s
// RUN: epl-opt %s --epl-codegen-cpu=cpu=haswell | FileCheck %s

// What moves bf16 moves bits: lane by lane through f32 it would call libgcc, which is not linked.

// CHECK: epl.binary elf("{{.*}}") [{{.*}}] "\7FELF
epl.kernel @k0 fusion {
^bb0(%x: tensor<3xbf16>):
  epl.yield %x : tensor<3xbf16>
} {extent = 1 : i64, form = "flat", workspace = 0 : i64}
func.func private @k0.body(%x: memref<3xbf16>, %y: memref<3xbf16>, %workspace: memref<0xi8>, %axes: memref<1xi64>, %begin: i64, %end: i64)
    attributes {epl.kernel = @k0} {
  %zero = arith.constant dense<0.0> : vector<4xbf16>
  %i = arith.constant 0 : index
  %size = arith.index_cast %end : i64 to index
  %mask = vector.create_mask %size : vector<4xi1>
  %loaded = vector.maskedload %x[%i], %mask, %zero : memref<3xbf16>, vector<4xi1>, vector<4xbf16> into vector<4xbf16>
  %sum = arith.addf %loaded, %loaded : vector<4xbf16>
  %first = memref.load %x[%i] : memref<3xbf16>
  %all = vector.broadcast %first : bf16 to vector<4xbf16>
  %picked = arith.select %mask, %sum, %all : vector<4xi1>, vector<4xbf16>
  vector.maskedstore %y[%i], %mask, %picked : memref<3xbf16>, vector<4xi1>, vector<4xbf16>
  return
}
