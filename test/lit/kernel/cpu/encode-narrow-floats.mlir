// RUN: epl-opt %s --epl-encode-narrow-floats | FileCheck %s

// Constants keep their bits: 1.5 is 0x3FC0 in bf16 and 0x3E00 in f16, -1 is 0xBF80.

// CHECK: memref.global "private" constant @table : memref<2xi16> = dense<[16320, -16512]>
memref.global "private" constant @table : memref<2xbf16> = dense<[1.5, -1.0]>

// CHECK-LABEL: func.func @constants() -> (i16, vector<4xi16>, memref<2xi16>)
// CHECK-DAG: arith.constant 15872 : i16
// CHECK-DAG: arith.constant dense<16320> : vector<4xi16>
// CHECK-DAG: memref.get_global @table : memref<2xi16>
func.func @constants() -> (f16, vector<4xbf16>, memref<2xbf16>) {
  %0 = arith.constant 1.5 : f16
  %1 = arith.constant dense<1.5> : vector<4xbf16>
  %2 = memref.get_global @table : memref<2xbf16>
  return %0, %1, %2 : f16, vector<4xbf16>, memref<2xbf16>
}

// A loop may carry a value, and a buffer may have a layout.

// CHECK-LABEL: func.func @moves(
// CHECK-SAME: memref<8xi16, strided<[2]>>, %{{.*}}: i16
// CHECK: scf.for {{.*}} -> (i16)
// CHECK: memref.load %{{.*}} : memref<8xi16, strided<[2]>>
// CHECK: arith.select %{{.*}} : i16
// CHECK: vector.broadcast %{{.*}} : i16 to vector<4xi16>
// CHECK: vector.maskedstore {{.*}}, vector<4xi16>
// CHECK-NOT: bf16
func.func @moves(%x: memref<8xbf16, strided<[2]>>, %init: bf16, %flag: i1, %y: memref<8xbf16>, %mask: vector<4xi1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %last = scf.for %i = %c0 to %c8 step %c1 iter_args(%carried = %init) -> (bf16) {
    %loaded = memref.load %x[%i] : memref<8xbf16, strided<[2]>>
    %next = arith.select %flag, %loaded, %carried : bf16
    scf.yield %next : bf16
  }
  %all = vector.broadcast %last : bf16 to vector<4xbf16>
  vector.maskedstore %y[%c0], %mask, %all : memref<8xbf16>, vector<4xi1>, vector<4xbf16>
  return
}

// Conversions that the CPU has see a float.

// CHECK-LABEL: func.func @conversions(
// CHECK-SAME: %[[X:.*]]: vector<8xi16>) -> vector<8xi16>
// CHECK-NEXT: %[[HALF:.*]] = arith.bitcast %[[X]] : vector<8xi16> to vector<8xf16>
// CHECK-NEXT: %[[SINGLE:.*]] = arith.extf %[[HALF]] : vector<8xf16> to vector<8xf32>
// CHECK-NEXT: %[[NARROW:.*]] = arith.truncf %[[SINGLE]] : vector<8xf32> to vector<8xbf16>
// CHECK-NEXT: %[[BITS:.*]] = arith.bitcast %[[NARROW]] : vector<8xbf16> to vector<8xi16>
// CHECK-NEXT: return %[[BITS]]
func.func @conversions(%x: vector<8xf16>) -> vector<8xbf16> {
  %0 = arith.extf %x : vector<8xf16> to vector<8xf32>
  %1 = arith.truncf %0 : vector<8xf32> to vector<8xbf16>
  return %1 : vector<8xbf16>
}

// Wider floats are what they were.

// CHECK-LABEL: func.func @others(
// CHECK-SAME: f32, %{{.*}}: vector<2xf64>
// CHECK: arith.constant 1.500000e+00 : f32
func.func @others(%x: f32, %y: vector<2xf64>) -> f32 {
  %0 = arith.constant 1.5 : f32
  return %0 : f32
}
