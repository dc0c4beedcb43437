// RUN: epl-opt %s --epl-normalize-contractions --cse | FileCheck %s
// RUN: sed 's/(d0, d1, d2) -> (d1, d0, d2)/(d0, d1, d2) -> (d0, d2, d1)/; s/tensor<4x2x5x/tensor<2x5x4x/g' %s | epl-opt --epl-normalize-contractions --cse | FileCheck %s --check-prefix=ROWS
// RUN: sed 's/%%1 = arith.mulf %%a, %%scale/%%i = linalg.index 0 : index\n%%n = arith.index_cast %%i : index to i32\n%%f = arith.sitofp %%n : i32 to f32\n%%1 = arith.mulf %%a, %%f/' %s | epl-opt --epl-normalize-contractions --cse | FileCheck %s --check-prefix=INDEX
// RUN: sed 's/epl.yield %%turned/%%more = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%%made : tensor<2x4x5xf32>) outs(%%e : tensor<2x4x5xf32>) {\n^bb0(%%a: f32, %%o: f32):\n%%n = math.exp %%a : f32\nlinalg.yield %%n : f32\n} -> tensor<2x4x5xf32>\nepl.yield %%turned/' %s | epl-opt --epl-normalize-contractions | FileCheck %s --check-prefix=READ

// What makes each element of one, a scale and a rounding here, lets transposes through that keep rows: scores are
// written in the order that the softmax has them, and read in the order that its gradient has. Not where rows
// change, where an element depends on its place, or where something else reads what lies between.

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!q = !epl.dist<tensor<2x4x8xf32>, <@mesh, [{}, {}, {}]>>
!k = !epl.dist<tensor<2x5x8xf32>, <@mesh, [{}, {}, {}]>>
!turned = !epl.dist<tensor<4x2x5xbf16>, <@mesh, [{}, {}, {}]>>
!wide = !epl.dist<tensor<4x2x5xf32>, <@mesh, [{}, {}, {}]>>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#turn = affine_map<(d0, d1, d2) -> (d1, d0, d2)>

// CHECK: #[[THS:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>
// CHECK-LABEL: func.func @result
// CHECK: %[[MADE:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #{{.*}}, #[[THS]]]{{.*}} outs(%{{.*}} : tensor<4x2x5xf32>)
// CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[MADE]] : tensor<4x2x5xf32>) outs(%{{.*}} : tensor<4x2x5xf32>)
// CHECK: %[[ROUND:.*]] = linalg.generic {{.*}} ins(%[[SCALED]] : tensor<4x2x5xf32>) outs(%{{.*}} : tensor<4x2x5xbf16>)
// CHECK: epl.yield %[[ROUND]]
// ROWS-LABEL: func.func @result
// ROWS: ins(%{{.*}} : tensor<2x4x5xbf16>) outs(%{{.*}} : tensor<2x5x4xbf16>)
// ROWS-LABEL: func.func @operand
// ROWS: %[[TURNED:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<2x5x4xf32>) outs(%{{.*}} : tensor<2x4x5xf32>)
// ROWS: ins(%[[TURNED]] : tensor<2x4x5xf32>) outs(%{{.*}} : tensor<2x4x5xf32>)
// INDEX-LABEL: func.func @result
// INDEX: linalg.index
// INDEX: ins(%{{.*}} : tensor<2x4x5xbf16>) outs(%{{.*}} : tensor<4x2x5xbf16>)
// READ-LABEL: func.func @result
// READ: ins(%{{.*}} : tensor<2x4x5xbf16>) outs(%{{.*}} : tensor<4x2x5xbf16>)
func.func @result(%arg0: !q, %arg1: !k) -> !turned {
  %r = epl.task <@tg0, forward> (%arg0, %arg1) : (!q, !k) -> !turned {
  ^bb0(%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>):
    %scale = arith.constant 2.0 : f32
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x4x5xf32>
    %narrow = tensor.empty() : tensor<2x4x5xbf16>
    %last = tensor.empty() : tensor<4x2x5xbf16>
    %fill = linalg.generic {indexing_maps = [affine_map<(h, t, s) -> ()>, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%zero : f32) outs(%e : tensor<2x4x5xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<2x4x5xf32>
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
    %round = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%scaled : tensor<2x4x5xf32>) outs(%narrow : tensor<2x4x5xbf16>) {
    ^bb0(%a: f32, %o: bf16):
      %1 = arith.truncf %a : f32 to bf16
      linalg.yield %1 : bf16
    } -> tensor<2x4x5xbf16>
    %turned = linalg.generic {indexing_maps = [#turn, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%round : tensor<2x4x5xbf16>) outs(%last : tensor<4x2x5xbf16>) {
    ^bb0(%a: bf16, %o: bf16):
      linalg.yield %a : bf16
    } -> tensor<4x2x5xbf16>
    epl.yield %turned : tensor<4x2x5xbf16>
  }
  return %r : !turned
}

// CHECK-LABEL: func.func @operand
// CHECK: ^bb0(%[[X:.*]]: tensor<4x2x5xf32>, %[[K:.*]]: tensor<2x5x8xf32>):
// CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x2x5xf32>) outs(%{{.*}} : tensor<4x2x5xf32>)
// CHECK: %[[ONE:.*]] = linalg.generic {{.*}} ins(%[[SCALED]], %[[K]] : tensor<4x2x5xf32>, tensor<2x5x8xf32>)
// CHECK: %[[OTHER:.*]] = linalg.generic {{.*}} ins(%[[SCALED]], %[[ONE]] : tensor<4x2x5xf32>, tensor<2x4x8xf32>)
// CHECK: epl.yield %[[OTHER]]
func.func @operand(%arg0: !wide, %arg1: !k) -> !k {
  %r = epl.task <@tg0, backward> (%arg0, %arg1) : (!wide, !k) -> !k {
  ^bb0(%x: tensor<4x2x5xf32>, %k: tensor<2x5x8xf32>):
    %scale = arith.constant 2.0 : f32
    %zero_q = arith.constant dense<0.0> : tensor<2x4x8xf32>
    %zero_k = arith.constant dense<0.0> : tensor<2x5x8xf32>
    %e = tensor.empty() : tensor<2x4x5xf32>
    %turned = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x2x5xf32>) outs(%e : tensor<2x4x5xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<2x4x5xf32>
    %scaled = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%turned : tensor<2x4x5xf32>) outs(%e : tensor<2x4x5xf32>) {
    ^bb0(%a: f32, %o: f32):
      %1 = arith.mulf %a, %scale : f32
      linalg.yield %1 : f32
    } -> tensor<2x4x5xf32>
    %one = linalg.generic {indexing_maps = [affine_map<(h, t, s, d) -> (h, t, s)>, affine_map<(h, t, s, d) -> (h, s, d)>, affine_map<(h, t, s, d) -> (h, t, d)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"]} ins(%scaled, %k : tensor<2x4x5xf32>, tensor<2x5x8xf32>) outs(%zero_q : tensor<2x4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %1 = arith.mulf %a, %b : f32
      %2 = arith.addf %o, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<2x4x8xf32>
    %other = linalg.generic {indexing_maps = [affine_map<(h, t, s, d) -> (h, t, s)>, affine_map<(h, t, s, d) -> (h, t, d)>, affine_map<(h, t, s, d) -> (h, s, d)>], iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%scaled, %one : tensor<2x4x5xf32>, tensor<2x4x8xf32>) outs(%zero_k : tensor<2x5x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %1 = arith.mulf %a, %b : f32
      %2 = arith.addf %o, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<2x5x8xf32>
    epl.yield %other : tensor<2x5x8xf32>
  }
  return %r : !k
}
