// RUN: epl-opt %s --epl-normalize-contractions --cse | FileCheck %s
// RUN: sed 's/tensor<4x2xf32> \/\/ of rows/tensor<2x4xf32>/; s/affine_map<(t, h) -> (h, t)>/affine_map<(t, h) -> (t, h)>/' %s | epl-opt --epl-normalize-contractions --cse | FileCheck %s --check-prefix=NONE
// RUN: sed 's/%%1 = arith.maximumf %%o, %%a/%%j = linalg.index 0 : index\n%%n = arith.index_cast %%j : index to i32\n%%f = arith.sitofp %%n : i32 to f32\n%%1 = arith.maximumf %%o, %%f/' %s | epl-opt --epl-normalize-contractions --cse | FileCheck %s --check-prefix=NONE

// Scores of which maxima of rows are made, and both are transposed, as JAX has them for grouped heads without a mask: all
// have the order behind that. Not where the maxima are not transposed, or depend on their place.

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!q = !epl.dist<tensor<2x4x8xf32>, <@mesh, [{}, {}, {}]>>
!k = !epl.dist<tensor<2x5x8xf32>, <@mesh, [{}, {}, {}]>>
!s = !epl.dist<tensor<4x2x5xf32>, <@mesh, [{}, {}, {}]>>
!m = tensor<4x2xf32> // of rows
!r = !epl.dist<!m, <@mesh, [{}, {}]>>
#id3 = affine_map<(h, t, s) -> (h, t, s)>
#rows = affine_map<(h, t, s) -> (h, t)>

// CHECK-LABEL: func.func @main
// CHECK: %[[MADE:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<2x4x8xf32>, tensor<2x5x8xf32>) outs(%{{.*}} : tensor<4x2x5xf32>)
// CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[MADE]] : tensor<4x2x5xf32>) outs(%{{.*}} : tensor<4x2x5xf32>)
// CHECK: %[[MOST:.*]] = linalg.generic {{.*}} ins(%[[SCALED]] : tensor<4x2x5xf32>) outs(%{{.*}} : tensor<4x2xf32>)
// CHECK: epl.yield %[[SCALED]], %[[MOST]]
// NONE-LABEL: func.func @main
// NONE: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x4x8xf32>, tensor<2x5x8xf32>) outs(%{{.*}} : tensor<2x4x5xf32>)
func.func @main(%arg0: !q, %arg1: !k) -> (!s, !r) {
  %r:2 = epl.task <@tg0, forward> (%arg0, %arg1) : (!q, !k) -> (!s, !r) {
  ^bb0(%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>):
    %scale = arith.constant 2.0 : f32
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0xFF800000 : f32
    %e = tensor.empty() : tensor<2x4x5xf32>
    %row = tensor.empty() : tensor<2x4xf32>
    %fill = linalg.generic {indexing_maps = [affine_map<(h, t, s) -> ()>, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%zero : f32) outs(%e : tensor<2x4x5xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<2x4x5xf32>
    %low = linalg.generic {indexing_maps = [affine_map<(h, t) -> ()>, affine_map<(h, t) -> (h, t)>], iterator_types = ["parallel", "parallel"]} ins(%least : f32) outs(%row : tensor<2x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<2x4xf32>
    %made = linalg.generic {indexing_maps = [affine_map<(h, t, s, d) -> (h, t, d)>, affine_map<(h, t, s, d) -> (h, s, d)>, affine_map<(h, t, s, d) -> (h, t, s)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x4x8xf32>, tensor<2x5x8xf32>) outs(%fill : tensor<2x4x5xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %1 = arith.mulf %a, %b : f32
      %2 = arith.addf %o, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<2x4x5xf32>
    %scaled = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%made : tensor<2x4x5xf32>) outs(%e : tensor<2x4x5xf32>) {
    ^bb0(%a: f32, %o: f32):
      %1 = arith.mulf %a, %scale : f32
      linalg.yield %1 : f32
    } -> tensor<2x4x5xf32>
    %most = linalg.generic {indexing_maps = [#id3, #rows], iterator_types = ["parallel", "parallel", "reduction"]} ins(%scaled : tensor<2x4x5xf32>) outs(%low : tensor<2x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %1 = arith.maximumf %o, %a : f32
      linalg.yield %1 : f32
    } -> tensor<2x4xf32>
    %e2 = tensor.empty() : tensor<4x2x5xf32>
    %turned = linalg.generic {indexing_maps = [affine_map<(t, h, s) -> (h, t, s)>, affine_map<(t, h, s) -> (t, h, s)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%scaled : tensor<2x4x5xf32>) outs(%e2 : tensor<4x2x5xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4x2x5xf32>
    %e3 = tensor.empty() : !m
    %rows = linalg.generic {indexing_maps = [affine_map<(t, h) -> (h, t)>, affine_map<(t, h) -> (t, h)>], iterator_types = ["parallel", "parallel"]} ins(%most : tensor<2x4xf32>) outs(%e3 : !m) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> !m
    epl.yield %turned, %rows : tensor<4x2x5xf32>, !m
  }
  return %r#0, %r#1 : !s, !r
}
