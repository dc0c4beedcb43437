// epl-compile --devices=cpu:8 --kernels=loops --cpu=x86-64
func.func @main(%v3: tensor<3xi64> {epl.role = "state"}, %v4: tensor<5xi16> {epl.role = "state"}, %v6: tensor<4x3xi16> {epl.role = "state"}, %v19: tensor<4x3xi16> {epl.role = "constant"}, %v18: tensor<5xi16> {epl.role = "constant"}, %v17: tensor<3xi64> {epl.role = "constant"}, %v15: tensor<2x8x3xi16> {epl.role = "constant"}, %v14: tensor<f32> {epl.role = "constant"}) -> (tensor<3xi64> {epl.updates = 0 : i64}, tensor<5xi16> {epl.updates = 1 : i64}, tensor<4x3xi16> {epl.updates = 2 : i64}, tensor<2x3xi16>, tensor<2x3xi16>, tensor<2x8x3xi16>, tensor<f32>) {
%s8, %s9 = epl.split devices(1) -> tensor<2x3xi16>, tensor<4x3xi16> {
%v7 = tensor.extract_slice %v6[2, 0] [2, 3] [1, 1] : tensor<4x3xi16> to tensor<2x3xi16>
%t0 = tensor.empty() : tensor<2x3xi16>
%v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v7 : tensor<2x3xi16>) outs(%t0 : tensor<2x3xi16>) {
^bb0(%in0: i16, %out0: i16):
linalg.yield %in0 : i16
} -> tensor<2x3xi16>
%v9 = epl.constrain %v6 to <[{"data"}, {}]> : tensor<4x3xi16>
epl.yield %v8, %v9 : tensor<2x3xi16>, tensor<4x3xi16>
}
%s12, %s16 = epl.split devices(1) -> tensor<2x3xi16>, tensor<f32> {
%v11 = tensor.extract_slice %v6[1, 0] [2, 3] [1, 1] : tensor<4x3xi16> to tensor<2x3xi16>
%t1 = tensor.empty() : tensor<2x3xi16>
%v12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v11 : tensor<2x3xi16>) outs(%t1 : tensor<2x3xi16>) {
^bb0(%in0: i16, %out0: i16):
linalg.yield %in0 : i16
} -> tensor<2x3xi16>
%t2 = tensor.empty() : tensor<i1>
%t3 = arith.constant true
%t4 = linalg.fill ins(%t3 : i1) outs(%t2 : tensor<i1>) -> tensor<i1>
%v13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%s9 : tensor<4x3xi16>) outs(%t4 : tensor<i1>) {
^bb0(%in0: i16, %out0: i1):
%t5 = arith.constant 0 : i16
%t6 = arith.cmpi sgt, %in0, %t5 : i16
%t7 = arith.andi %out0, %t6 : i1
linalg.yield %t7 : i1
} -> tensor<i1>
%t8 = tensor.empty() : tensor<f32>
%v16 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%v13, %v14, %v14 : tensor<i1>, tensor<f32>, tensor<f32>) outs(%t8 : tensor<f32>) {
^bb0(%in0: i1, %in1: f32, %in2: f32, %out0: f32):
%t9 = arith.select %in0, %in1, %in2 : f32
linalg.yield %t9 : f32
} -> tensor<f32>
epl.yield %v12, %v16 : tensor<2x3xi16>, tensor<f32>
}
return %v17, %v18, %v19, %s8, %s12, %v15, %s16 : tensor<3xi64>, tensor<5xi16>, tensor<4x3xi16>, tensor<2x3xi16>, tensor<2x3xi16>, tensor<2x8x3xi16>, tensor<f32>
}

