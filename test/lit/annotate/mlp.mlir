// RUN: epl-opt %s --epl-annotate=devices=2 --mlir-print-local-scope | FileCheck %s

// A whole training step, as the Python front end prints it (jax 0.10.2):
//
//   def step(params, x, y):
//       def loss(p):
//           with epl.replicate(name="mlp"):
//               h = jax.nn.relu(x @ p["w1"])
//               logits = h @ p["w2"]
//               return -(jax.nn.log_softmax(logits) * jax.nn.one_hot(y, 3)).sum(-1).mean()
//       l, g = jax.value_and_grad(loss)(params)
//       return jax.tree.map(lambda p, d: p - 0.1 * d, params, g), l

// CHECK: epl.mesh @mesh axes ["data"=2]
// CHECK: epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh name("mlp")
// CHECK-NOT: epl.taskgraph
// CHECK: func.func public @main
// CHECK-NOT: epl.scopes

// The two products of the forward pass and the loss.
// CHECK: "reduction"]} ins(%arg2, %arg0 : tensor<8x4xf32>, tensor<4x5xf32>) {{.*}}<@tg0, forward>
// CHECK: "reduction"]} ins(%{{.*}}, %arg1 : tensor<8x5xf32>, tensor<5x3xf32>) {{.*}}<@tg0, forward>
// CHECK: ["reduction"]} {{.*}} outs(%{{.*}} : tensor<f32>) {{.*}}<@tg0, forward>
// CHECK-NOT: apply

// The gradient of w2, of h, and of w1; the samples are summed.
// CHECK: ins(%{{.*}}, %{{.*}} : tensor<8x3xf32>, tensor<8x5xf32>) outs(%{{.*}} : tensor<3x5xf32>) {{.*}}<@tg0, backward>
// CHECK: ins(%{{.*}}, %arg1 : tensor<8x3xf32>, tensor<5x3xf32>) {{.*}}<@tg0, backward>
// CHECK: ins(%{{.*}}, %arg2 : tensor<8x5xf32>, tensor<8x4xf32>) outs(%{{.*}} : tensor<5x4xf32>) {{.*}}<@tg0, backward>

// The update of the parameters.
// CHECK: ins(%arg0, %{{.*}} : tensor<4x5xf32>, tensor<4x5xf32>) {{.*}}<@tg0, apply>
// CHECK: arith.subf
// CHECK: ins(%arg1, %{{.*}} : tensor<5x3xf32>, tensor<5x3xf32>) {{.*}}<@tg0, apply>
// CHECK: arith.subf

