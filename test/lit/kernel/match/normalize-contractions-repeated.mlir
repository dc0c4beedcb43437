// RUN: epl-opt %s --epl-normalize-contractions --cse | FileCheck %s
// RUN: sed 's/-> (b, s, k, d)> \/\/ of the source/-> (b, s, g, d)>/; s/tensor<2x5x2x8x/tensor<2x5x3x8x/' %s | epl-opt --epl-normalize-contractions --cse | FileCheck %s --check-prefix=TILE
// RUN: sed 's/(b, h, t, s, d) -> (b, s, h, d)/(b, h, t, s, d) -> (b, s, t, d)/; s/tensor<2x4x6x8x/tensor<2x6x4x8x/; s/(b, h, t, s, d) -> (b, t, h, d)/(b, h, t, s, d) -> (b, t, h, d)/; s/tensor<2x6x4x5x/tensor<2x4x6x5x/' %s | epl-opt --epl-normalize-contractions --cse | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/^#read = .*/#read = affine_map<(b, s, k, g, d) -> (b, s, k, g, d)>/; s/tensor<2x5x2x8x/tensor<2x5x2x3x8x/; s/\[{}, {}, {}, {}\]>> \/\/ k/[{}, {}, {}, {}, {}]>>/' %s | epl-opt --epl-normalize-contractions --cse | FileCheck %s --check-prefix=WHOLE

// Each of two heads of k is repeated three times for the six of q: the product steps through both dimensions, and reads
// k itself. So it does where heads are repeated one behind the other, and along any dimension. Where nothing is repeated
// it stays.

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!q = !epl.dist<tensor<2x4x6x8xf32>, <@mesh, [{}, {}, {}, {}]>>
!k = !epl.dist<tensor<2x5x2x8xf32>, <@mesh, [{}, {}, {}, {}]>> // k
!p = !epl.dist<tensor<2x6x4x5xf32>, <@mesh, [{}, {}, {}, {}]>>
#read = affine_map<(b, s, k, g, d) -> (b, s, k, d)> // of the source

// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d2, d5)>
// CHECK-DAG: #[[K:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
// CHECK-DAG: #[[P:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
// CHECK-LABEL: func.func @scores
// CHECK: ^bb0(%[[QS:.*]]: tensor<2x4x6x8xf32>, %[[KS:.*]]: tensor<2x5x2x8xf32>):
// CHECK: %[[HEADS:.*]] = tensor.expand_shape %[[QS]] {{.*}} into tensor<2x4x2x3x8xf32>
// CHECK: %[[MADE:.*]] = linalg.generic {indexing_maps = [#[[Q]], #[[K]], #[[P]]]{{.*}} ins(%[[HEADS]], %[[KS]] : {{.*}}) outs(%{{.*}} : tensor<2x2x3x4x5xf32>)
// CHECK: %[[MERGED:.*]] = tensor.collapse_shape %[[MADE]] {{.*}} into tensor<2x6x4x5xf32>
// CHECK: epl.yield %[[MERGED]]
// TILE-DAG: #[[K:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d2, d5)>
// TILE: ^bb0(%{{.*}}, %[[KS:.*]]: tensor<2x5x3x8xf32>):
// TILE: linalg.generic {indexing_maps = [#{{.*}}, #[[K]], #{{.*}}]{{.*}} ins(%{{.*}}, %[[KS]] :
// OTHER: ^bb0(%{{.*}}, %[[KS:.*]]: tensor<2x5x2x8xf32>):
// OTHER: linalg.generic {{.*}} ins(%{{.*}}, %[[KS]] : tensor<2x2x3x4x8xf32>, tensor<2x5x2x8xf32>) outs(%{{.*}} : tensor<2x4x2x3x5xf32>)
// WHOLE: ins(%{{.*}} : tensor<2x4x6x8xf32>, tensor<2x5x6x8xf32>) outs(%{{.*}} : tensor<2x6x4x5xf32>)
func.func @scores(%arg0: !q, %arg1: !k) -> !p {
  %r = epl.task <@tg0, forward> (%arg0, %arg1) : (!q, !k) -> !p {
  ^bb0(%q: tensor<2x4x6x8xf32>, %k: tensor<2x5x2x8xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x6x4x5xf32>
    %fill = linalg.generic {indexing_maps = [affine_map<(b, h, t, s) -> ()>, affine_map<(b, h, t, s) -> (b, h, t, s)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%zero : f32) outs(%e : tensor<2x6x4x5xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<2x6x4x5xf32>
    %many = tensor.empty() : tensor<2x5x2x3x8xf32>
    %repeated = linalg.generic {indexing_maps = [#read, affine_map<(b, s, k, g, d) -> (b, s, k, g, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%k : tensor<2x5x2x8xf32>) outs(%many : tensor<2x5x2x3x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<2x5x2x3x8xf32>
    %merged = tensor.collapse_shape %repeated [[0], [1], [2, 3], [4]] : tensor<2x5x2x3x8xf32> into tensor<2x5x6x8xf32>
    %made = linalg.generic {indexing_maps = [affine_map<(b, h, t, s, d) -> (b, t, h, d)>, affine_map<(b, h, t, s, d) -> (b, s, h, d)>, affine_map<(b, h, t, s, d) -> (b, h, t, s)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %merged : tensor<2x4x6x8xf32>, tensor<2x5x6x8xf32>) outs(%fill : tensor<2x6x4x5xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %1 = arith.mulf %a, %b : f32
      %2 = arith.addf %o, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<2x6x4x5xf32>
    epl.yield %made : tensor<2x6x4x5xf32>
  }
  return %r : !p
}
