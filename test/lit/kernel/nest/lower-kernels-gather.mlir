// RUN: epl-opt %s --epl-lower-kernels=cpu=x86-64-v3 | FileCheck %s

#i = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>

// Rows of a table move as vectors; what reads them is in the same loop.
// CHECK-LABEL: func.func private @rows.body
// CHECK-SAME: %[[TABLE:.*]]: memref<384xf32> {{.*}}, %[[AT:.*]]: memref<8xi32> {{.*}}, %[[Y:.*]]: memref<192xf32>
// CHECK: memref.load %[[AT]]
// CHECK-NOT: vector.gather
// CHECK: %[[ROW:.*]] = vector.load %[[TABLE]]
// CHECK: arith.mulf %[[ROW]], %{{.*}}
// CHECK: vector.store
epl.kernel @rows fusion {
^bb0(%table: tensor<16x24xf32>, %at: tensor<8xi32>):
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<8x24xf32>
  %0 = linalg.generic {indexing_maps = [#i, #all], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<8xi32>) outs(%e : tensor<8x24xf32>) {
  ^bb0(%position: i32, %o: f32):
    %row = arith.index_cast %position : i32 to index
    %column = linalg.index 1 : index
    %x = tensor.extract %table[%row, %column] : tensor<16x24xf32>
    linalg.yield %x : f32
  } -> tensor<8x24xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x24xf32>) outs(%e : tensor<8x24xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %x, %two : f32
    linalg.yield %y : f32
  } -> tensor<8x24xf32>
  epl.yield %1 : tensor<8x24xf32>
}

// A sum along them: the elements of a row are the innermost loop, whatever else its position is read from.
// CHECK-LABEL: func.func private @sums.body
// CHECK-NOT: vector.gather
// CHECK: vector.load
// CHECK: vector.reduction <add>
epl.kernel @sums fusion {
^bb0(%table: tensor<16x24xf32>, %at: tensor<8xi32>):
  %e = tensor.empty() : tensor<8x24xf32>
  %0 = linalg.generic {indexing_maps = [#i, #all], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<8xi32>) outs(%e : tensor<8x24xf32>) {
  ^bb0(%position: i32, %o: f32):
    %row = arith.index_cast %position : i32 to index
    %column = linalg.index 1 : index
    %x = tensor.extract %table[%row, %column] : tensor<16x24xf32>
    linalg.yield %x : f32
  } -> tensor<8x24xf32>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #i], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<8x24xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%x: f32, %sum: f32):
    %y = arith.addf %sum, %x : f32
    linalg.yield %y : f32
  } -> tensor<8xf32>
  epl.yield %1 : tensor<8xf32>
}

// Rows from a computed column on; i1 is a byte.
// CHECK-LABEL: func.func private @slice.body
// CHECK-NOT: vector.gather
// CHECK: %[[START:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[BYTES:.*]] = vector.load
// CHECK: arith.cmpi ne, %[[BYTES]]
epl.kernel @slice fusion {
^bb0(%x: tensor<16x24xi1>, %at: tensor<i64>):
  %e = tensor.empty() : tensor<8x16xi1>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, #all], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<i64>) outs(%e : tensor<8x16xi1>) {
  ^bb0(%position: i64, %o: i1):
    %start = arith.index_cast %position : i64 to index
    %row = linalg.index 0 : index
    %lane = linalg.index 1 : index
    %column = arith.addi %start, %lane : index
    %p = tensor.extract %x[%row, %column] : tensor<16x24xi1>
    linalg.yield %p : i1
  } -> tensor<8x16xi1>
  epl.yield %0 : tensor<8x16xi1>
}

// Elements at positions of their own; the table is a constant of the kernel.
// CHECK-LABEL: memref.global "private" constant @elements.constant0
// CHECK-LABEL: func.func private @elements.body
// CHECK: vector.gather
epl.kernel @elements fusion {
^bb0(%at: tensor<64xi32>):
  %table = arith.constant dense<[1.0, 2.0, 5.0]> : tensor<3xf32>
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%at : tensor<64xi32>) outs(%e : tensor<64xf32>) {
  ^bb0(%position: i32, %o: f32):
    %i = arith.index_cast %position : i32 to index
    %x = tensor.extract %table[%i] : tensor<3xf32>
    linalg.yield %x : f32
  } -> tensor<64xf32>
  epl.yield %0 : tensor<64xf32>
}