#loc = loc(unknown)
#loc1 = loc("mlp.py":5:1)
#loc2 = loc("reduce_max")
#loc3 = loc("mlp.py":10:21 to :47)
#loc4 = loc("mlp.py":8:28 to :39)
#loc5 = loc("max")
#loc6 = loc("mlp.py":8:16 to :40)
#loc7 = loc("mlp.py":9:21 to :32)
#loc8 = loc("broadcast_in_dim")
#loc9 = loc("sub")
#loc10 = loc("exp")
#loc11 = loc("reduce_sum")
#loc12 = loc("log")
#loc13 = loc("mlp.py":10:50 to :70)
#loc14 = loc("iota")
#loc15 = loc("eq")
#loc16 = loc("convert_element_type")
#loc17 = loc("mlp.py":10:21 to :70)
#loc18 = loc("mlp.py":10:20 to :79)
#loc19 = loc("mlp.py":10:20 to :86)
#loc20 = loc("mlp.py":10:19 to :86)
#loc21 = loc("neg")
#loc22 = loc("reshape")
#loc23 = loc("div")
#loc24 = loc("mul")
#loc25 = loc("add_any")
#loc26 = loc("mlp.py":12:41 to :48)
#loc27 = loc("mlp.py":12:37 to :48)
#map = affine_map<(d0, d1) -> ()>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> (d0)>
#map3 = affine_map<(d0) -> ()>
#map4 = affine_map<(d0) -> (d0)>
#map5 = affine_map<(d0, d1) -> (d0, 0)>
#map6 = affine_map<(d0, d1) -> (0, d1)>
#map7 = affine_map<() -> ()>
#map8 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map9 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map10 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map11 = affine_map<(d0, d1) -> (d1, d0)>
#map12 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map13 = affine_map<(d0, d1, d2) -> (d1, d2)>
#loc29 = loc("params['w1']"(#loc1))
#loc30 = loc("params['w2']"(#loc1))
#loc31 = loc("x"(#loc1))
#loc32 = loc("y"(#loc1))
#loc33 = loc("step.<locals>.loss"(#loc3))
#loc34 = loc("step.<locals>.loss"(#loc4))
#loc35 = loc("step.<locals>.loss"(#loc6))
#loc36 = loc("step.<locals>.loss"(#loc7))
#loc37 = loc("reduce_max:"(#loc2))
#loc38 = loc("reduce_sum:"(#loc11))
#loc39 = loc("step.<locals>.loss"(#loc13))
#loc40 = loc("step.<locals>.loss"(#loc17))
#loc41 = loc("step.<locals>.loss"(#loc18))
#loc42 = loc("step.<locals>.loss"(#loc19))
#loc43 = loc("step.<locals>.loss"(#loc20))
#loc44 = loc("step.<locals>.<lambda>"(#loc26))
#loc45 = loc("step.<locals>.<lambda>"(#loc27))
#loc47 = loc("jit(step)/jvp(epl.s0)/jit(log_softmax)"(#loc33))
#loc48 = loc("jit(step)/jvp(epl.s0)/dot_general"(#loc34))
#loc49 = loc("jit(step)/jvp(epl.s0)/jit(relu)"(#loc35))
#loc50 = loc("jit(step)/jvp(epl.s0)/gt"(#loc35))
#loc51 = loc("jit(step)/jvp(epl.s0)/dot_general"(#loc36))
#loc52 = loc("jit(step)/jvp(epl.s0)/jit(_one_hot)"(#loc39))
#loc53 = loc("jit(step)/jvp(epl.s0)/mul"(#loc40))
#loc55 = loc("jit(step)/jvp(epl.s0)/reduce_sum"(#loc42))
#loc56 = loc("jit(step)/jvp(epl.s0)/div"(#loc42))
#loc57 = loc("jit(step)/jvp(epl.s0)/neg"(#loc43))
#loc58 = loc("jit(step)/transpose(jvp(epl.s0))/neg"(#loc43))
#loc59 = loc("jit(step)/transpose(jvp(epl.s0))/div"(#loc42))
#loc60 = loc("jit(step)/transpose(jvp(epl.s0))/broadcast_in_dim"(#loc42))
#loc61 = loc("jit(step)/transpose(jvp(epl.s0))/broadcast_in_dim"(#loc41))
#loc62 = loc("jit(step)/transpose(jvp(epl.s0))/mul"(#loc40))
#loc63 = loc("jit(step)/transpose(jvp(epl.s0))/jit(log_softmax)"(#loc33))
#loc64 = loc("jit(step)/transpose(jvp(epl.s0))/dot_general"(#loc36))
#loc65 = loc("jit(step)/transpose(jvp(epl.s0))/transpose"(#loc36))
#loc66 = loc("jit(step)/transpose(jvp(epl.s0))/broadcast_in_dim"(#loc35))
#loc67 = loc("jit(step)/transpose(jvp(epl.s0))/select_n"(#loc35))
#loc68 = loc("jit(step)/transpose(jvp(epl.s0))/dot_general"(#loc34))
#loc69 = loc("jit(step)/transpose(jvp(epl.s0))/transpose"(#loc34))
#loc70 = loc("jit(step)/mul"(#loc44))
#loc71 = loc("jit(step)/sub"(#loc45))
#loc73 = loc(callsite(#loc2 at #loc47))
#loc74 = loc(callsite(#loc5 at #loc49))
#loc75 = loc(callsite(#loc5 at #loc47))
#loc76 = loc(callsite(#loc8 at #loc47))
#loc77 = loc(callsite(#loc9 at #loc47))
#loc78 = loc(callsite(#loc10 at #loc47))
#loc79 = loc(callsite(#loc11 at #loc47))
#loc80 = loc(callsite(#loc12 at #loc47))
#loc81 = loc(callsite(#loc8 at #loc52))
#loc82 = loc(callsite(#loc14 at #loc52))
#loc83 = loc(callsite(#loc15 at #loc52))
#loc84 = loc(callsite(#loc16 at #loc52))
#loc85 = loc(callsite(#loc21 at #loc63))
#loc86 = loc(callsite(#loc11 at #loc63))
#loc87 = loc(callsite(#loc22 at #loc63))
#loc88 = loc(callsite(#loc23 at #loc63))
#loc89 = loc(callsite(#loc8 at #loc63))
#loc90 = loc(callsite(#loc24 at #loc63))
#loc91 = loc(callsite(#loc25 at #loc63))
module @step {
  func.func public @main(%arg0: tensor<4x5xf32> {epl.name = "params['w1']", epl.role = "state"} loc("params['w1']"(#loc1)), %arg1: tensor<5x3xf32> {epl.name = "params['w2']", epl.role = "state"} loc("params['w2']"(#loc1)), %arg2: tensor<8x4xf32> {epl.batch_dim = 0 : i64, epl.name = "x", epl.role = "batch"} loc("x"(#loc1)), %arg3: tensor<8xi32> {epl.batch_dim = 0 : i64, epl.name = "y", epl.role = "batch"} loc("y"(#loc1))) -> (tensor<4x5xf32> {epl.name = "params['w1']", epl.updates = 0 : i64}, tensor<5x3xf32> {epl.name = "params['w2']", epl.updates = 1 : i64}, tensor<f32> {epl.name = "result[1]"}) attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "mlp">}} {
    %cst = arith.constant -1.000000e+00 : f32 loc(#loc)
    %cst_0 = arith.constant 8.000000e+00 : f32 loc(#loc)
    %cst_1 = arith.constant 0xFF800000 : f32 loc(#loc73)
    %cst_2 = arith.constant 0.000000e+00 : f32 loc(#loc)
    %cst_3 = arith.constant dense<1.000000e-01> : tensor<f32> loc(#loc)
    %cst_4 = arith.constant dense<0xFF800000> : tensor<f32> loc(#loc)
    %cst_5 = arith.constant dense<0.000000e+00> : tensor<f32> loc(#loc)
    %0 = tensor.empty() : tensor<8x5xf32> loc(#loc48)
    %1 = linalg.fill ins(%cst_2 : f32) outs(%0 : tensor<8x5xf32>) -> tensor<8x5xf32> loc(#loc48)
    %2 = linalg.matmul ins(%arg2, %arg0 : tensor<8x4xf32>, tensor<4x5xf32>) outs(%1 : tensor<8x5xf32>) -> tensor<8x5xf32> loc(#loc48)
    %3 = tensor.empty() : tensor<8x5xf32> loc(#loc74)
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : tensor<f32>) outs(%3 : tensor<8x5xf32>) {
    ^bb0(%in: f32 loc(unknown), %out: f32 loc(callsite(#loc5 at #loc49))):
      linalg.yield %in : f32 loc(#loc74)
    } -> tensor<8x5xf32> loc(#loc74)
    %5 = tensor.empty() : tensor<8x5xf32> loc(#loc74)
    %6 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%2, %4 : tensor<8x5xf32>, tensor<8x5xf32>) outs(%5 : tensor<8x5xf32>) {
    ^bb0(%in: f32 loc("jit(step)/jvp(epl.s0)/dot_general"(#loc34)), %in_6: f32 loc(callsite(#loc5 at #loc49)), %out: f32 loc(callsite(#loc5 at #loc49))):
      %119 = arith.maximumf %in, %in_6 : f32 loc(#loc74)
      linalg.yield %119 : f32 loc(#loc74)
    } -> tensor<8x5xf32> loc(#loc74)
    %7 = tensor.empty() : tensor<8x5xf32> loc(#loc50)
    %8 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : tensor<f32>) outs(%7 : tensor<8x5xf32>) {
    ^bb0(%in: f32 loc(unknown), %out: f32 loc("jit(step)/jvp(epl.s0)/gt"(#loc35))):
      linalg.yield %in : f32 loc(#loc50)
    } -> tensor<8x5xf32> loc(#loc50)
    %9 = tensor.empty() : tensor<8x5xi1> loc(#loc50)
    %10 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%2, %8 : tensor<8x5xf32>, tensor<8x5xf32>) outs(%9 : tensor<8x5xi1>) {
    ^bb0(%in: f32 loc("jit(step)/jvp(epl.s0)/dot_general"(#loc34)), %in_6: f32 loc("jit(step)/jvp(epl.s0)/gt"(#loc35)), %out: i1 loc("jit(step)/jvp(epl.s0)/gt"(#loc35))):
      %119 = arith.cmpf ogt, %in, %in_6 : f32 loc(#loc50)
      linalg.yield %119 : i1 loc(#loc50)
    } -> tensor<8x5xi1> loc(#loc50)
    %11 = tensor.empty() : tensor<8x3xf32> loc(#loc51)
    %12 = linalg.fill ins(%cst_2 : f32) outs(%11 : tensor<8x3xf32>) -> tensor<8x3xf32> loc(#loc51)
    %13 = linalg.matmul ins(%6, %arg1 : tensor<8x5xf32>, tensor<5x3xf32>) outs(%12 : tensor<8x3xf32>) -> tensor<8x3xf32> loc(#loc51)
    %14 = tensor.empty() : tensor<8xf32> loc(#loc73)
    %15 = linalg.fill ins(%cst_1 : f32) outs(%14 : tensor<8xf32>) -> tensor<8xf32> loc(#loc73)
    %16 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "reduction"]} ins(%13 : tensor<8x3xf32>) outs(%15 : tensor<8xf32>) {
    ^bb0(%in: f32 loc("reduce_max:"(#loc2)), %out: f32 loc("reduce_max:"(#loc2))):
      %119 = arith.maximumf %out, %in : f32 loc(#loc73)
      linalg.yield %119 : f32 loc(#loc73)
    } -> tensor<8xf32> loc(#loc73)
    %17 = tensor.empty() : tensor<8xf32> loc(#loc75)
    %18 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel"]} ins(%cst_4 : tensor<f32>) outs(%17 : tensor<8xf32>) {
    ^bb0(%in: f32 loc(unknown), %out: f32 loc(callsite(#loc5 at #loc47))):
      linalg.yield %in : f32 loc(#loc75)
    } -> tensor<8xf32> loc(#loc75)
    %19 = tensor.empty() : tensor<8xf32> loc(#loc75)
    %20 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel"]} ins(%18, %16 : tensor<8xf32>, tensor<8xf32>) outs(%19 : tensor<8xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc5 at #loc47)), %in_6: f32 loc(callsite(#loc2 at #loc47)), %out: f32 loc(callsite(#loc5 at #loc47))):
      %119 = arith.maximumf %in, %in_6 : f32 loc(#loc75)
      linalg.yield %119 : f32 loc(#loc75)
    } -> tensor<8xf32> loc(#loc75)
    %21 = tensor.empty() : tensor<8x1xf32> loc(#loc76)
    %22 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<8xf32>) outs(%21 : tensor<8x1xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc5 at #loc47)), %out: f32 loc(callsite(#loc8 at #loc47))):
      linalg.yield %in : f32 loc(#loc76)
    } -> tensor<8x1xf32> loc(#loc76)
    %23 = tensor.empty() : tensor<8x3xf32> loc(#loc77)
    %24 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%22 : tensor<8x1xf32>) outs(%23 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc8 at #loc47)), %out: f32 loc(callsite(#loc9 at #loc47))):
      linalg.yield %in : f32 loc(#loc77)
    } -> tensor<8x3xf32> loc(#loc77)
    %25 = tensor.empty() : tensor<8x3xf32> loc(#loc77)
    %26 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%13, %24 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%25 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc("jit(step)/jvp(epl.s0)/dot_general"(#loc36)), %in_6: f32 loc(callsite(#loc9 at #loc47)), %out: f32 loc(callsite(#loc9 at #loc47))):
      %119 = arith.subf %in, %in_6 : f32 loc(#loc77)
      linalg.yield %119 : f32 loc(#loc77)
    } -> tensor<8x3xf32> loc(#loc77)
    %27 = tensor.empty() : tensor<8x3xf32> loc(#loc78)
    %28 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%26 : tensor<8x3xf32>) outs(%27 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc9 at #loc47)), %out: f32 loc(callsite(#loc10 at #loc47))):
      %119 = math.exp %in : f32 loc(#loc78)
      linalg.yield %119 : f32 loc(#loc78)
    } -> tensor<8x3xf32> loc(#loc78)
    %29 = tensor.empty() : tensor<8xf32> loc(#loc79)
    %30 = linalg.fill ins(%cst_2 : f32) outs(%29 : tensor<8xf32>) -> tensor<8xf32> loc(#loc79)
    %31 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "reduction"]} ins(%28 : tensor<8x3xf32>) outs(%30 : tensor<8xf32>) {
    ^bb0(%in: f32 loc("reduce_sum:"(#loc11)), %out: f32 loc("reduce_sum:"(#loc11))):
      %119 = arith.addf %out, %in : f32 loc(#loc79)
      linalg.yield %119 : f32 loc(#loc79)
    } -> tensor<8xf32> loc(#loc79)
    %32 = tensor.empty() : tensor<8x1xf32> loc(#loc76)
    %33 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%31 : tensor<8xf32>) outs(%32 : tensor<8x1xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc11 at #loc47)), %out: f32 loc(callsite(#loc8 at #loc47))):
      linalg.yield %in : f32 loc(#loc76)
    } -> tensor<8x1xf32> loc(#loc76)
    %34 = tensor.empty() : tensor<8x1xf32> loc(#loc80)
    %35 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%33 : tensor<8x1xf32>) outs(%34 : tensor<8x1xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc8 at #loc47)), %out: f32 loc(callsite(#loc12 at #loc47))):
      %119 = math.log %in : f32 loc(#loc80)
      linalg.yield %119 : f32 loc(#loc80)
    } -> tensor<8x1xf32> loc(#loc80)
    %36 = tensor.empty() : tensor<8x3xf32> loc(#loc77)
    %37 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%35 : tensor<8x1xf32>) outs(%36 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc12 at #loc47)), %out: f32 loc(callsite(#loc9 at #loc47))):
      linalg.yield %in : f32 loc(#loc77)
    } -> tensor<8x3xf32> loc(#loc77)
    %38 = tensor.empty() : tensor<8x3xf32> loc(#loc77)
    %39 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%26, %37 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%38 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc9 at #loc47)), %in_6: f32 loc(callsite(#loc9 at #loc47)), %out: f32 loc(callsite(#loc9 at #loc47))):
      %119 = arith.subf %in, %in_6 : f32 loc(#loc77)
      linalg.yield %119 : f32 loc(#loc77)
    } -> tensor<8x3xf32> loc(#loc77)
    %40 = tensor.empty() : tensor<8x1xi32> loc(#loc81)
    %41 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<8xi32>) outs(%40 : tensor<8x1xi32>) {
    ^bb0(%in: i32 loc("y"(#loc1)), %out: i32 loc(callsite(#loc8 at #loc52))):
      linalg.yield %in : i32 loc(#loc81)
    } -> tensor<8x1xi32> loc(#loc81)
    %42 = tensor.empty() : tensor<1x3xi32> loc(#loc82)
    %43 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel"]} outs(%42 : tensor<1x3xi32>) {
    ^bb0(%out: i32 loc(callsite(#loc14 at #loc52))):
      %119 = linalg.index 1 : index loc(#loc82)
      %120 = arith.index_cast %119 : index to i32 loc(#loc82)
      linalg.yield %120 : i32 loc(#loc82)
    } -> tensor<1x3xi32> loc(#loc82)
    %44 = tensor.empty() : tensor<8x3xi32> loc(#loc83)
    %45 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%41 : tensor<8x1xi32>) outs(%44 : tensor<8x3xi32>) {
    ^bb0(%in: i32 loc(callsite(#loc8 at #loc52)), %out: i32 loc(callsite(#loc15 at #loc52))):
      linalg.yield %in : i32 loc(#loc83)
    } -> tensor<8x3xi32> loc(#loc83)
    %46 = tensor.empty() : tensor<8x3xi32> loc(#loc83)
    %47 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel"]} ins(%43 : tensor<1x3xi32>) outs(%46 : tensor<8x3xi32>) {
    ^bb0(%in: i32 loc(callsite(#loc14 at #loc52)), %out: i32 loc(callsite(#loc15 at #loc52))):
      linalg.yield %in : i32 loc(#loc83)
    } -> tensor<8x3xi32> loc(#loc83)
    %48 = tensor.empty() : tensor<8x3xi1> loc(#loc83)
    %49 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%45, %47 : tensor<8x3xi32>, tensor<8x3xi32>) outs(%48 : tensor<8x3xi1>) {
    ^bb0(%in: i32 loc(callsite(#loc15 at #loc52)), %in_6: i32 loc(callsite(#loc15 at #loc52)), %out: i1 loc(callsite(#loc15 at #loc52))):
      %119 = arith.cmpi eq, %in, %in_6 : i32 loc(#loc83)
      linalg.yield %119 : i1 loc(#loc83)
    } -> tensor<8x3xi1> loc(#loc83)
    %50 = tensor.empty() : tensor<8x3xf32> loc(#loc84)
    %51 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%49 : tensor<8x3xi1>) outs(%50 : tensor<8x3xf32>) {
    ^bb0(%in: i1 loc(callsite(#loc15 at #loc52)), %out: f32 loc(callsite(#loc16 at #loc52))):
      %119 = arith.uitofp %in : i1 to f32 loc(#loc84)
      linalg.yield %119 : f32 loc(#loc84)
    } -> tensor<8x3xf32> loc(#loc84)
    %52 = tensor.empty() : tensor<8x3xf32> loc(#loc53)
    %53 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%39, %51 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%52 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc9 at #loc47)), %in_6: f32 loc(callsite(#loc16 at #loc52)), %out: f32 loc("jit(step)/jvp(epl.s0)/mul"(#loc40))):
      %119 = arith.mulf %in, %in_6 : f32 loc(#loc53)
      linalg.yield %119 : f32 loc(#loc53)
    } -> tensor<8x3xf32> loc(#loc53)
    %54 = tensor.empty() : tensor<8xf32> loc(#loc54)
    %55 = linalg.fill ins(%cst_2 : f32) outs(%54 : tensor<8xf32>) -> tensor<8xf32> loc(#loc54)
    %56 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "reduction"]} ins(%53 : tensor<8x3xf32>) outs(%55 : tensor<8xf32>) {
    ^bb0(%in: f32 loc("reduce_sum:"(#loc11)), %out: f32 loc("reduce_sum:"(#loc11))):
      %119 = arith.addf %out, %in : f32 loc(#loc54)
      linalg.yield %119 : f32 loc(#loc54)
    } -> tensor<8xf32> loc(#loc54)
    %57 = tensor.empty() : tensor<f32> loc(#loc55)
    %58 = linalg.fill ins(%cst_2 : f32) outs(%57 : tensor<f32>) -> tensor<f32> loc(#loc55)
    %59 = linalg.generic {indexing_maps = [#map4, #map3], iterator_types = ["reduction"]} ins(%56 : tensor<8xf32>) outs(%58 : tensor<f32>) {
    ^bb0(%in: f32 loc("reduce_sum:"(#loc11)), %out: f32 loc("reduce_sum:"(#loc11))):
      %119 = arith.addf %out, %in : f32 loc(#loc55)
      linalg.yield %119 : f32 loc(#loc55)
    } -> tensor<f32> loc(#loc55)
    %60 = tensor.empty() : tensor<f32> loc(#loc56)
    %61 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = []} ins(%59 : tensor<f32>) outs(%60 : tensor<f32>) {
    ^bb0(%in: f32 loc("jit(step)/jvp(epl.s0)/reduce_sum"(#loc42)), %out: f32 loc("jit(step)/jvp(epl.s0)/div"(#loc42))):
      %119 = arith.divf %in, %cst_0 : f32 loc(#loc56)
      linalg.yield %119 : f32 loc(#loc56)
    } -> tensor<f32> loc(#loc56)
    %62 = tensor.empty() : tensor<f32> loc(#loc57)
    %63 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = []} ins(%61 : tensor<f32>) outs(%62 : tensor<f32>) {
    ^bb0(%in: f32 loc("jit(step)/jvp(epl.s0)/div"(#loc42)), %out: f32 loc("jit(step)/jvp(epl.s0)/neg"(#loc43))):
      %119 = arith.negf %in : f32 loc(#loc57)
      linalg.yield %119 : f32 loc(#loc57)
    } -> tensor<f32> loc(#loc57)
    %64 = tensor.empty() : tensor<f32> loc(#loc58)
    %65 = linalg.generic {indexing_maps = [#map7], iterator_types = []} outs(%64 : tensor<f32>) {
    ^bb0(%out: f32 loc("jit(step)/transpose(jvp(epl.s0))/neg"(#loc43))):
      linalg.yield %cst : f32 loc(#loc58)
    } -> tensor<f32> loc(#loc58)
    %66 = tensor.empty() : tensor<f32> loc(#loc59)
    %67 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = []} ins(%65 : tensor<f32>) outs(%66 : tensor<f32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/neg"(#loc43)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/div"(#loc42))):
      %119 = arith.divf %in, %cst_0 : f32 loc(#loc59)
      linalg.yield %119 : f32 loc(#loc59)
    } -> tensor<f32> loc(#loc59)
    %68 = tensor.empty() : tensor<8xf32> loc(#loc60)
    %69 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel"]} ins(%67 : tensor<f32>) outs(%68 : tensor<8xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/div"(#loc42)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/broadcast_in_dim"(#loc42))):
      linalg.yield %in : f32 loc(#loc60)
    } -> tensor<8xf32> loc(#loc60)
    %70 = tensor.empty() : tensor<8x3xf32> loc(#loc61)
    %71 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%69 : tensor<8xf32>) outs(%70 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/broadcast_in_dim"(#loc42)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/broadcast_in_dim"(#loc41))):
      linalg.yield %in : f32 loc(#loc61)
    } -> tensor<8x3xf32> loc(#loc61)
    %72 = tensor.empty() : tensor<8x3xf32> loc(#loc62)
    %73 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%71, %51 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%72 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/broadcast_in_dim"(#loc41)), %in_6: f32 loc(callsite(#loc16 at #loc52)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/mul"(#loc40))):
      %119 = arith.mulf %in, %in_6 : f32 loc(#loc62)
      linalg.yield %119 : f32 loc(#loc62)
    } -> tensor<8x3xf32> loc(#loc62)
    %74 = tensor.empty() : tensor<8x3xf32> loc(#loc85)
    %75 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%73 : tensor<8x3xf32>) outs(%74 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/mul"(#loc40)), %out: f32 loc(callsite(#loc21 at #loc63))):
      %119 = arith.negf %in : f32 loc(#loc85)
      linalg.yield %119 : f32 loc(#loc85)
    } -> tensor<8x3xf32> loc(#loc85)
    %76 = tensor.empty() : tensor<8xf32> loc(#loc86)
    %77 = linalg.fill ins(%cst_2 : f32) outs(%76 : tensor<8xf32>) -> tensor<8xf32> loc(#loc86)
    %78 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "reduction"]} ins(%75 : tensor<8x3xf32>) outs(%77 : tensor<8xf32>) {
    ^bb0(%in: f32 loc("reduce_sum:"(#loc11)), %out: f32 loc("reduce_sum:"(#loc11))):
      %119 = arith.addf %out, %in : f32 loc(#loc86)
      linalg.yield %119 : f32 loc(#loc86)
    } -> tensor<8xf32> loc(#loc86)
    %expanded = tensor.expand_shape %78 [[0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32> loc(#loc87)
    %79 = tensor.empty() : tensor<8x1xf32> loc(#loc88)
    %80 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%expanded, %33 : tensor<8x1xf32>, tensor<8x1xf32>) outs(%79 : tensor<8x1xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc22 at #loc63)), %in_6: f32 loc(callsite(#loc8 at #loc47)), %out: f32 loc(callsite(#loc23 at #loc63))):
      %119 = arith.divf %in, %in_6 : f32 loc(#loc88)
      linalg.yield %119 : f32 loc(#loc88)
    } -> tensor<8x1xf32> loc(#loc88)
    %81 = tensor.empty() : tensor<8xf32> loc(#loc86)
    %82 = linalg.fill ins(%cst_2 : f32) outs(%81 : tensor<8xf32>) -> tensor<8xf32> loc(#loc86)
    %83 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "reduction"]} ins(%80 : tensor<8x1xf32>) outs(%82 : tensor<8xf32>) {
    ^bb0(%in: f32 loc("reduce_sum:"(#loc11)), %out: f32 loc("reduce_sum:"(#loc11))):
      %119 = arith.addf %out, %in : f32 loc(#loc86)
      linalg.yield %119 : f32 loc(#loc86)
    } -> tensor<8xf32> loc(#loc86)
    %84 = tensor.empty() : tensor<8x3xf32> loc(#loc89)
    %85 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%83 : tensor<8xf32>) outs(%84 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc11 at #loc63)), %out: f32 loc(callsite(#loc8 at #loc63))):
      linalg.yield %in : f32 loc(#loc89)
    } -> tensor<8x3xf32> loc(#loc89)
    %86 = tensor.empty() : tensor<8x3xf32> loc(#loc90)
    %87 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%85, %28 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%86 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc8 at #loc63)), %in_6: f32 loc(callsite(#loc10 at #loc47)), %out: f32 loc(callsite(#loc24 at #loc63))):
      %119 = arith.mulf %in, %in_6 : f32 loc(#loc90)
      linalg.yield %119 : f32 loc(#loc90)
    } -> tensor<8x3xf32> loc(#loc90)
    %88 = tensor.empty() : tensor<8x3xf32> loc(#loc91)
    %89 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%73, %87 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%88 : tensor<8x3xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/mul"(#loc40)), %in_6: f32 loc(callsite(#loc24 at #loc63)), %out: f32 loc(callsite(#loc25 at #loc63))):
      %119 = arith.addf %in, %in_6 : f32 loc(#loc91)
      linalg.yield %119 : f32 loc(#loc91)
    } -> tensor<8x3xf32> loc(#loc91)
    %90 = tensor.empty() : tensor<3x5xf32> loc(#loc64)
    %91 = linalg.fill ins(%cst_2 : f32) outs(%90 : tensor<3x5xf32>) -> tensor<3x5xf32> loc(#loc64)
    %92 = linalg.generic {indexing_maps = [#map8, #map9, #map10], iterator_types = ["parallel", "parallel", "reduction"]} ins(%89, %6 : tensor<8x3xf32>, tensor<8x5xf32>) outs(%91 : tensor<3x5xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc25 at #loc63)), %in_6: f32 loc(callsite(#loc5 at #loc49)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/dot_general"(#loc36))):
      %119 = arith.mulf %in, %in_6 : f32 loc(#loc91)
      %120 = arith.addf %out, %119 : f32 loc(#loc64)
      linalg.yield %120 : f32 loc(#loc)
    } -> tensor<3x5xf32> loc(#loc64)
    %93 = tensor.empty() : tensor<5x3xf32> loc(#loc65)
    %94 = linalg.generic {indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel"]} ins(%92 : tensor<3x5xf32>) outs(%93 : tensor<5x3xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/dot_general"(#loc36)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/transpose"(#loc36))):
      linalg.yield %in : f32 loc(#loc65)
    } -> tensor<5x3xf32> loc(#loc65)
    %95 = tensor.empty() : tensor<8x5xf32> loc(#loc64)
    %96 = linalg.fill ins(%cst_2 : f32) outs(%95 : tensor<8x5xf32>) -> tensor<8x5xf32> loc(#loc64)
    %97 = linalg.generic {indexing_maps = [#map12, #map13, #map10], iterator_types = ["parallel", "parallel", "reduction"]} ins(%89, %arg1 : tensor<8x3xf32>, tensor<5x3xf32>) outs(%96 : tensor<8x5xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc25 at #loc63)), %in_6: f32 loc("params['w2']"(#loc1)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/dot_general"(#loc36))):
      %119 = arith.mulf %in, %in_6 : f32 loc(#loc91)
      %120 = arith.addf %out, %119 : f32 loc(#loc64)
      linalg.yield %120 : f32 loc(#loc)
    } -> tensor<8x5xf32> loc(#loc64)
    %98 = tensor.empty() : tensor<8x5xf32> loc(#loc66)
    %99 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : tensor<f32>) outs(%98 : tensor<8x5xf32>) {
    ^bb0(%in: f32 loc(unknown), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/broadcast_in_dim"(#loc35))):
      linalg.yield %in : f32 loc(#loc66)
    } -> tensor<8x5xf32> loc(#loc66)
    %100 = tensor.empty() : tensor<8x5xf32> loc(#loc67)
    %101 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%10, %97, %99 : tensor<8x5xi1>, tensor<8x5xf32>, tensor<8x5xf32>) outs(%100 : tensor<8x5xf32>) {
    ^bb0(%in: i1 loc("jit(step)/jvp(epl.s0)/gt"(#loc35)), %in_6: f32 loc("jit(step)/transpose(jvp(epl.s0))/dot_general"(#loc36)), %in_7: f32 loc("jit(step)/transpose(jvp(epl.s0))/broadcast_in_dim"(#loc35)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/select_n"(#loc35))):
      %119 = arith.select %in, %in_6, %in_7 : f32 loc(#loc67)
      linalg.yield %119 : f32 loc(#loc67)
    } -> tensor<8x5xf32> loc(#loc67)
    %102 = tensor.empty() : tensor<5x4xf32> loc(#loc68)
    %103 = linalg.fill ins(%cst_2 : f32) outs(%102 : tensor<5x4xf32>) -> tensor<5x4xf32> loc(#loc68)
    %104 = linalg.generic {indexing_maps = [#map8, #map9, #map10], iterator_types = ["parallel", "parallel", "reduction"]} ins(%101, %arg2 : tensor<8x5xf32>, tensor<8x4xf32>) outs(%103 : tensor<5x4xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/select_n"(#loc35)), %in_6: f32 loc("x"(#loc1)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/dot_general"(#loc34))):
      %119 = arith.mulf %in, %in_6 : f32 loc(#loc67)
      %120 = arith.addf %out, %119 : f32 loc(#loc68)
      linalg.yield %120 : f32 loc(#loc)
    } -> tensor<5x4xf32> loc(#loc68)
    %105 = tensor.empty() : tensor<4x5xf32> loc(#loc69)
    %106 = linalg.generic {indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel"]} ins(%104 : tensor<5x4xf32>) outs(%105 : tensor<4x5xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/dot_general"(#loc34)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/transpose"(#loc34))):
      linalg.yield %in : f32 loc(#loc69)
    } -> tensor<4x5xf32> loc(#loc69)
    %107 = tensor.empty() : tensor<4x5xf32> loc(#loc70)
    %108 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%107 : tensor<4x5xf32>) {
    ^bb0(%in: f32 loc(unknown), %out: f32 loc("jit(step)/mul"(#loc44))):
      linalg.yield %in : f32 loc(#loc70)
    } -> tensor<4x5xf32> loc(#loc70)
    %109 = tensor.empty() : tensor<4x5xf32> loc(#loc70)
    %110 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%108, %106 : tensor<4x5xf32>, tensor<4x5xf32>) outs(%109 : tensor<4x5xf32>) {
    ^bb0(%in: f32 loc("jit(step)/mul"(#loc44)), %in_6: f32 loc("jit(step)/transpose(jvp(epl.s0))/transpose"(#loc34)), %out: f32 loc("jit(step)/mul"(#loc44))):
      %119 = arith.mulf %in, %in_6 : f32 loc(#loc70)
      linalg.yield %119 : f32 loc(#loc70)
    } -> tensor<4x5xf32> loc(#loc70)
    %111 = tensor.empty() : tensor<4x5xf32> loc(#loc71)
    %112 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg0, %110 : tensor<4x5xf32>, tensor<4x5xf32>) outs(%111 : tensor<4x5xf32>) {
    ^bb0(%in: f32 loc("params['w1']"(#loc1)), %in_6: f32 loc("jit(step)/mul"(#loc44)), %out: f32 loc("jit(step)/sub"(#loc45))):
      %119 = arith.subf %in, %in_6 : f32 loc(#loc71)
      linalg.yield %119 : f32 loc(#loc71)
    } -> tensor<4x5xf32> loc(#loc71)
    %113 = tensor.empty() : tensor<5x3xf32> loc(#loc70)
    %114 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%113 : tensor<5x3xf32>) {
    ^bb0(%in: f32 loc(unknown), %out: f32 loc("jit(step)/mul"(#loc44))):
      linalg.yield %in : f32 loc(#loc70)
    } -> tensor<5x3xf32> loc(#loc70)
    %115 = tensor.empty() : tensor<5x3xf32> loc(#loc70)
    %116 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%114, %94 : tensor<5x3xf32>, tensor<5x3xf32>) outs(%115 : tensor<5x3xf32>) {
    ^bb0(%in: f32 loc("jit(step)/mul"(#loc44)), %in_6: f32 loc("jit(step)/transpose(jvp(epl.s0))/transpose"(#loc36)), %out: f32 loc("jit(step)/mul"(#loc44))):
      %119 = arith.mulf %in, %in_6 : f32 loc(#loc70)
      linalg.yield %119 : f32 loc(#loc70)
    } -> tensor<5x3xf32> loc(#loc70)
    %117 = tensor.empty() : tensor<5x3xf32> loc(#loc71)
    %118 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg1, %116 : tensor<5x3xf32>, tensor<5x3xf32>) outs(%117 : tensor<5x3xf32>) {
    ^bb0(%in: f32 loc("params['w2']"(#loc1)), %in_6: f32 loc("jit(step)/mul"(#loc44)), %out: f32 loc("jit(step)/sub"(#loc45))):
      %119 = arith.subf %in, %in_6 : f32 loc(#loc71)
      linalg.yield %119 : f32 loc(#loc71)
    } -> tensor<5x3xf32> loc(#loc71)
    return %112, %118, %63 : tensor<4x5xf32>, tensor<5x3xf32>, tensor<f32> loc(#loc72)
  } loc(#loc1)
} loc(#loc)
#loc28 = loc("mlp.py":16:6 to :57)
#loc46 = loc("<module>"(#loc28))
#loc54 = loc("jit(step)/jvp(epl.s0)/reduce_sum"(#loc41))
#loc72 = loc("jit(step)"(#loc46))

