// epl-compile --devices=cpu:2 --kernels=loops --cpu=host --micro-batches=3 --schedule=1f1b
func.func @main(%v0: tensor<6x5xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v1: tensor<12xi64> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v3: tensor<5x5xf32> {epl.role = "state"}, %v4: tensor<6x8xf32> {epl.role = "state"}, %v5: tensor<7xi64> {epl.role = "state"}, %v45: tensor<7xi64> {epl.role = "constant"}, %v44: tensor<6x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v43: tensor<5x5xf32> {epl.role = "constant"}, %v42: tensor<6x5xi64> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v40: tensor<6x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v13: tensor<5xf32> {epl.role = "constant"}, %v9: tensor<6x8xf32> {epl.role = "constant"}) -> (tensor<5x5xf32> {epl.updates = 2 : i64}, tensor<6x8xf32> {epl.updates = 3 : i64}, tensor<7xi64> {epl.updates = 4 : i64}, tensor<6x6xf32>, tensor<6x8xf32>, tensor<12xi1>, tensor<6x5xi64>, tensor<6x5xi64>) {
%s10 = epl.replicate name("s0") devices(1) -> tensor<6x8xi1> {
%t0 = tensor.empty() : tensor<6x8xi1>
%v10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v9 : tensor<6x8xf32>) outs(%t0 : tensor<6x8xi1>) {
^bb0(%in0: f32, %out0: i1):
%t1 = arith.constant 2.0 : f32
%t2 = arith.cmpf ogt, %in0, %t1 : f32
linalg.yield %t2 : i1
} -> tensor<6x8xi1>
epl.yield %v10 : tensor<6x8xi1>
}
%s14, %s15 = epl.split devices(1) -> tensor<6x5xf32>, tensor<6x8xi1> {
%t3 = tensor.empty() : tensor<6x5xf32>
%v14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v0, %v13 : tensor<6x5xf32>, tensor<5xf32>) outs(%t3 : tensor<6x5xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32):
linalg.yield %in0 : f32
} -> tensor<6x5xf32>
%v15 = epl.constrain %s10 to <[{"data"}, {}]> : tensor<6x8xi1>
epl.yield %v14, %v15 : tensor<6x5xf32>, tensor<6x8xi1>
}
%s38, %s41 = epl.replicate name("s0") devices(1) -> tensor<6x6xf32>, tensor<12xi1> {
%t4 = tensor.empty() : tensor<6x6xf32>
%t5 = arith.constant 0.0 : f32
%t6 = linalg.fill ins(%t5 : f32) outs(%t4 : tensor<6x6xf32>) -> tensor<6x6xf32>
%v38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%s14, %s14 : tensor<6x5xf32>, tensor<6x5xf32>) outs(%t6 : tensor<6x6xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32):
%t7 = arith.addf %out0, %in0 : f32
linalg.yield %t7 : f32
} -> tensor<6x6xf32>
%v41 = epl.gather %s15[%v1] of [0] operand_dims [-1, -1] index_dims [0] : (tensor<6x8xi1>, tensor<12xi64>) -> tensor<12xi1>
epl.yield %v38, %v41 : tensor<6x6xf32>, tensor<12xi1>
}
return %v43, %v44, %v45, %s38, %v40, %s41, %v42, %v42 : tensor<5x5xf32>, tensor<6x8xf32>, tensor<7xi64>, tensor<6x6xf32>, tensor<6x8xf32>, tensor<12xi1>, tensor<6x5xi64>, tensor<6x5xi64>
}
