// epl-compile --devices=cpu:2 --kernels=loops --cpu=host --micro-batches=4
func.func @main(%v1: tensor<72xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v2: tensor<72x24xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v33: tensor<i1> {epl.role = "constant"}, %v15: tensor<7x5xf32> {epl.role = "constant"}, %v8: tensor<72x24xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<72x24xf32>) {
%t0 = tensor.empty() : tensor<72x24xf32>
%t1 = tensor.empty() : tensor<72x24xf32>
%v9, %v10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v2, %v1 : tensor<72x24xf32>, tensor<72xf32>) outs(%t0, %t1 : tensor<72x24xf32>, tensor<72x24xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32, %out1: f32):
linalg.yield %in0, %in0 : f32, f32
} -> (tensor<72x24xf32>, tensor<72x24xf32>)
%v17 = tensor.insert_slice %v15 into %v10[58, 0] [7, 5] [1, 1] : tensor<7x5xf32> into tensor<72x24xf32>
%t2 = tensor.empty() : tensor<72x24xf32>
%v34 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v17 : tensor<72x24xf32>) outs(%t2 : tensor<72x24xf32>) {
^bb0(%in0: f32, %out0: f32):
linalg.yield %in0 : f32
} -> tensor<72x24xf32>
%t3 = tensor.empty() : tensor<72x24xf32>
%v35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v33, %v34, %v8 : tensor<i1>, tensor<72x24xf32>, tensor<72x24xf32>) outs(%t3 : tensor<72x24xf32>) {
^bb0(%in0: i1, %in1: f32, %in2: f32, %out0: f32):
%t4 = arith.select %in0, %in1, %in2 : f32
linalg.yield %t4 : f32
} -> tensor<72x24xf32>
return %v35 : tensor<72x24xf32>
}
