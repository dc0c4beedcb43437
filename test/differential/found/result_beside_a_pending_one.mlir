// epl-compile --devices=cpu:1 --kernels=loops --micro-batches=3
func.func @main(%v0: tensor<3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v10: tensor<3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v9: tensor<3xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<f32>) {
%t0 = tensor.empty() : tensor<f32>
%t1 = arith.constant 0.0 : f32
%t2 = linalg.fill ins(%t1 : f32) outs(%t0 : tensor<f32>) -> tensor<f32>
%v11 = linalg.dot ins(%v0, %v10 : tensor<3xf32>, tensor<3xf32>) outs(%t2 : tensor<f32>) -> tensor<f32>
%t3 = tensor.empty() : tensor<f32>
%t4 = arith.constant 0.0 : f32
%t5 = linalg.fill ins(%t4 : f32) outs(%t3 : tensor<f32>) -> tensor<f32>
%v12, %v13 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v10, %v9 : tensor<3xf32>, tensor<3xf32>) outs(%v11, %t5 : tensor<f32>, tensor<f32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32, %out1: f32):
%t6 = arith.mulf %out0, %in0 : f32
%t7 = arith.addf %out1, %in0 : f32
linalg.yield %t6, %t7 : f32, f32
} -> (tensor<f32>, tensor<f32>)
return %v13 : tensor<f32>
}
