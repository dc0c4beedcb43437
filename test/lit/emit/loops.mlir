// RUN: epl-compile %s --devices=cpu:2 --emit=local | FileCheck %s --check-prefix=LOCAL
// RUN: epl-compile %s --devices=cpu:2 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s --check-prefix=PLAN
// RUN: epl-compile %s --reference -o %t.ref.eplan
// RUN: epl-run %t.eplan --inputs=random:7 --reference=%t.ref.eplan | FileCheck %s --check-prefix=EQUAL

// Three layers of a loop, and a loop over them backwards that reads what the first one made, the last first.

// What stands between tasks enters and leaves the loops; the gradient of all layers is summed once.
// LOCAL: epl.loop_carry <0, trip_count = 3> 0 %arg1 : !epl.dist<tensor<16x8xf32>, <@mesh, [{"data"}, {}]>> -> !epl.dist
// LOCAL-NEXT: epl.loop_slice <0, trip_count = 3> %arg0
// LOCAL-NEXT: %[[N:.*]] = epl.task
// LOCAL: epl.loop_last <0, trip_count = 3> 0 %[[N]]
// LOCAL-NEXT: %[[S:.*]] = epl.loop_stack <0, trip_count = 3> %[[N]]
// LOCAL: epl.loop_slice <1, trip_count = 3> reverse %[[S]]
// LOCAL-NEXT: %[[T:.*]]:2 = epl.task
// LOCAL: %[[G:.*]] = epl.loop_stack <1, trip_count = 3> reverse %[[T]]#0 : {{.*}}, partial = sum{"data"}>> -> {{.*}}, partial = sum{"data"}>>
// LOCAL-NEXT: epl.all_reduce %[[G]]

// Every iteration has its commands. Slices of the parameter are views of it. The stack that only slices read is in no
// buffer; an iteration writes its part of the other one.
// PLAN: buffer [[W0:b[0-9]+]] "slice" 256 bytes at 0 of b0
// PLAN: buffer [[W1:b[0-9]+]] "slice" 256 bytes at 256 of b0
// PLAN: buffer [[W2:b[0-9]+]] "slice" 256 bytes at 512 of b0
// PLAN: buffer [[R2:b[0-9]+]] "slice" 256 bytes at 512 of b0
// PLAN: buffer [[STACK:b[0-9]+]] "stack" 768 bytes
// PLAN-NOT: "stack" 768 bytes
// PLAN: lane 0 compute
// PLAN-NEXT: "k0_matmul" contract f32 b1 x [[W0]] -> [[N0:b[0-9]+]] {{.*}}reads 0:s1, 1:s0 
// PLAN-NEXT: "k0_matmul" contract f32 [[N0]] x [[W1]] -> [[N1:b[0-9]+]] {{.*}}reads 0:#0, 1:s0 at 256 
// PLAN-NEXT: "k0_matmul" contract f32 [[N1]] x [[W2]] -> [[N2:b[0-9]+]]
// PLAN-NEXT: "k1_matmul" contract f32 [[N2]]^T x [[N2]] -> [[G2:b[0-9]+]]
// PLAN-NEXT: "k0_matmul" contract f32 [[N2]] x [[R2]] -> [[D2:b[0-9]+]]
// PLAN-NEXT: "stack" copy [[G2]] -> [[STACK]] at 512, 256 bytes
// PLAN-NEXT: "k1_matmul" contract f32 [[N1]]^T x [[D2]] ->
// PLAN-NOT: "stack"
// PLAN: "stack" copy {{b[0-9]+}} -> [[STACK]] at 256, 256 bytes
// PLAN: "k1_matmul" contract f32 [[N0]]^T x
// PLAN: "stack" copy {{b[0-9]+}} -> [[STACK]], 256 bytes
// PLAN: lane 1 communicate
// PLAN-NEXT: "all_reduce" reduce_part sum c0 [[STACK]]

// Whole numbers below 2^24 in the first step, so any order of the sums gives the same bits.
// EQUAL-COUNT-2: equal

#rows = affine_map<(i, j, k) -> (k, i)>
#cols = affine_map<(i, j, k) -> (k, j)>
#out = affine_map<(i, j, k) -> (i, j)>
func.func @main(%w: tensor<3x8x8xf32> {epl.role = "state"}, %x: tensor<16x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<3x8x8xf32> {epl.updates = 0 : i64}, tensor<16x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  %h = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<16x8xf32> -> tensor<16x8xf32>
  %p = epl.loop_slice <0, trip_count = 3> %w : tensor<3x8x8xf32> -> tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %n = linalg.matmul ins(%h, %p : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
  %y = epl.loop_last <0, trip_count = 3> 0 %n : tensor<16x8xf32>
  %s = epl.loop_stack <0, trip_count = 3> %n : tensor<16x8xf32> -> tensor<3x16x8xf32>
  %fw = tensor.empty() : tensor<8x8xf32>
  %d = epl.loop_carry <1, trip_count = 3> 0 %y : tensor<16x8xf32> -> tensor<16x8xf32>
  %pr = epl.loop_slice <1, trip_count = 3> reverse %w : tensor<3x8x8xf32> -> tensor<8x8xf32>
  %sr = epl.loop_slice <1, trip_count = 3> reverse %s : tensor<3x16x8xf32> -> tensor<16x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%fw : tensor<8x8xf32>) -> tensor<8x8xf32>
  %g = linalg.generic {indexing_maps = [#rows, #cols, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%sr, %d : tensor<16x8xf32>, tensor<16x8xf32>) outs(%z : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %q = arith.addf %c, %m : f32
    linalg.yield %q : f32
  } -> tensor<8x8xf32>
  %dn = linalg.matmul ins(%d, %pr : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
  %dl = epl.loop_last <1, trip_count = 3> 0 %dn : tensor<16x8xf32>
  %gs = epl.loop_stack <1, trip_count = 3> reverse %g : tensor<8x8xf32> -> tensor<3x8x8xf32>
  return %gs, %y : tensor<3x8x8xf32>, tensor<16x8xf32>
}
