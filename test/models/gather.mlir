// A step that gathers its batch in two layouts, without locations: rows reversed, and products of all pairs of rows.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (-d0 + 23, d1)>
#map2 = affine_map<(d0, d1) -> (d1, d0)>
#map3 = affine_map<(d0, d1) -> (d0)>
module @gather {
  func.func public @main(%arg0: tensor<12x16xf32> {epl.name = "w", epl.role = "constant"}, %arg1: tensor<24x12xf32> {epl.batch_dim = 0 : i64, epl.name = "x", epl.role = "batch"}) -> (tensor<24x16xf32> {epl.name = "result[0]"}, tensor<24xf32> {epl.name = "result[1]"}) attributes {epl.default_strategy = #epl.strategy<replicate, 1>} {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<24x16xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<24x16xf32>) -> tensor<24x16xf32>
    %2 = linalg.matmul ins(%arg1, %arg0 : tensor<24x12xf32>, tensor<12x16xf32>) outs(%1 : tensor<24x16xf32>) -> tensor<24x16xf32>
    %3 = tensor.empty() : tensor<24x16xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<24x16xf32>) outs(%3 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %15 = math.tanh %in : f32
      linalg.yield %15 : f32
    } -> tensor<24x16xf32>
    %5 = tensor.empty() : tensor<24x16xf32>
    %6 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<24x16xf32>) outs(%5 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x16xf32>
    %7 = tensor.empty() : tensor<16x24xf32>
    %8 = linalg.generic {indexing_maps = [#map2, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<24x16xf32>) outs(%7 : tensor<16x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x24xf32>
    %9 = tensor.empty() : tensor<24x24xf32>
    %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<24x24xf32>) -> tensor<24x24xf32>
    %11 = linalg.matmul ins(%2, %8 : tensor<24x16xf32>, tensor<16x24xf32>) outs(%10 : tensor<24x24xf32>) -> tensor<24x24xf32>
    %12 = tensor.empty() : tensor<24xf32>
    %13 = linalg.fill ins(%cst : f32) outs(%12 : tensor<24xf32>) -> tensor<24xf32>
    %14 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "reduction"]} ins(%11 : tensor<24x24xf32>) outs(%13 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %15 = arith.addf %out, %in : f32
      linalg.yield %15 : f32
    } -> tensor<24xf32>
    return %6, %14 : tensor<24x16xf32>, tensor<24xf32>
  }
}

