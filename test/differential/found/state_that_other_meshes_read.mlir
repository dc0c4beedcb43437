// epl-compile --devices=cpu:4 --kernels=vectorized --cpu=x86-64-v4
func.func @main(%v3: tensor<1xf32> {epl.role = "state"}, %v4: tensor<8xf32> {epl.role = "state"}, %v11: tensor<8x12xf32> {epl.role = "state"}, %v19: tensor<12x8xf32> {epl.role = "state"}, %v26: tensor<6xf32> {epl.role = "state"}, %v35: tensor<4x6xf32> {epl.role = "constant"}, %v49: tensor<6x4xf32> {epl.role = "constant"}) -> (tensor<1xf32> {epl.updates = 0 : i64}, tensor<8xf32> {epl.updates = 1 : i64}, tensor<8x12xf32> {epl.updates = 2 : i64}, tensor<12x8xf32> {epl.updates = 3 : i64}, tensor<6xf32> {epl.updates = 4 : i64}, tensor<6xi1>, tensor<4x6xi1>, tensor<6x4xf32>, tensor<6x6x12x1xf32>) {
%s6, %s7 = epl.replicate name("s0") devices(1) -> tensor<f32>, tensor<8x8xf32> {
%t0 = tensor.empty() : tensor<f32>
%t1 = arith.constant 0x7f800000 : f32
%t2 = linalg.fill ins(%t1 : f32) outs(%t0 : tensor<f32>) -> tensor<f32>
%v6 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v4 : tensor<8xf32>) outs(%t2 : tensor<f32>) {
^bb0(%in0: f32, %out0: f32):
%t3 = arith.minimumf %out0, %in0 : f32
linalg.yield %t3 : f32
} -> tensor<f32>
%t4 = tensor.empty() : tensor<8x8xf32>
%v7 = linalg.broadcast ins(%v4 : tensor<8xf32>) outs(%t4 : tensor<8x8xf32>) dimensions = [1]
epl.yield %v6, %v7 : tensor<f32>, tensor<8x8xf32>
}
%s12 = epl.split devices(3) -> tensor<8x12xf32> {
%t5 = tensor.empty() : tensor<8x12xf32>
%t6 = arith.constant 0.0 : f32
%t7 = linalg.fill ins(%t6 : f32) outs(%t5 : tensor<8x12xf32>) -> tensor<8x12xf32>
%v12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%s7, %v11 : tensor<8x8xf32>, tensor<8x12xf32>) outs(%t7 : tensor<8x12xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32):
%t8 = arith.mulf %in0, %in1 : f32
%t9 = arith.addf %out0, %t8 : f32
linalg.yield %t9 : f32
} -> tensor<8x12xf32>
epl.yield %v12 : tensor<8x12xf32>
}
%s51, %s52, %s53, %s55, %s56, %s57, %s58 = epl.replicate name("s0") devices(1) -> tensor<6xi1>, tensor<4x6xi1>, tensor<6x4xf32>, tensor<6x6x12x1xf32>, tensor<8xf32>, tensor<12x8xf32>, tensor<6xf32> {
%v46 = arith.constant dense<0.0> : tensor<4x6xf32>
%t10 = epl.loop_carry <43, trip_count = 6> 0 %v35 : tensor<4x6xf32> -> tensor<4x6xf32>
%t11 = epl.loop_carry <43, trip_count = 6> 1 %v46 : tensor<4x6xf32> -> tensor<4x6xf32>
%t13 = tensor.empty() : tensor<4x6xf32>
%t12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v35, %s6 : tensor<4x6xf32>, tensor<f32>) outs(%t13 : tensor<4x6xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32):
%t14 = arith.cmpf une, %in0, %in1 : f32
%t15 = arith.select %t14, %in0, %in1 : f32
linalg.yield %t15 : f32
} -> tensor<4x6xf32>
%t17 = tensor.empty() : tensor<4x6xf32>
%t16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%t12, %t10 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%t17 : tensor<4x6xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32):
%t18 = arith.subf %in0, %in1 : f32
%t19 = arith.constant -1.0 : f32
%t20 = arith.maximumf %t18, %t19 : f32
%t21 = arith.constant 1.0 : f32
%t22 = arith.minimumf %t20, %t21 : f32
linalg.yield %t22 : f32
} -> tensor<4x6xf32>
%t24 = tensor.empty() : tensor<4x6xf32>
%t23 = linalg.map { arith.addf } ins(%t11, %t16 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%t24 : tensor<4x6xf32>)
%v43 = epl.loop_last <43, trip_count = 6> 0 %t16 : tensor<4x6xf32>
%v47 = epl.loop_last <43, trip_count = 6> 1 %t23 : tensor<4x6xf32>
%t25 = tensor.empty() : tensor<6xi1>
%t26 = arith.constant false
%t27 = linalg.fill ins(%t26 : i1) outs(%t25 : tensor<6xi1>) -> tensor<6xi1>
%v51 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v49 : tensor<6x4xf32>) outs(%t27 : tensor<6xi1>) {
^bb0(%in0: f32, %out0: i1):
%t28 = arith.constant 1.0 : f32
%t29 = arith.cmpf ogt, %in0, %t28 : f32
%t30 = arith.xori %out0, %t29 : i1
linalg.yield %t30 : i1
} -> tensor<6xi1>
%t31 = tensor.empty() : tensor<4x6xi1>
%v52 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v46, %v47 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%t31 : tensor<4x6xi1>) {
^bb0(%in0: f32, %in1: f32, %out0: i1):
%t32 = arith.cmpf ule, %in0, %in1 : f32
linalg.yield %t32 : i1
} -> tensor<4x6xi1>
%t33 = tensor.empty() : tensor<6x4xf32>
%v53 = linalg.transpose ins(%v46 : tensor<4x6xf32>) outs(%t33 : tensor<6x4xf32>) permutation = [1, 0]
%v54 = epl.gather %v35[] of [] operand_dims [3, 0] index_dims [2, 1] : (tensor<4x6xf32>) -> tensor<6x6x12x1xf32>
%t34 = tensor.empty() : tensor<6x6x12x1xf32>
%v55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v54 : tensor<6x6x12x1xf32>) outs(%t34 : tensor<6x6x12x1xf32>) {
^bb0(%in0: f32, %out0: f32):
%t35 = arith.constant 0.0 : f32
%t36 = arith.maxnumf %in0, %t35 : f32
linalg.yield %t36 : f32
} -> tensor<6x6x12x1xf32>
%t37 = tensor.empty() : tensor<8xf32>
%v56 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v4 : tensor<8xf32>) outs(%t37 : tensor<8xf32>) {
^bb0(%in0: f32, %out0: f32):
%t38 = arith.constant 1.0 : f32
%t39 = arith.subf %in0, %t38 : f32
linalg.yield %t39 : f32
} -> tensor<8xf32>
%t40 = tensor.empty() : tensor<12x8xf32>
%v57 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v19 : tensor<12x8xf32>) outs(%t40 : tensor<12x8xf32>) {
^bb0(%in0: f32, %out0: f32):
%t41 = arith.constant 1.0 : f32
%t42 = arith.subf %in0, %t41 : f32
linalg.yield %t42 : f32
} -> tensor<12x8xf32>
%t43 = tensor.empty() : tensor<6xf32>
%t44 = arith.constant 1.0 : f32
%v58 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v26 : tensor<6xf32>) outs(%t43 : tensor<6xf32>) {
^bb0(%in0: f32, %out0: f32):
%t45 = arith.addf %in0, %t44 : f32
linalg.yield %t45 : f32
} -> tensor<6xf32>
epl.yield %v51, %v52, %v53, %v55, %v56, %v57, %v58 : tensor<6xi1>, tensor<4x6xi1>, tensor<6x4xf32>, tensor<6x6x12x1xf32>, tensor<8xf32>, tensor<12x8xf32>, tensor<6xf32>
}
return %v3, %s56, %s12, %s57, %s58, %s51, %s52, %s53, %s55 : tensor<1xf32>, tensor<8xf32>, tensor<8x12xf32>, tensor<12x8xf32>, tensor<6xf32>, tensor<6xi1>, tensor<4x6xi1>, tensor<6x4xf32>, tensor<6x6x12x1xf32>
}
