// A training step as the JAX front end hands it over: two scopes that each have a device, tanh(x w) and the sum of
// squares of its product with v.
#loc1 = loc("pipeline.py":2:1)
#loc2 = loc("pipeline.py":7:20 to :32)
#loc3 = loc("pipeline.py":8:22 to :60)
#loc4 = loc("pipeline.py":2:19 to :62)
#loc5 = loc("pipeline.py":5:25 to :30)
#loc6 = loc("pipeline.py":5:16 to :31)
#loc7 = loc("pipeline.py":7:21 to :26)
#loc9 = loc("reduce_sum")
#loc10 = loc("pipeline.py":9:11 to :17)
#loc11 = loc("pipeline.py":9:19 to :25)
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
#map2 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map3 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map5 = affine_map<(d0, d1) -> (d1, d0)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map7 = affine_map<(d0, d1, d2) -> (d1, d2)>
#loc12 = loc("w"(#loc1))
#loc13 = loc("v"(#loc1))
#loc14 = loc("x"(#loc1))
#loc15 = loc("step.<locals>.loss"(#loc2))
#loc16 = loc("step"(#loc3))
#loc17 = loc("step"(#loc4))
#loc18 = loc("step.<locals>.loss"(#loc5))
#loc19 = loc("step.<locals>.loss"(#loc6))
#loc20 = loc("step.<locals>.loss"(#loc7))
#loc22 = loc("reduce_sum:"(#loc9))
#loc23 = loc("step"(#loc10))
#loc24 = loc("step"(#loc11))
#loc25 = loc(callsite(#loc16 at #loc17))
#loc26 = loc(callsite(#loc23 at #loc17))
#loc27 = loc(callsite(#loc24 at #loc17))
#loc29 = loc(callsite(#loc15 at #loc25))
#loc30 = loc(callsite(#loc18 at #loc25))
#loc31 = loc(callsite(#loc19 at #loc25))
#loc32 = loc(callsite(#loc20 at #loc25))
#loc34 = loc("jit(step)/sub"(#loc26))
#loc35 = loc("jit(step)/sub"(#loc27))
#loc36 = loc("jit(step)/jvp(epl.s1)/mul"(#loc29))
#loc37 = loc("jit(step)/jvp(epl.s0)/dot_general"(#loc30))
#loc38 = loc("jit(step)/jvp(epl.s0)/tanh"(#loc31))
#loc39 = loc("jit(step)/jvp(epl.s0)/sub"(#loc31))
#loc40 = loc("jit(step)/jvp(epl.s1)/dot_general"(#loc32))
#loc41 = loc("jit(step)/jvp(epl.s1)/integer_pow"(#loc29))
#loc43 = loc("jit(step)/transpose(jvp(epl.s1))/dot_general"(#loc32))
#loc44 = loc("jit(step)/transpose(jvp(epl.s1))/mul"(#loc29))
#loc45 = loc("jit(step)/transpose(jvp(epl.s1))/transpose"(#loc32))
#loc46 = loc("jit(step)/transpose(jvp(epl.s0))/mul"(#loc31))
#loc47 = loc("jit(step)/transpose(jvp(epl.s0))/add_any"(#loc31))
#loc48 = loc("jit(step)/transpose(jvp(epl.s0))/dot_general"(#loc30))
#loc49 = loc("jit(step)/transpose(jvp(epl.s0))/transpose"(#loc30))
module @step {
  func.func public @main(%arg0: tensor<3x4xf32> {epl.name = "w", epl.role = "state"} loc("w"(#loc1)), %arg1: tensor<4x2xf32> {epl.name = "v", epl.role = "state"} loc("v"(#loc1)), %arg2: tensor<8x3xf32> {epl.batch_dim = 0 : i64, epl.name = "x", epl.role = "batch"} loc("x"(#loc1))) -> (tensor<3x4xf32> {epl.name = "w", epl.updates = 0 : i64}, tensor<4x2xf32> {epl.name = "v", epl.updates = 1 : i64}, tensor<f32> {epl.name = "result[2]"}) attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "body" at loc("pipeline.py":4:1)>, s1 = #epl.scope<replicate, 1, "head" at loc("pipeline.py":6:1)>}} {
    %cst = arith.constant 2.000000e+00 : f32 loc(#loc36)
    %cst_0 = arith.constant 1.000000e+00 : f32 loc(#loc)
    %cst_1 = arith.constant 0.000000e+00 : f32 loc(#loc)
    %0 = tensor.empty() : tensor<8x4xf32> loc(#loc37)
    %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc(#loc37)
    %2 = linalg.matmul ins(%arg2, %arg0 : tensor<8x3xf32>, tensor<3x4xf32>) outs(%1 : tensor<8x4xf32>) -> tensor<8x4xf32> loc(#loc37)
    %3 = tensor.empty() : tensor<8x4xf32> loc(#loc38)
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<8x4xf32>) outs(%3 : tensor<8x4xf32>) {
    ^bb0(%in: f32 loc("jit(step)/jvp(epl.s0)/dot_general"(#loc30)), %out: f32 loc("jit(step)/jvp(epl.s0)/tanh"(#loc31))):
      %40 = math.tanh %in : f32 loc(#loc38)
      linalg.yield %40 : f32 loc(#loc38)
    } -> tensor<8x4xf32> loc(#loc38)
    %5 = tensor.empty() : tensor<8x4xf32> loc(#loc39)
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<8x4xf32>) outs(%5 : tensor<8x4xf32>) {
    ^bb0(%in: f32 loc("jit(step)/jvp(epl.s0)/tanh"(#loc31)), %out: f32 loc("jit(step)/jvp(epl.s0)/sub"(#loc31))):
      %40 = arith.subf %cst_0, %in : f32 loc(#loc39)
      linalg.yield %40 : f32 loc(#loc39)
    } -> tensor<8x4xf32> loc(#loc39)
    %7 = tensor.empty() : tensor<8x2xf32> loc(#loc40)
    %8 = linalg.fill ins(%cst_1 : f32) outs(%7 : tensor<8x2xf32>) -> tensor<8x2xf32> loc(#loc40)
    %9 = linalg.matmul ins(%4, %arg1 : tensor<8x4xf32>, tensor<4x2xf32>) outs(%8 : tensor<8x2xf32>) -> tensor<8x2xf32> loc(#loc40)
    %10 = tensor.empty() : tensor<8x2xf32> loc(#loc41)
    %11 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%9, %9 : tensor<8x2xf32>, tensor<8x2xf32>) outs(%10 : tensor<8x2xf32>) {
    ^bb0(%in: f32 loc("jit(step)/jvp(epl.s1)/dot_general"(#loc32)), %in_2: f32 loc("jit(step)/jvp(epl.s1)/dot_general"(#loc32)), %out: f32 loc("jit(step)/jvp(epl.s1)/integer_pow"(#loc29))):
      %40 = arith.mulf %in, %in_2 : f32 loc(#loc41)
      linalg.yield %40 : f32 loc(#loc41)
    } -> tensor<8x2xf32> loc(#loc41)
    %12 = tensor.empty() : tensor<8x2xf32> loc(#loc36)
    %13 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<8x2xf32>) outs(%12 : tensor<8x2xf32>) {
    ^bb0(%in: f32 loc("jit(step)/jvp(epl.s1)/dot_general"(#loc32)), %out: f32 loc("jit(step)/jvp(epl.s1)/mul"(#loc29))):
      %40 = arith.mulf %in, %cst : f32 loc(#loc36)
      linalg.yield %40 : f32 loc(#loc36)
    } -> tensor<8x2xf32> loc(#loc36)
    %14 = tensor.empty() : tensor<f32> loc(#loc42)
    %15 = linalg.fill ins(%cst_1 : f32) outs(%14 : tensor<f32>) -> tensor<f32> loc(#loc42)
    %16 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]} ins(%11 : tensor<8x2xf32>) outs(%15 : tensor<f32>) {
    ^bb0(%in: f32 loc("reduce_sum:"(#loc9)), %out: f32 loc("reduce_sum:"(#loc9))):
      %40 = arith.addf %out, %in : f32 loc(#loc42)
      linalg.yield %40 : f32 loc(#loc42)
    } -> tensor<f32> loc(#loc42)
    %17 = tensor.empty() : tensor<2x4xf32> loc(#loc43)
    %18 = linalg.fill ins(%cst_1 : f32) outs(%17 : tensor<2x4xf32>) -> tensor<2x4xf32> loc(#loc43)
    %19 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%13, %4 : tensor<8x2xf32>, tensor<8x4xf32>) outs(%18 : tensor<2x4xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s1))/mul"(#loc29)), %in_2: f32 loc("jit(step)/jvp(epl.s0)/tanh"(#loc31)), %out: f32 loc("jit(step)/transpose(jvp(epl.s1))/dot_general"(#loc32))):
      %40 = arith.mulf %in, %in_2 : f32 loc(#loc44)
      %41 = arith.addf %out, %40 : f32 loc(#loc43)
      linalg.yield %41 : f32 loc(#loc)
    } -> tensor<2x4xf32> loc(#loc43)
    %20 = tensor.empty() : tensor<4x2xf32> loc(#loc45)
    %21 = linalg.generic {indexing_maps = [#map5, #map], iterator_types = ["parallel", "parallel"]} ins(%19 : tensor<2x4xf32>) outs(%20 : tensor<4x2xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s1))/dot_general"(#loc32)), %out: f32 loc("jit(step)/transpose(jvp(epl.s1))/transpose"(#loc32))):
      linalg.yield %in : f32 loc(#loc45)
    } -> tensor<4x2xf32> loc(#loc45)
    %22 = tensor.empty() : tensor<8x4xf32> loc(#loc43)
    %23 = linalg.fill ins(%cst_1 : f32) outs(%22 : tensor<8x4xf32>) -> tensor<8x4xf32> loc(#loc43)
    %24 = linalg.generic {indexing_maps = [#map6, #map7, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%13, %arg1 : tensor<8x2xf32>, tensor<4x2xf32>) outs(%23 : tensor<8x4xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s1))/mul"(#loc29)), %in_2: f32 loc("v"(#loc1)), %out: f32 loc("jit(step)/transpose(jvp(epl.s1))/dot_general"(#loc32))):
      %40 = arith.mulf %in, %in_2 : f32 loc(#loc44)
      %41 = arith.addf %out, %40 : f32 loc(#loc43)
      linalg.yield %41 : f32 loc(#loc)
    } -> tensor<8x4xf32> loc(#loc43)
    %25 = tensor.empty() : tensor<8x4xf32> loc(#loc46)
    %26 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%24, %6 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%25 : tensor<8x4xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s1))/dot_general"(#loc32)), %in_2: f32 loc("jit(step)/jvp(epl.s0)/sub"(#loc31)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/mul"(#loc31))):
      %40 = arith.mulf %in, %in_2 : f32 loc(#loc46)
      linalg.yield %40 : f32 loc(#loc46)
    } -> tensor<8x4xf32> loc(#loc46)
    %27 = tensor.empty() : tensor<8x4xf32> loc(#loc46)
    %28 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%26, %4 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%27 : tensor<8x4xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/mul"(#loc31)), %in_2: f32 loc("jit(step)/jvp(epl.s0)/tanh"(#loc31)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/mul"(#loc31))):
      %40 = arith.mulf %in, %in_2 : f32 loc(#loc46)
      linalg.yield %40 : f32 loc(#loc46)
    } -> tensor<8x4xf32> loc(#loc46)
    %29 = tensor.empty() : tensor<8x4xf32> loc(#loc47)
    %30 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%26, %28 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%29 : tensor<8x4xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/mul"(#loc31)), %in_2: f32 loc("jit(step)/transpose(jvp(epl.s0))/mul"(#loc31)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/add_any"(#loc31))):
      %40 = arith.addf %in, %in_2 : f32 loc(#loc47)
      linalg.yield %40 : f32 loc(#loc47)
    } -> tensor<8x4xf32> loc(#loc47)
    %31 = tensor.empty() : tensor<4x3xf32> loc(#loc48)
    %32 = linalg.fill ins(%cst_1 : f32) outs(%31 : tensor<4x3xf32>) -> tensor<4x3xf32> loc(#loc48)
    %33 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%30, %arg2 : tensor<8x4xf32>, tensor<8x3xf32>) outs(%32 : tensor<4x3xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/add_any"(#loc31)), %in_2: f32 loc("x"(#loc1)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/dot_general"(#loc30))):
      %40 = arith.mulf %in, %in_2 : f32 loc(#loc47)
      %41 = arith.addf %out, %40 : f32 loc(#loc48)
      linalg.yield %41 : f32 loc(#loc)
    } -> tensor<4x3xf32> loc(#loc48)
    %34 = tensor.empty() : tensor<3x4xf32> loc(#loc49)
    %35 = linalg.generic {indexing_maps = [#map5, #map], iterator_types = ["parallel", "parallel"]} ins(%33 : tensor<4x3xf32>) outs(%34 : tensor<3x4xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp(epl.s0))/dot_general"(#loc30)), %out: f32 loc("jit(step)/transpose(jvp(epl.s0))/transpose"(#loc30))):
      linalg.yield %in : f32 loc(#loc49)
    } -> tensor<3x4xf32> loc(#loc49)
    %36 = tensor.empty() : tensor<3x4xf32> loc(#loc34)
    %37 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %35 : tensor<3x4xf32>, tensor<3x4xf32>) outs(%36 : tensor<3x4xf32>) {
    ^bb0(%in: f32 loc("w"(#loc1)), %in_2: f32 loc("jit(step)/transpose(jvp(epl.s0))/transpose"(#loc30)), %out: f32 loc("jit(step)/sub"(#loc26))):
      %40 = arith.subf %in, %in_2 : f32 loc(#loc34)
      linalg.yield %40 : f32 loc(#loc34)
    } -> tensor<3x4xf32> loc(#loc34)
    %38 = tensor.empty() : tensor<4x2xf32> loc(#loc35)
    %39 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg1, %21 : tensor<4x2xf32>, tensor<4x2xf32>) outs(%38 : tensor<4x2xf32>) {
    ^bb0(%in: f32 loc("v"(#loc1)), %in_2: f32 loc("jit(step)/transpose(jvp(epl.s1))/transpose"(#loc32)), %out: f32 loc("jit(step)/sub"(#loc27))):
      %40 = arith.subf %in, %in_2 : f32 loc(#loc35)
      linalg.yield %40 : f32 loc(#loc35)
    } -> tensor<4x2xf32> loc(#loc35)
    return %37, %39, %16 : tensor<3x4xf32>, tensor<4x2xf32>, tensor<f32> loc(#loc28)
  } loc(#loc1)
} loc(#loc)
#loc = loc(unknown)
#loc8 = loc("pipeline.py":7:19 to :39)
#loc21 = loc("step.<locals>.loss"(#loc8))
#loc28 = loc("jit(step)"(#loc17))
#loc33 = loc(callsite(#loc21 at #loc25))
#loc42 = loc("jit(step)/jvp(epl.s1)/reduce_sum"(#loc33))

