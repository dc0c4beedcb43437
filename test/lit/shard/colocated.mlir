// RUN: epl-compile %s --devices=cpu:4 --colocate --emit=local --explain-split 2>&1 | FileCheck %s
// RUN: epl-opt %s --epl-annotate="devices=4 colocate" --epl-shard=explain-split=true 2>&1 | FileCheck %s

// A body under data parallelism and a head that is split, on the same four devices: each computes the features of a
// quarter of the batch; a pair gathers those of its half, and each of it computes the sum for half of the classes.
// Only the head's parameters are split. The gradient of the features goes back in parts.

// CHECK-NOT: | body
// CHECK: remark: axis "model" of size {{[0-9]}}: how it splits parameters
// CHECK: | head {{ *}}| tensor<8x16xf32> | dimension 1
// CHECK: epl.mesh @mesh axes ["data"=2, "model"=2]
// CHECK: func.func @main(%{{.*}}: !epl.dist<tensor<6x8xf32>, <@mesh, [{}, {}]>>
// CHECK-SAME: %{{.*}}: !epl.dist<tensor<8x16xf32>, <@mesh, [{}, {"model"}]>>
// CHECK-SAME: %{{.*}}: !epl.dist<tensor<8x6xf32>, <@mesh, [{"data", "model"}, {}]>>
// CHECK-SAME: %{{.*}}: !epl.dist<tensor<8x16xf32>, <@mesh, [{"data"}, {}]>>
// CHECK: epl.task {{.*}}@tg0, forward
// CHECK: epl.all_gather {{.*}}<@mesh, [{"data", "model"}, {}]>> -> {{.*}}<@mesh, [{"data"}, {}]>>
// CHECK: epl.task {{.*}}@tg1, forward
// CHECK: epl.reduce_scatter
// CHECK: epl.task {{.*}}@tg0, backward
// CHECK-NOT: epl.all_
#ab = affine_map<(m, n, k) -> (m, k)>
#bc = affine_map<(m, n, k) -> (k, n)>
#cb = affine_map<(m, n, k) -> (n, k)>
#ac = affine_map<(m, n, k) -> (m, n)>
#loops = {indexing_maps = [#ab, #bc, #ac], iterator_types = ["parallel", "parallel", "reduction"]}
#back = {indexing_maps = [#ab, #cb, #ac], iterator_types = ["parallel", "parallel", "reduction"]}
func.func @main(%body: tensor<6x8xf32> {epl.role = "state", epl.name = "body"},
                %head: tensor<8x16xf32> {epl.role = "state", epl.name = "head"},
                %x: tensor<8x6xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"},
                %y: tensor<8x16xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "y"})
    -> (tensor<6x8xf32> {epl.updates = 0 : i64}, tensor<8x16xf32> {epl.updates = 1 : i64}, tensor<8x8xf32>)
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "body">, s1 = #epl.scope<split, 2, "head">}} {
  %z0 = arith.constant dense<0.0> : tensor<8x8xf32>
  %z1 = arith.constant dense<0.0> : tensor<8x16xf32>
  %h = linalg.generic #loops ins(%x, %body : tensor<8x6xf32>, tensor<6x8xf32>) outs(%z0 : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32> loc("jvp(epl.s0)/dot")
  %o = linalg.generic #loops ins(%h, %head : tensor<8x8xf32>, tensor<8x16xf32>) outs(%z1 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32> loc("jvp(epl.s1)/dot")
  %d = arith.subf %o, %y : tensor<8x16xf32> loc("transpose(jvp(epl.s1))/sub")
  %g = linalg.generic #back ins(%d, %head : tensor<8x16xf32>, tensor<8x16xf32>) outs(%z0 : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32> loc("transpose(jvp(epl.s1))/dot")
  %t = math.tanh %g : tensor<8x8xf32> loc("transpose(jvp(epl.s0))/tanh")
  return %body, %head, %t : tensor<6x8xf32>, tensor<8x16xf32>, tensor<8x8xf32>
}
