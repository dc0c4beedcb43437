// An evaluation step as the JAX front end hands it over, without locations: logits and accuracy of an MLP, batch 24.
#map = affine_map<(d0, d1) -> (d1)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> (0, d1)>
#map3 = affine_map<(d0, d1) -> ()>
#map4 = affine_map<(d0, d1) -> (d0)>
#map5 = affine_map<(d0) -> (d0)>
#map6 = affine_map<(d0) -> ()>
#map7 = affine_map<() -> ()>
module @evaluate {
  func.func public @main(%arg0: tensor<16xf32> {epl.name = "params['b0']", epl.role = "constant"}, %arg1: tensor<10xf32> {epl.name = "params['b1']", epl.role = "constant"}, %arg2: tensor<12x16xf32> {epl.name = "params['w0']", epl.role = "constant"}, %arg3: tensor<16x10xf32> {epl.name = "params['w1']", epl.role = "constant"}, %arg4: tensor<24x12xf32> {epl.batch_dim = 0 : i64, epl.name = "x", epl.role = "batch"}, %arg5: tensor<24xi32> {epl.batch_dim = 0 : i64, epl.name = "y", epl.role = "batch"}) -> (tensor<24x10xf32> {epl.name = "result[0]"}, tensor<f32> {epl.name = "result[1]"}) attributes {epl.default_strategy = #epl.strategy<replicate, 1>} {
    %cst = arith.constant 2.400000e+01 : f32
    %c0_i32 = arith.constant 0 : i32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<24x16xf32>
    %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<24x16xf32>) -> tensor<24x16xf32>
    %2 = linalg.matmul ins(%arg4, %arg2 : tensor<24x12xf32>, tensor<12x16xf32>) outs(%1 : tensor<24x16xf32>) -> tensor<24x16xf32>
    %3 = tensor.empty() : tensor<1x16xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<16xf32>) outs(%3 : tensor<1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x16xf32>
    %5 = tensor.empty() : tensor<24x16xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<1x16xf32>) outs(%5 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x16xf32>
    %7 = tensor.empty() : tensor<24x16xf32>
    %8 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%2, %6 : tensor<24x16xf32>, tensor<24x16xf32>) outs(%7 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %40 = arith.addf %in, %in_3 : f32
      linalg.yield %40 : f32
    } -> tensor<24x16xf32>
    %9 = tensor.empty() : tensor<24x16xf32>
    %10 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%9 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x16xf32>
    %11 = tensor.empty() : tensor<24x16xf32>
    %12 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%8, %10 : tensor<24x16xf32>, tensor<24x16xf32>) outs(%11 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %40 = arith.maximumf %in, %in_3 : f32
      linalg.yield %40 : f32
    } -> tensor<24x16xf32>
    %13 = tensor.empty() : tensor<24x10xf32>
    %14 = linalg.fill ins(%cst_1 : f32) outs(%13 : tensor<24x10xf32>) -> tensor<24x10xf32>
    %15 = linalg.matmul ins(%12, %arg3 : tensor<24x16xf32>, tensor<16x10xf32>) outs(%14 : tensor<24x10xf32>) -> tensor<24x10xf32>
    %16 = tensor.empty() : tensor<1x10xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<10xf32>) outs(%16 : tensor<1x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x10xf32>
    %18 = tensor.empty() : tensor<24x10xf32>
    %19 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%17 : tensor<1x10xf32>) outs(%18 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x10xf32>
    %20 = tensor.empty() : tensor<24x10xf32>
    %21 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%15, %19 : tensor<24x10xf32>, tensor<24x10xf32>) outs(%20 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %40 = arith.addf %in, %in_3 : f32
      linalg.yield %40 : f32
    } -> tensor<24x10xf32>
    %22 = tensor.empty() : tensor<24x10xi32>
    %23 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel"]} outs(%22 : tensor<24x10xi32>) {
    ^bb0(%out: i32):
      %40 = linalg.index 1 : index
      %41 = arith.index_cast %40 : index to i32
      linalg.yield %41 : i32
    } -> tensor<24x10xi32>
    %24 = tensor.empty() : tensor<24xf32>
    %25 = linalg.fill ins(%cst_0 : f32) outs(%24 : tensor<24xf32>) -> tensor<24xf32>
    %26 = tensor.empty() : tensor<24xi32>
    %27 = linalg.fill ins(%c0_i32 : i32) outs(%26 : tensor<24xi32>) -> tensor<24xi32>
    %28:2 = linalg.generic {indexing_maps = [#map1, #map1, #map4, #map4], iterator_types = ["parallel", "reduction"]} ins(%21, %23 : tensor<24x10xf32>, tensor<24x10xi32>) outs(%25, %27 : tensor<24xf32>, tensor<24xi32>) {
    ^bb0(%in: f32, %in_3: i32, %out: f32, %out_4: i32):
      %40 = arith.cmpf ogt, %out, %in : f32
      %41 = arith.cmpf une, %out, %out : f32
      %42 = arith.ori %40, %41 : i1
      %43 = arith.cmpf oeq, %out, %in : f32
      %44 = arith.cmpi slt, %out_4, %in_3 : i32
      %45 = arith.andi %43, %44 : i1
      %46 = arith.ori %42, %45 : i1
      %47 = arith.select %42, %out, %in : f32
      %48 = arith.select %46, %out_4, %in_3 : i32
      linalg.yield %47, %48 : f32, i32
    } -> (tensor<24xf32>, tensor<24xi32>)
    %29 = tensor.empty() : tensor<24xi1>
    %30 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%28#1, %arg5 : tensor<24xi32>, tensor<24xi32>) outs(%29 : tensor<24xi1>) {
    ^bb0(%in: i32, %in_3: i32, %out: i1):
      %40 = arith.cmpi eq, %in, %in_3 : i32
      linalg.yield %40 : i1
    } -> tensor<24xi1>
    %31 = tensor.empty() : tensor<24xi32>
    %32 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel"]} ins(%30 : tensor<24xi1>) outs(%31 : tensor<24xi32>) {
    ^bb0(%in: i1, %out: i32):
      %40 = arith.extui %in : i1 to i32
      linalg.yield %40 : i32
    } -> tensor<24xi32>
    %33 = tensor.empty() : tensor<24xf32>
    %34 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel"]} ins(%32 : tensor<24xi32>) outs(%33 : tensor<24xf32>) {
    ^bb0(%in: i32, %out: f32):
      %40 = arith.sitofp %in : i32 to f32
      linalg.yield %40 : f32
    } -> tensor<24xf32>
    %35 = tensor.empty() : tensor<f32>
    %36 = linalg.fill ins(%cst_1 : f32) outs(%35 : tensor<f32>) -> tensor<f32>
    %37 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["reduction"]} ins(%34 : tensor<24xf32>) outs(%36 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.addf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<f32>
    %38 = tensor.empty() : tensor<f32>
    %39 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = []} ins(%37 : tensor<f32>) outs(%38 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.divf %in, %cst : f32
      linalg.yield %40 : f32
    } -> tensor<f32>
    return %21, %39 : tensor<24x10xf32>, tensor<f32>
  }
}

