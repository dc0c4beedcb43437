// A training step as the JAX front end hands it over: four layers of stacked parameters, with a momentum and the norm of
// all gradients.
#loc1 = loc("stacks.py":2:1)
#loc2 = loc("stacks.py":7:42 to :54)
#loc3 = loc("stacks.py":2:19 to :62)
#loc4 = loc("stacks.py":7:22 to :30)
#loc5 = loc("stacks.py":4:22 to :68)
#loc6 = loc("stacks.py":5:22 to :49)
#loc7 = loc("stacks.py":4:49 to :54)
#loc8 = loc("stacks.py":4:22 to :75)
#loc10 = loc("reduce_sum")
#loc11 = loc("stacks.py":6:12 to :31)
#loc12 = loc("stacks.py":6:11 to :38)
#loc13 = loc("select_n")
#loc14 = loc("stacks.py":7:12 to :55)
#loc15 = loc("stacks.py":7:8 to :55)
#loc16 = loc("stacks.py":8:12 to :17)
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
#map2 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map3 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map5 = affine_map<(d0, d1) -> (d1, d0)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map7 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map8 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map9 = affine_map<(d0, d1, d2) -> ()>
#map10 = affine_map<() -> ()>
#loc17 = loc("state[0]"(#loc1))
#loc18 = loc("state[1]"(#loc1))
#loc19 = loc("x"(#loc1))
#loc20 = loc("step"(#loc2))
#loc21 = loc("step"(#loc3))
#loc22 = loc("step"(#loc4))
#loc23 = loc("step.<locals>.<lambda>"(#loc5))
#loc24 = loc("step"(#loc6))
#loc25 = loc("step.<locals>.<lambda>.<locals>.<lambda>"(#loc7))
#loc26 = loc("step.<locals>.<lambda>"(#loc8))
#loc28 = loc("reduce_sum:"(#loc10))
#loc29 = loc("step"(#loc11))
#loc30 = loc("step"(#loc12))
#loc31 = loc("step"(#loc14))
#loc32 = loc("step"(#loc15))
#loc33 = loc("step"(#loc16))
#loc34 = loc(callsite(#loc20 at #loc21))
#loc35 = loc(callsite(#loc22 at #loc21))
#loc36 = loc(callsite(#loc23 at #loc24))
#loc37 = loc(callsite(#loc24 at #loc21))
#loc38 = loc("dot_general"(#loc25))
#loc39 = loc("transpose"(#loc25))
#loc40 = loc(callsite(#loc29 at #loc21))
#loc41 = loc(callsite(#loc30 at #loc21))
#loc42 = loc(callsite(#loc31 at #loc21))
#loc43 = loc(callsite(#loc32 at #loc21))
#loc44 = loc(callsite(#loc33 at #loc21))
#loc46 = loc("jit(step)/mul"(#loc34))
#loc47 = loc("jit(step)/gt"(#loc35))
#loc49 = loc(callsite(#loc36 at #loc36))
#loc50 = loc(callsite(#loc23 at #loc37))
#loc51 = loc("squeeze"(#loc36))
#loc52 = loc(callsite(#loc26 at #loc37))
#loc55 = loc("dynamic_update_slice"(#loc36))
#loc56 = loc("jit(step)/mul"(#loc40))
#loc57 = loc("jit(step)/reduce_sum"(#loc41))
#loc58 = loc("jit(step)/jit(_where)"(#loc42))
#loc59 = loc("jit(step)/add"(#loc43))
#loc60 = loc("jit(step)/sub"(#loc44))
#loc61 = loc(callsite(#loc49 at #loc50))
#loc62 = loc("jit(step)/jvp()/mul"(#loc52))
#loc64 = loc("jit(step)/transpose(jvp())/mul"(#loc52))
#loc65 = loc(callsite(#loc13 at #loc58))
#loc67 = loc("jit(step)/jvp()/while/body/closed_call"(#loc61))
#loc68 = loc("jit(step)/transpose(jvp())/while/body/jit(dynamic_index_in_dim)"(#loc61))
#loc69 = loc("jit(step)/transpose(jvp())/while/body/closed_call"(#loc61))
#loc70 = loc("jit(step)/transpose(jvp())/while/body/jit(dynamic_update_index_in_dim)"(#loc61))
#loc73 = loc(callsite(#loc38 at #loc67))
#loc75 = loc(callsite(#loc51 at #loc68))
#loc76 = loc(callsite(#loc38 at #loc69))
#loc77 = loc(callsite(#loc39 at #loc69))
#loc79 = loc(callsite(#loc55 at #loc70))
module @step {
  func.func public @main(%arg0: tensor<4x4x4xf32> {epl.name = "state[0]", epl.role = "state"} loc("state[0]"(#loc1)), %arg1: tensor<4x4x4xf32> {epl.name = "state[1]", epl.role = "state"} loc("state[1]"(#loc1)), %arg2: tensor<4x4xf32> {epl.batch_dim = 0 : i64, epl.name = "x", epl.role = "batch"} loc("x"(#loc1))) -> (tensor<4x4x4xf32> {epl.name = "state[0]", epl.updates = 0 : i64}, tensor<4x4x4xf32> {epl.name = "state[1]", epl.updates = 1 : i64}, tensor<f32> {epl.name = "result[1]"}, tensor<f32> {epl.name = "result[2]"}) {
    %cst = arith.constant 2.000000e+00 : f32 loc(#loc46)
    %cst_0 = arith.constant 9.000000e+00 : f32 loc(#loc47)
    %cst_1 = arith.constant 0.000000e+00 : f32 loc(#loc)
    %extracted_slice = tensor.extract_slice %arg0[0, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32> loc(#loc71)
    %collapsed = tensor.collapse_shape %extracted_slice [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32> loc(#loc72)
    %0 = tensor.empty() : tensor<4x4xf32> loc(#loc73)
    %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc73)
    %2 = linalg.matmul ins(%arg2, %collapsed : tensor<4x4xf32>, tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc73)
    %extracted_slice_2 = tensor.extract_slice %arg0[1, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32> loc(#loc71)
    %collapsed_3 = tensor.collapse_shape %extracted_slice_2 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32> loc(#loc72)
    %3 = tensor.empty() : tensor<4x4xf32> loc(#loc73)
    %4 = linalg.fill ins(%cst_1 : f32) outs(%3 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc73)
    %5 = linalg.matmul ins(%2, %collapsed_3 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%4 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc73)
    %extracted_slice_4 = tensor.extract_slice %arg0[2, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32> loc(#loc71)
    %collapsed_5 = tensor.collapse_shape %extracted_slice_4 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32> loc(#loc72)
    %6 = tensor.empty() : tensor<4x4xf32> loc(#loc73)
    %7 = linalg.fill ins(%cst_1 : f32) outs(%6 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc73)
    %8 = linalg.matmul ins(%5, %collapsed_5 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%7 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc73)
    %extracted_slice_6 = tensor.extract_slice %arg0[3, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32> loc(#loc71)
    %collapsed_7 = tensor.collapse_shape %extracted_slice_6 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32> loc(#loc72)
    %9 = tensor.empty() : tensor<4x4xf32> loc(#loc73)
    %10 = linalg.fill ins(%cst_1 : f32) outs(%9 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc73)
    %11 = linalg.matmul ins(%8, %collapsed_7 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%10 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc73)
    %12 = tensor.empty() : tensor<4x4xf32> loc(#loc62)
    %13 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%11, %arg2 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%12 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc38 at #loc67)), %in_17: f32 loc("x"(#loc1)), %out: f32 loc("jit(step)/jvp()/mul"(#loc52))):
      %64 = arith.mulf %in, %in_17 : f32 loc(#loc62)
      linalg.yield %64 : f32 loc(#loc62)
    } -> tensor<4x4xf32> loc(#loc62)
    %14 = tensor.empty() : tensor<f32> loc(#loc63)
    %15 = linalg.fill ins(%cst_1 : f32) outs(%14 : tensor<f32>) -> tensor<f32> loc(#loc63)
    %16 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]} ins(%13 : tensor<4x4xf32>) outs(%15 : tensor<f32>) {
    ^bb0(%in: f32 loc("reduce_sum:"(#loc10)), %out: f32 loc("reduce_sum:"(#loc10))):
      %64 = arith.addf %out, %in : f32 loc(#loc63)
      linalg.yield %64 : f32 loc(#loc63)
    } -> tensor<f32> loc(#loc63)
    %extracted_slice_8 = tensor.extract_slice %arg0[3, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32> loc(#loc74)
    %collapsed_9 = tensor.collapse_shape %extracted_slice_8 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32> loc(#loc75)
    %17 = tensor.empty() : tensor<4x4xf32> loc(#loc76)
    %18 = linalg.fill ins(%cst_1 : f32) outs(%17 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc76)
    %19 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg2, %8 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%18 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp())/mul"(#loc52)), %in_17: f32 loc(callsite(#loc51 at #loc68)), %out: f32 loc(callsite(#loc38 at #loc69))):
      %64 = arith.mulf %in, %in_17 : f32 loc(#loc64)
      %65 = arith.addf %out, %64 : f32 loc(#loc76)
      linalg.yield %65 : f32 loc(#loc)
    } -> tensor<4x4xf32> loc(#loc76)
    %20 = tensor.empty() : tensor<4x4xf32> loc(#loc77)
    %21 = linalg.generic {indexing_maps = [#map5, #map], iterator_types = ["parallel", "parallel"]} ins(%19 : tensor<4x4xf32>) outs(%20 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc38 at #loc69)), %out: f32 loc(callsite(#loc39 at #loc69))):
      linalg.yield %in : f32 loc(#loc77)
    } -> tensor<4x4xf32> loc(#loc77)
    %22 = tensor.empty() : tensor<4x4xf32> loc(#loc76)
    %23 = linalg.fill ins(%cst_1 : f32) outs(%22 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc76)
    %24 = linalg.generic {indexing_maps = [#map6, #map7, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg2, %collapsed_9 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%23 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc("jit(step)/transpose(jvp())/mul"(#loc52)), %in_17: f32 loc(callsite(#loc51 at #loc68)), %out: f32 loc(callsite(#loc38 at #loc69))):
      %64 = arith.mulf %in, %in_17 : f32 loc(#loc64)
      %65 = arith.addf %out, %64 : f32 loc(#loc76)
      linalg.yield %65 : f32 loc(#loc)
    } -> tensor<4x4xf32> loc(#loc76)
    %expanded = tensor.expand_shape %21 [[0, 1], [2]] output_shape [1, 4, 4] : tensor<4x4xf32> into tensor<1x4x4xf32> loc(#loc78)
    %extracted_slice_10 = tensor.extract_slice %arg0[2, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32> loc(#loc74)
    %collapsed_11 = tensor.collapse_shape %extracted_slice_10 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32> loc(#loc75)
    %25 = tensor.empty() : tensor<4x4xf32> loc(#loc76)
    %26 = linalg.fill ins(%cst_1 : f32) outs(%25 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc76)
    %27 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%24, %5 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%26 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc38 at #loc69)), %in_17: f32 loc(callsite(#loc51 at #loc68)), %out: f32 loc(callsite(#loc38 at #loc69))):
      %64 = arith.mulf %in, %in_17 : f32 loc(#loc76)
      %65 = arith.addf %out, %64 : f32 loc(#loc76)
      linalg.yield %65 : f32 loc(#loc)
    } -> tensor<4x4xf32> loc(#loc76)
    %28 = tensor.empty() : tensor<4x4xf32> loc(#loc77)
    %29 = linalg.generic {indexing_maps = [#map5, #map], iterator_types = ["parallel", "parallel"]} ins(%27 : tensor<4x4xf32>) outs(%28 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc38 at #loc69)), %out: f32 loc(callsite(#loc39 at #loc69))):
      linalg.yield %in : f32 loc(#loc77)
    } -> tensor<4x4xf32> loc(#loc77)
    %30 = tensor.empty() : tensor<4x4xf32> loc(#loc76)
    %31 = linalg.fill ins(%cst_1 : f32) outs(%30 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc76)
    %32 = linalg.generic {indexing_maps = [#map6, #map7, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%24, %collapsed_11 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%31 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc38 at #loc69)), %in_17: f32 loc(callsite(#loc51 at #loc68)), %out: f32 loc(callsite(#loc38 at #loc69))):
      %64 = arith.mulf %in, %in_17 : f32 loc(#loc76)
      %65 = arith.addf %out, %64 : f32 loc(#loc76)
      linalg.yield %65 : f32 loc(#loc)
    } -> tensor<4x4xf32> loc(#loc76)
    %expanded_12 = tensor.expand_shape %29 [[0, 1], [2]] output_shape [1, 4, 4] : tensor<4x4xf32> into tensor<1x4x4xf32> loc(#loc78)
    %extracted_slice_13 = tensor.extract_slice %arg0[1, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32> loc(#loc74)
    %collapsed_14 = tensor.collapse_shape %extracted_slice_13 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32> loc(#loc75)
    %33 = tensor.empty() : tensor<4x4xf32> loc(#loc76)
    %34 = linalg.fill ins(%cst_1 : f32) outs(%33 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc76)
    %35 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%32, %2 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%34 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc38 at #loc69)), %in_17: f32 loc(callsite(#loc51 at #loc68)), %out: f32 loc(callsite(#loc38 at #loc69))):
      %64 = arith.mulf %in, %in_17 : f32 loc(#loc76)
      %65 = arith.addf %out, %64 : f32 loc(#loc76)
      linalg.yield %65 : f32 loc(#loc)
    } -> tensor<4x4xf32> loc(#loc76)
    %36 = tensor.empty() : tensor<4x4xf32> loc(#loc77)
    %37 = linalg.generic {indexing_maps = [#map5, #map], iterator_types = ["parallel", "parallel"]} ins(%35 : tensor<4x4xf32>) outs(%36 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc38 at #loc69)), %out: f32 loc(callsite(#loc39 at #loc69))):
      linalg.yield %in : f32 loc(#loc77)
    } -> tensor<4x4xf32> loc(#loc77)
    %38 = tensor.empty() : tensor<4x4xf32> loc(#loc76)
    %39 = linalg.fill ins(%cst_1 : f32) outs(%38 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc76)
    %40 = linalg.generic {indexing_maps = [#map6, #map7, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%32, %collapsed_14 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%39 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc38 at #loc69)), %in_17: f32 loc(callsite(#loc51 at #loc68)), %out: f32 loc(callsite(#loc38 at #loc69))):
      %64 = arith.mulf %in, %in_17 : f32 loc(#loc76)
      %65 = arith.addf %out, %64 : f32 loc(#loc76)
      linalg.yield %65 : f32 loc(#loc)
    } -> tensor<4x4xf32> loc(#loc76)
    %expanded_15 = tensor.expand_shape %37 [[0, 1], [2]] output_shape [1, 4, 4] : tensor<4x4xf32> into tensor<1x4x4xf32> loc(#loc78)
    %41 = tensor.empty() : tensor<4x4xf32> loc(#loc76)
    %42 = linalg.fill ins(%cst_1 : f32) outs(%41 : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc76)
    %43 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%40, %arg2 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%42 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc38 at #loc69)), %in_17: f32 loc(callsite(#loc51 at #loc68)), %out: f32 loc(callsite(#loc38 at #loc69))):
      %64 = arith.mulf %in, %in_17 : f32 loc(#loc76)
      %65 = arith.addf %out, %64 : f32 loc(#loc76)
      linalg.yield %65 : f32 loc(#loc)
    } -> tensor<4x4xf32> loc(#loc76)
    %44 = tensor.empty() : tensor<4x4xf32> loc(#loc77)
    %45 = linalg.generic {indexing_maps = [#map5, #map], iterator_types = ["parallel", "parallel"]} ins(%43 : tensor<4x4xf32>) outs(%44 : tensor<4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc38 at #loc69)), %out: f32 loc(callsite(#loc39 at #loc69))):
      linalg.yield %in : f32 loc(#loc77)
    } -> tensor<4x4xf32> loc(#loc77)
    %expanded_16 = tensor.expand_shape %45 [[0, 1], [2]] output_shape [1, 4, 4] : tensor<4x4xf32> into tensor<1x4x4xf32> loc(#loc78)
    %46 = "epl.concatenate"(%expanded_16, %expanded_15, %expanded_12, %expanded) {dim = 0 : i64} : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<4x4x4xf32> loc(#loc79)
    %47 = tensor.empty() : tensor<4x4x4xf32> loc(#loc56)
    %48 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%46, %46 : tensor<4x4x4xf32>, tensor<4x4x4xf32>) outs(%47 : tensor<4x4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc55 at #loc70)), %in_17: f32 loc(callsite(#loc55 at #loc70)), %out: f32 loc("jit(step)/mul"(#loc40))):
      %64 = arith.mulf %in, %in_17 : f32 loc(#loc56)
      linalg.yield %64 : f32 loc(#loc56)
    } -> tensor<4x4x4xf32> loc(#loc56)
    %49 = tensor.empty() : tensor<f32> loc(#loc57)
    %50 = linalg.fill ins(%cst_1 : f32) outs(%49 : tensor<f32>) -> tensor<f32> loc(#loc57)
    %51 = linalg.generic {indexing_maps = [#map8, #map9], iterator_types = ["reduction", "reduction", "reduction"]} ins(%48 : tensor<4x4x4xf32>) outs(%50 : tensor<f32>) {
    ^bb0(%in: f32 loc("reduce_sum:"(#loc10)), %out: f32 loc("reduce_sum:"(#loc10))):
      %64 = arith.addf %out, %in : f32 loc(#loc57)
      linalg.yield %64 : f32 loc(#loc57)
    } -> tensor<f32> loc(#loc57)
    %52 = tensor.empty() : tensor<i1> loc(#loc47)
    %53 = linalg.generic {indexing_maps = [#map10, #map10], iterator_types = []} ins(%51 : tensor<f32>) outs(%52 : tensor<i1>) {
    ^bb0(%in: f32 loc("jit(step)/reduce_sum"(#loc41)), %out: i1 loc("jit(step)/gt"(#loc35))):
      %64 = arith.cmpf ogt, %in, %cst_0 : f32 loc(#loc47)
      linalg.yield %64 : i1 loc(#loc47)
    } -> tensor<i1> loc(#loc47)
    %54 = tensor.empty() : tensor<4x4x4xf32> loc(#loc46)
    %55 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%46 : tensor<4x4x4xf32>) outs(%54 : tensor<4x4x4xf32>) {
    ^bb0(%in: f32 loc(callsite(#loc55 at #loc70)), %out: f32 loc("jit(step)/mul"(#loc34))):
      %64 = arith.mulf %in, %cst : f32 loc(#loc46)
      linalg.yield %64 : f32 loc(#loc46)
    } -> tensor<4x4x4xf32> loc(#loc46)
    %56 = tensor.empty() : tensor<4x4x4xi1> loc(#loc65)
    %57 = linalg.generic {indexing_maps = [#map9, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%53 : tensor<i1>) outs(%56 : tensor<4x4x4xi1>) {
    ^bb0(%in: i1 loc("jit(step)/gt"(#loc35)), %out: i1 loc(callsite(#loc13 at #loc58))):
      linalg.yield %in : i1 loc(#loc65)
    } -> tensor<4x4x4xi1> loc(#loc65)
    %58 = tensor.empty() : tensor<4x4x4xf32> loc(#loc65)
    %59 = linalg.generic {indexing_maps = [#map8, #map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%57, %46, %55 : tensor<4x4x4xi1>, tensor<4x4x4xf32>, tensor<4x4x4xf32>) outs(%58 : tensor<4x4x4xf32>) {
    ^bb0(%in: i1 loc(callsite(#loc13 at #loc58)), %in_17: f32 loc(callsite(#loc55 at #loc70)), %in_18: f32 loc("jit(step)/mul"(#loc34)), %out: f32 loc(callsite(#loc13 at #loc58))):
      %64 = arith.select %in, %in_17, %in_18 : f32 loc(#loc65)
      linalg.yield %64 : f32 loc(#loc65)
    } -> tensor<4x4x4xf32> loc(#loc65)
    %60 = tensor.empty() : tensor<4x4x4xf32> loc(#loc59)
    %61 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1, %59 : tensor<4x4x4xf32>, tensor<4x4x4xf32>) outs(%60 : tensor<4x4x4xf32>) {
    ^bb0(%in: f32 loc("state[1]"(#loc1)), %in_17: f32 loc(callsite(#loc13 at #loc58)), %out: f32 loc("jit(step)/add"(#loc43))):
      %64 = arith.addf %in, %in_17 : f32 loc(#loc59)
      linalg.yield %64 : f32 loc(#loc59)
    } -> tensor<4x4x4xf32> loc(#loc59)
    %62 = tensor.empty() : tensor<4x4x4xf32> loc(#loc60)
    %63 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %61 : tensor<4x4x4xf32>, tensor<4x4x4xf32>) outs(%62 : tensor<4x4x4xf32>) {
    ^bb0(%in: f32 loc("state[0]"(#loc1)), %in_17: f32 loc("jit(step)/add"(#loc43)), %out: f32 loc("jit(step)/sub"(#loc44))):
      %64 = arith.subf %in, %in_17 : f32 loc(#loc60)
      linalg.yield %64 : f32 loc(#loc60)
    } -> tensor<4x4x4xf32> loc(#loc60)
    return %63, %61, %16, %51 : tensor<4x4x4xf32>, tensor<4x4x4xf32>, tensor<f32>, tensor<f32> loc(#loc45)
  } loc(#loc1)
} loc(#loc)
#loc = loc(unknown)
#loc9 = loc("stacks.py":4:21 to :82)
#loc27 = loc("step.<locals>.<lambda>"(#loc9))
#loc45 = loc("jit(step)"(#loc21))
#loc48 = loc("dynamic_slice"(#loc36))
#loc53 = loc(callsite(#loc27 at #loc37))
#loc54 = loc("broadcast_in_dim"(#loc36))
#loc63 = loc("jit(step)/jvp()/reduce_sum"(#loc53))
#loc66 = loc("jit(step)/jvp()/while/body/jit(dynamic_index_in_dim)"(#loc61))
#loc71 = loc(callsite(#loc48 at #loc66))
#loc72 = loc(callsite(#loc51 at #loc66))
#loc74 = loc(callsite(#loc48 at #loc68))
#loc78 = loc(callsite(#loc54 at #loc70))
