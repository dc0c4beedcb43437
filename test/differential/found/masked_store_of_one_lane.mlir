// epl-compile --devices=cpu:4 --kernels=vectorized --cpu=x86-64-v4
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @main(%v1: tensor<2x17x17xbf16> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.sharding = #epl.sharding<@mesh, [{"data"}, {}, {}]>}, %v2: tensor<4xf64> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v3: tensor<2x17x2xbf16> {epl.role = "state"}, %v10: tensor<2x4xbf16> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {"data", "model"}]>}, %v11: tensor<4x12xf64> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"model"}, {}]>}, %v18: tensor<2x2x12xbf16> {epl.role = "state"}, %v22: tensor<4x8xbf16> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>}, %v26: tensor<8x3xbf16> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data", "model"}, {}]>}, %v31: tensor<2x17x3xbf16> {epl.role = "state"}) -> (tensor<2x17x2xbf16> {epl.updates = 2 : i64}, tensor<2x4xbf16> {epl.updates = 3 : i64}, tensor<4x12xf64> {epl.updates = 4 : i64}, tensor<2x2x12xbf16> {epl.updates = 5 : i64}, tensor<8x3xbf16> {epl.updates = 7 : i64}, tensor<2x17x3xbf16> {epl.updates = 8 : i64}, tensor<2x8xbf16>, tensor<2x2x17xbf16>, tensor<2x2x17xf64>, tensor<f64>) {
%t0 = tensor.empty() : tensor<2x17x2xbf16>
%t1 = arith.constant 0.0 : bf16
%t2 = linalg.fill ins(%t1 : bf16) outs(%t0 : tensor<2x17x2xbf16>) -> tensor<2x17x2xbf16>
%v4 = linalg.batch_matmul ins(%v1, %v3 : tensor<2x17x17xbf16>, tensor<2x17x2xbf16>) outs(%t2 : tensor<2x17x2xbf16>) -> tensor<2x17x2xbf16> loc("jit(step)/jvp(f)/op0")
%s23, %s24, %s32, %s33, %s34, %s35, %s36, %s37, %s38 = epl.replicate devices(1) -> tensor<2x8xbf16>, tensor<2x2x17xbf16>, tensor<2x2x17xf64>, tensor<f64>, tensor<2x17x2xbf16>, tensor<2x4xbf16>, tensor<4x12xf64>, tensor<2x2x12xbf16>, tensor<8x3xbf16> {
%t3 = tensor.empty() : tensor<12xf64>
%t4 = arith.constant 0.0 : f64
%t5 = linalg.fill ins(%t4 : f64) outs(%t3 : tensor<12xf64>) -> tensor<12xf64>
%v12 = linalg.vecmat ins(%v2, %v11 : tensor<4xf64>, tensor<4x12xf64>) outs(%t5 : tensor<12xf64>) -> tensor<12xf64> loc("jit(step)/jvp(f)/op1")
%t6 = tensor.empty() : tensor<2x2x17xbf16>
%v13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2, d1)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v4 : tensor<2x17x2xbf16>) outs(%t6 : tensor<2x2x17xbf16>) {
^bb0(%in0: bf16, %out0: bf16):
%t7 = arith.constant -1.0 : bf16
%t8 = arith.minnumf %in0, %t7 : bf16
linalg.yield %t8 : bf16
} -> tensor<2x2x17xbf16> loc("jit(step)/jvp(f)/op2")
%t9 = tensor.empty() : tensor<2xbf16>
%t10 = arith.constant -256.0 : bf16
%t11 = linalg.fill ins(%t10 : bf16) outs(%t9 : tensor<2xbf16>) -> tensor<2xbf16>
%t12 = tensor.empty() : tensor<2xbf16>
%t13 = arith.constant 0xff80 : bf16
%t14 = linalg.fill ins(%t13 : bf16) outs(%t12 : tensor<2xbf16>) -> tensor<2xbf16>
%v14, %v15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%v13 : tensor<2x2x17xbf16>) outs(%t11, %t14 : tensor<2xbf16>, tensor<2xbf16>) {
^bb0(%in0: bf16, %out0: bf16, %out1: bf16):
%t15 = arith.maximumf %out0, %in0 : bf16
%t16 = arith.maximumf %out1, %in0 : bf16
linalg.yield %t15, %t16 : bf16, bf16
} -> (tensor<2xbf16>, tensor<2xbf16>) loc("jit(step)/jvp(f)/op3")
%v16 = epl.constrain %v13 to <[{}, {}, {}]> : tensor<2x2x17xbf16> loc("jit(step)/jvp(f)/op4")
%t17 = tensor.empty() : tensor<i1>
%t18 = arith.constant true
%t19 = linalg.fill ins(%t18 : i1) outs(%t17 : tensor<i1>) -> tensor<i1>
%v17 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v15 : tensor<2xbf16>) outs(%t19 : tensor<i1>) {
^bb0(%in0: bf16, %out0: i1):
%t20 = arith.constant 0.0 : bf16
%t21 = arith.cmpf ogt, %in0, %t20 : bf16
%t22 = arith.andi %out0, %t21 : i1
linalg.yield %t22 : i1
} -> tensor<i1> loc("jit(step)/jvp(f)/op5")
%t23 = tensor.empty() : tensor<f64>
%t24 = arith.constant 0.0 : f64
%t25 = linalg.fill ins(%t24 : f64) outs(%t23 : tensor<f64>) -> tensor<f64>
%v19 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v12 : tensor<12xf64>) outs(%t25 : tensor<f64>) {
^bb0(%in0: f64, %out0: f64):
%t26 = arith.addf %out0, %in0 : f64
linalg.yield %t26 : f64
} -> tensor<f64> loc("jit(step)/jvp(f)/op6")
%t27 = tensor.empty() : tensor<f64>
%v20 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%v17, %v19, %v19 : tensor<i1>, tensor<f64>, tensor<f64>) outs(%t27 : tensor<f64>) {
^bb0(%in0: i1, %in1: f64, %in2: f64, %out0: f64):
%t28 = arith.select %in0, %in1, %in2 : f64
linalg.yield %t28 : f64
} -> tensor<f64> loc("jit(step)/jvp(f)/op7")
%t29 = tensor.empty() : tensor<2x8xbf16>
%t30 = arith.constant 0.0 : bf16
%t31 = linalg.fill ins(%t30 : bf16) outs(%t29 : tensor<2x8xbf16>) -> tensor<2x8xbf16>
%v23 = linalg.matmul ins(%v10, %v22 : tensor<2x4xbf16>, tensor<4x8xbf16>) outs(%t31 : tensor<2x8xbf16>) -> tensor<2x8xbf16> loc("jit(step)/transpose(jvp(f))/op8")
%v24 = epl.constrain %v13 to <[{}, {}, {}]> : tensor<2x2x17xbf16> loc("jit(step)/op9")
%t32 = tensor.empty() : tensor<i1>
%t33 = arith.constant false
%t34 = linalg.fill ins(%t33 : i1) outs(%t32 : tensor<i1>) -> tensor<i1>
%v25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]} ins(%v16 : tensor<2x2x17xbf16>) outs(%t34 : tensor<i1>) {
^bb0(%in0: bf16, %out0: i1):
%t35 = arith.constant 1.0 : bf16
%t36 = arith.cmpf ogt, %in0, %t35 : bf16
%t37 = arith.ori %out0, %t36 : i1
linalg.yield %t37 : i1
} -> tensor<i1> loc("jit(step)/op10")
%t38 = tensor.empty() : tensor<f64>
%t39 = arith.constant 1.0 : f64
%t40 = linalg.fill ins(%t39 : f64) outs(%t38 : tensor<f64>) -> tensor<f64>
%v27 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v15 : tensor<2xbf16>) outs(%t40 : tensor<f64>) {
^bb0(%in0: bf16, %out0: f64):
%t41 = arith.extf %in0 : bf16 to f64
%t42 = arith.mulf %out0, %t41 : f64
linalg.yield %t42 : f64
} -> tensor<f64> loc("jit(step)/op11")
%t43 = tensor.empty() : tensor<i1>
%t44 = arith.constant true
%t45 = linalg.fill ins(%t44 : i1) outs(%t43 : tensor<i1>) -> tensor<i1>
%v28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]} ins(%v16 : tensor<2x2x17xbf16>) outs(%t45 : tensor<i1>) {
^bb0(%in0: bf16, %out0: i1):
%t46 = arith.constant -1.0 : bf16
%t47 = arith.cmpf ogt, %in0, %t46 : bf16
%t48 = arith.andi %out0, %t47 : i1
linalg.yield %t48 : i1
} -> tensor<i1> loc("jit(step)/op12")
%v29 = arith.select %v28, %v27, %v20 : tensor<i1>, tensor<f64> loc("jit(step)/op13")
%v30 = arith.select %v28, %v27, %v29 : tensor<i1>, tensor<f64> loc("jit(step)/op14")
%t51 = tensor.empty() : tensor<2x2x17xf64>
%v32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v13 : tensor<2x2x17xbf16>) outs(%t51 : tensor<2x2x17xf64>) {
^bb0(%in0: bf16, %out0: f64):
%t52 = arith.extf %in0 : bf16 to f64
linalg.yield %t52 : f64
} -> tensor<2x2x17xf64> loc("jit(step)/op15")
%v33 = arith.select %v25, %v30, %v20 : tensor<i1>, tensor<f64> loc("jit(step)/op16")
%v34 = arith.negf %v3 : tensor<2x17x2xbf16> loc("jit(step)/op17")
%t55 = tensor.empty() : tensor<2x4xbf16>
%v35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v10 : tensor<2x4xbf16>) outs(%t55 : tensor<2x4xbf16>) {
^bb0(%in0: bf16, %out0: bf16):
linalg.yield %in0 : bf16
} -> tensor<2x4xbf16> loc("jit(step)/op18")
%t56 = tensor.empty() : tensor<4x12xf64>
%v36 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v11 : tensor<4x12xf64>) outs(%t56 : tensor<4x12xf64>) {
^bb0(%in0: f64, %out0: f64):
linalg.yield %in0 : f64
} -> tensor<4x12xf64> loc("jit(step)/op19")
%t57 = tensor.empty() : tensor<2x2x12xbf16>
%v37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v18 : tensor<2x2x12xbf16>) outs(%t57 : tensor<2x2x12xbf16>) {
^bb0(%in0: bf16, %out0: bf16):
%t58 = arith.constant 1.0 : bf16
%t59 = arith.subf %in0, %t58 : bf16
linalg.yield %t59 : bf16
} -> tensor<2x2x12xbf16> loc("jit(step)/op20")
%t60 = tensor.empty() : tensor<8x3xbf16>
%v38 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v26 : tensor<8x3xbf16>) outs(%t60 : tensor<8x3xbf16>) {
^bb0(%in0: bf16, %out0: bf16):
%t61 = arith.constant 1.0 : bf16
%t62 = arith.subf %in0, %t61 : bf16
linalg.yield %t62 : bf16
} -> tensor<8x3xbf16> loc("jit(step)/op21")
epl.yield %v23, %v24, %v32, %v33, %v34, %v35, %v36, %v37, %v38 : tensor<2x8xbf16>, tensor<2x2x17xbf16>, tensor<2x2x17xf64>, tensor<f64>, tensor<2x17x2xbf16>, tensor<2x4xbf16>, tensor<4x12xf64>, tensor<2x2x12xbf16>, tensor<8x3xbf16>
}
%t63 = tensor.empty() : tensor<2x17x3xbf16>
%v39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v31 : tensor<2x17x3xbf16>) outs(%t63 : tensor<2x17x3xbf16>) {
^bb0(%in0: bf16, %out0: bf16):
linalg.yield %in0 : bf16
} -> tensor<2x17x3xbf16> loc("jit(step)/op22")
return %s34, %s35, %s36, %s37, %s38, %v39, %s23, %s24, %s32, %s33 : tensor<2x17x2xbf16>, tensor<2x4xbf16>, tensor<4x12xf64>, tensor<2x2x12xbf16>, tensor<8x3xbf16>, tensor<2x17x3xbf16>, tensor<2x8xbf16>, tensor<2x2x17xbf16>, tensor<2x2x17xf64>, tensor<f64>
}
