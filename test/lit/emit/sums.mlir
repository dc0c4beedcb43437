// RUN: epl-compile %s --devices=cpu:1 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s
// RUN: epl-compile %s --reference -o %t.ref.eplan
// RUN: epl-run %t.eplan --inputs=random:7 --steps=2 --reference=%t.ref.eplan | FileCheck %s --check-prefix=EQUAL

// A product that a loop adds up: the first iteration makes it where zeros would have been, the others add to it in its
// place. What another value starts from is copied to where the sum begins.

// CHECK-NOT: kernel
// CHECK: lane 0 compute
// CHECK-NEXT: contract f32 {{.*}} -> [[G:b[0-9]+]] {{.*}}
// CHECK-NEXT: "copy" copy b1 -> [[H:b[0-9]+]], 128 bytes
// CHECK-NEXT: contract f32 {{.*}} +> [[H]]
// CHECK-NEXT: contract f32 {{.*}} +> [[G]]
// CHECK-NEXT: contract f32 {{.*}} +> [[H]]
// CHECK-NEXT: contract f32 {{.*}} +> [[G]]
// CHECK-NEXT: contract f32 {{.*}} +> [[H]]

// EQUAL-COUNT-2: {{equal|difference}}
// EQUAL-NOT: beyond

#km = affine_map<(i, j, k) -> (k, i)>
#kn = affine_map<(i, j, k) -> (k, j)>
#mn = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<3x16x4xf32> {epl.role = "state"}, %w: tensor<4x8xf32> {epl.role = "state"}, %y: tensor<3x16x8xf32> {epl.role = "state"})
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %a = epl.loop_slice <0, trip_count = 3> %x : tensor<3x16x4xf32> -> tensor<16x4xf32>
  %b = epl.loop_slice <0, trip_count = 3> %y : tensor<3x16x8xf32> -> tensor<16x8xf32>
  %c = epl.loop_slice <0, trip_count = 3> reverse %y : tensor<3x16x8xf32> -> tensor<16x8xf32>
  %g = epl.loop_carry <0, trip_count = 3> 0 %zero : tensor<4x8xf32> -> tensor<4x8xf32>
  %h = epl.loop_carry <0, trip_count = 3> 1 %w : tensor<4x8xf32> -> tensor<4x8xf32>
  %p = linalg.generic {indexing_maps = [#km, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<16x4xf32>, tensor<16x8xf32>) outs(%zero : tensor<4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %gn = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %p : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %q = linalg.generic {indexing_maps = [#km, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %c : tensor<16x4xf32>, tensor<16x8xf32>) outs(%zero : tensor<4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %hn = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h, %q : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %gl = epl.loop_last <0, trip_count = 3> 0 %gn : tensor<4x8xf32>
  %hl = epl.loop_last <0, trip_count = 3> 1 %hn : tensor<4x8xf32>
  return %gl, %hl : tensor<4x8xf32>, tensor<4x8xf32>
}
