// epl-compile --devices=cpu:2 --kernels=loops --cpu=host --micro-batches=2 --schedule=1f1b
func.func @main(%v1: tensor<32xbf16> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v3: tensor<i8> {epl.role = "state"}, %v4: tensor<2x12xbf16> {epl.role = "state"}, %v5: tensor<bf16> {epl.role = "state"}, %v26: tensor<17x3xbf16> {epl.role = "state"}, %v44: tensor<32x1xbf16> {epl.role = "state"}, %v52: tensor<32x1xbf16> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v51: tensor<17x3xbf16> {epl.role = "constant"}, %v50: tensor<bf16> {epl.role = "constant"}, %v49: tensor<i8> {epl.role = "constant"}, %v47: tensor<32xbf16> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v48: tensor<32xbf16> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v36: tensor<32xbf16> {epl.role = "constant"}, %v16: tensor<32xbf16> {epl.role = "constant"}) -> (tensor<i8> {epl.updates = 1 : i64}, tensor<2x12xbf16> {epl.updates = 2 : i64}, tensor<bf16> {epl.updates = 3 : i64}, tensor<17x3xbf16> {epl.updates = 4 : i64}, tensor<32x1xbf16> {epl.updates = 5 : i64}, tensor<6x1xi8>, tensor<32xbf16>, tensor<32xbf16>, tensor<32xbf16>) {
%s13, %s20 = epl.split devices(1) -> tensor<32xbf16>, tensor<32xbf16> {
%t0 = epl.loop_carry <13, trip_count = 2> 0 %v1 : tensor<32xbf16> -> tensor<32xbf16>
%t3 = tensor.empty() : tensor<32xbf16>
%t4 = tensor.empty() : tensor<32xbf16>
%t1, %t2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%t0 : tensor<32xbf16>) outs(%t3, %t4 : tensor<32xbf16>, tensor<32xbf16>) {
^bb0(%in0: bf16, %out0: bf16, %out1: bf16):
%t5 = arith.negf %in0 : bf16
linalg.yield %in0, %t5 : bf16, bf16
} -> (tensor<32xbf16>, tensor<32xbf16>)
%t7 = tensor.empty() : tensor<32xbf16>
%t6 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%t2, %t0 : tensor<32xbf16>, tensor<32xbf16>) outs(%t7 : tensor<32xbf16>) {
^bb0(%in0: bf16, %in1: bf16, %out0: bf16):
%t8 = arith.subf %in0, %in1 : bf16
%t9 = arith.constant -1.0 : bf16
%t10 = arith.maximumf %t8, %t9 : bf16
%t11 = arith.constant 1.0 : bf16
%t12 = arith.minimumf %t10, %t11 : bf16
linalg.yield %t12 : bf16
} -> tensor<32xbf16>
%v13 = epl.loop_last <13, trip_count = 2> 0 %t6 : tensor<32xbf16>
%t13 = arith.constant 0.0 : bf16
%v20 = tensor.pad %v16 low[0] high[0] {
^bb0(%t14: index):
tensor.yield %t13 : bf16
} : tensor<32xbf16> to tensor<32xbf16>
epl.yield %v13, %v20 : tensor<32xbf16>, tensor<32xbf16>
}
%t15 = tensor.empty() : tensor<32xbf16>
%v21 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%s20 : tensor<32xbf16>) outs(%t15 : tensor<32xbf16>) {
^bb0(%in0: bf16, %out0: bf16):
linalg.yield %in0 : bf16
} -> tensor<32xbf16>
%t16 = tensor.empty() : tensor<32xbf16>
%v25 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%s20, %s20 : tensor<32xbf16>, tensor<32xbf16>) outs(%t16 : tensor<32xbf16>) {
^bb0(%in0: bf16, %in1: bf16, %out0: bf16):
%t17 = linalg.index 0 : index
%t18 = tensor.extract %s13[%t17] : tensor<32xbf16>
linalg.yield %t18 : bf16
} -> tensor<32xbf16>
%s39, %s40 = epl.replicate devices(1) -> tensor<i1>, tensor<6x32xf32> {
%t19 = tensor.empty() : tensor<i1>
%t20 = arith.constant true
%t21 = linalg.fill ins(%t20 : i1) outs(%t19 : tensor<i1>) -> tensor<i1>
%v39 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v21 : tensor<32xbf16>) outs(%t21 : tensor<i1>) {
^bb0(%in0: bf16, %out0: i1):
%t22 = arith.constant 1.0 : bf16
%t23 = arith.cmpf ogt, %in0, %t22 : bf16
%t24 = arith.andi %out0, %t23 : i1
linalg.yield %t24 : i1
} -> tensor<i1>
%t25 = tensor.empty() : tensor<6x32xf32>
%v40 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1, d0)>], iterator_types = ["parallel", "parallel"]} ins(%v16, %s13 : tensor<32xbf16>, tensor<32xbf16>) outs(%t25 : tensor<6x32xf32>) {
^bb0(%in0: bf16, %in1: bf16, %out0: f32):
%t26 = arith.extf %in0 : bf16 to f32
linalg.yield %t26 : f32
} -> tensor<6x32xf32>
epl.yield %v39, %v40 : tensor<i1>, tensor<6x32xf32>
}
%t27 = tensor.empty() : tensor<32xbf16>
%t28 = tensor.empty() : tensor<32xbf16>
%v42, %v43 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v25, %s20 : tensor<32xbf16>, tensor<32xbf16>) outs(%t27, %t28 : tensor<32xbf16>, tensor<32xbf16>) {
^bb0(%in0: bf16, %in1: bf16, %out0: bf16, %out1: bf16):
linalg.yield %in0, %in0 : bf16, bf16
} -> (tensor<32xbf16>, tensor<32xbf16>)
%t29 = tensor.empty() : tensor<6x1xi8>
%t30 = arith.constant 0 : i8
%t31 = linalg.fill ins(%t30 : i8) outs(%t29 : tensor<6x1xi8>) -> tensor<6x1xi8>
%v45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%s40, %v44 : tensor<6x32xf32>, tensor<32x1xbf16>) outs(%t31 : tensor<6x1xi8>) {
^bb0(%in0: f32, %in1: bf16, %out0: i8):
%t32 = arith.fptosi %in0 : f32 to i8
%t33 = arith.addi %out0, %t32 : i8
linalg.yield %t33 : i8
} -> tensor<6x1xi8>
%t34 = tensor.empty() : tensor<32xbf16>
%v46 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%s39, %v36, %v43 : tensor<i1>, tensor<32xbf16>, tensor<32xbf16>) outs(%t34 : tensor<32xbf16>) {
^bb0(%in0: i1, %in1: bf16, %in2: bf16, %out0: bf16):
linalg.yield %in1 : bf16
} -> tensor<32xbf16>
return %v49, %v4, %v50, %v51, %v52, %v45, %v46, %v47, %v48 : tensor<i8>, tensor<2x12xbf16>, tensor<bf16>, tensor<17x3xbf16>, tensor<32x1xbf16>, tensor<6x1xi8>, tensor<32xbf16>, tensor<32xbf16>, tensor<32xbf16>
}
// error: plan check: command #12 "send" of part 0 waits for what waits for it: the parts never end
