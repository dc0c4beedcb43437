// epl-compile --devices=cpu:6 --kernels=vectorized --cpu=host --micro-batches=4 --schedule=zb-h1
epl.mesh @mesh axes ["expert"=6, "data"=1, "model"=1]
func.func @main(%v1: tensor<72xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "batch[1]"}, %v2: tensor<72x24xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "batch[2]"}, %v3: tensor<7xf32> {epl.role = "state", epl.name = "params['layer'][3]"}, %v4: tensor<17xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data", "model"}]>, epl.name = "params['layer'][4]"}, %v5: tensor<2xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data", "model"}]>, epl.name = "params['layer'][5]"}, %v21: tensor<24x24xf32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{"expert"}, {"data"}]>, epl.name = "constants[21]"}) -> (tensor<7xf32> {epl.updates = 2 : i64, epl.name = "params['layer'][3]"}, tensor<17xf32> {epl.updates = 3 : i64, epl.name = "params['layer'][4]"}, tensor<2xf32> {epl.updates = 4 : i64, epl.name = "params['layer'][5]"}, tensor<72x24xf32> {epl.name = "results[3]"}, tensor<72x24xf32> {epl.name = "results[4]"}, tensor<2x24x24xf32> {epl.name = "results[5]"}, tensor<72x24xf32> {epl.name = "results[6]"}) {
%t0 = tensor.empty() : tensor<72x24xf32>
%v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v2, %v2, %v2 : tensor<72x24xf32>, tensor<72x24xf32>, tensor<72x24xf32>) outs(%t0 : tensor<72x24xf32>) {
^bb0(%in0: f32, %in1: f32, %in2: f32, %out0: f32):
%t1 = arith.subf %in0, %in1 : f32
%t2 = arith.constant 0.0 : f32
%t3 = arith.mulf %in2, %t2 : f32
%t4 = arith.mulf %t1, %t3 : f32
linalg.yield %t4 : f32
} -> tensor<72x24xf32> loc("jit(step)/jvp(f)/op0")
%t5 = tensor.empty() : tensor<72x24xf32>
%t6 = tensor.empty() : tensor<72x24xf32>
%v9, %v10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v2, %v1 : tensor<72x24xf32>, tensor<72xf32>) outs(%t5, %t6 : tensor<72x24xf32>, tensor<72x24xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32, %out1: f32):
%t7 = arith.constant -2.0 : f32
%t8 = arith.maximumf %in0, %t7 : f32
%t9 = arith.cmpf uge, %t8, %in1 : f32
%t10 = arith.constant -2.0 : f32
%t11 = arith.maximumf %in0, %t10 : f32
%t12 = arith.select %t9, %t11, %in1 : f32
%t13 = arith.maxnumf %in0, %in1 : f32
linalg.yield %t12, %t13 : f32, f32
} -> (tensor<72x24xf32>, tensor<72x24xf32>) loc("jit(step)/jvp(f)/op1")
%v11 = arith.cmpf ule, %v9, %v9 : tensor<72x24xf32> loc("jit(step)/jvp(f)/op2")
%v15 = arith.constant dense<-1.0> : tensor<7x5xf32> loc("jit(step)/jvp(f)/op3")
%t15 = tensor.empty() : tensor<72x24xf32>
%v16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0 * -1 + 71, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v9, %v11 : tensor<72x24xf32>, tensor<72x24xi1>) outs(%t15 : tensor<72x24xf32>) {
^bb0(%in0: f32, %in1: i1, %out0: f32):
%t16 = arith.uitofp %in1 : i1 to f32
%t17 = arith.minimumf %in0, %t16 : f32
linalg.yield %t17 : f32
} -> tensor<72x24xf32> loc("jit(step)/jvp(f)/op4")
%v17 = tensor.insert_slice %v15 into %v10[58, 0] [7, 5] [1, 1] : tensor<7x5xf32> into tensor<72x24xf32> loc("jit(step)/transpose(jvp(f))/op5")
%t18 = tensor.empty() : tensor<72x24xf32>
%t19 = tensor.empty() : tensor<72x24xf32>
%v18, %v19 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v16, %v1 : tensor<72x24xf32>, tensor<72xf32>) outs(%t18, %t19 : tensor<72x24xf32>, tensor<72x24xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32, %out1: f32):
%t20 = arith.constant -2.0 : f32
%t21 = arith.maximumf %in0, %t20 : f32
%t22 = arith.cmpf uge, %t21, %in1 : f32
%t23 = arith.constant -2.0 : f32
%t24 = arith.maximumf %in0, %t23 : f32
%t25 = arith.select %t22, %t24, %in1 : f32
%t26 = arith.maxnumf %in0, %in1 : f32
linalg.yield %t25, %t26 : f32, f32
} -> (tensor<72x24xf32>, tensor<72x24xf32>) loc("jit(step)/transpose(jvp(f))/op6")
%v30 = arith.constant dense<0.0> : tensor<72x24xf32> loc("jit(step)/transpose(jvp(f))/op7")
%t27 = epl.loop_carry <27, trip_count = 2> 0 %v9 : tensor<72x24xf32> -> tensor<72x24xf32>
%t28 = epl.loop_carry <27, trip_count = 2> 1 %v30 : tensor<72x24xf32> -> tensor<72x24xf32>
%t30 = tensor.empty() : tensor<24x24xf32>
%t31 = arith.constant 0.0 : f32
%t32 = linalg.fill ins(%t31 : f32) outs(%t30 : tensor<24x24xf32>) -> tensor<24x24xf32>
%t29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v9, %v18 : tensor<72x24xf32>, tensor<72x24xf32>) outs(%t32 : tensor<24x24xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32):
%t33 = arith.mulf %in0, %in1 : f32
%t34 = arith.addf %out0, %t33 : f32
linalg.yield %t34 : f32
} -> tensor<24x24xf32>
%t36 = tensor.empty() : tensor<72x24xf32>
%t35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%t27, %t27 : tensor<72x24xf32>, tensor<72x24xf32>) outs(%t36 : tensor<72x24xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32):
%t37 = arith.subf %in0, %in1 : f32
%t38 = arith.constant -1.0 : f32
%t39 = arith.maximumf %t37, %t38 : f32
%t40 = arith.constant 1.0 : f32
%t41 = arith.minimumf %t39, %t40 : f32
linalg.yield %t41 : f32
} -> tensor<72x24xf32>
%t42 = arith.addf %t28, %t35 : tensor<72x24xf32>
%v27 = epl.loop_last <27, trip_count = 2> 0 %t35 : tensor<72x24xf32>
%v31 = epl.loop_last <27, trip_count = 2> 1 %t42 : tensor<72x24xf32>
%v32 = epl.loop_stack <27, trip_count = 2> %t29 : tensor<24x24xf32> -> tensor<2x24x24xf32> loc("jit(step)/op8")
%t44 = tensor.empty() : tensor<i1>
%t45 = arith.constant true
%t46 = linalg.fill ins(%t45 : i1) outs(%t44 : tensor<i1>) -> tensor<i1>
%v33 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%v21 : tensor<24x24xf32>) outs(%t46 : tensor<i1>) {
^bb0(%in0: f32, %out0: i1):
%t47 = arith.constant -1.0 : f32
%t48 = arith.cmpf ogt, %in0, %t47 : f32
%t49 = arith.andi %out0, %t48 : i1
linalg.yield %t49 : i1
} -> tensor<i1> loc("jit(step)/op9")
%t50 = tensor.empty() : tensor<72x24xf32>
%v34 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v17 : tensor<72x24xf32>) outs(%t50 : tensor<72x24xf32>) {
^bb0(%in0: f32, %out0: f32):
linalg.yield %in0 : f32
} -> tensor<72x24xf32> loc("jit(step)/op10")
%t51 = tensor.empty() : tensor<72x24xf32>
%v35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v33, %v34, %v8 : tensor<i1>, tensor<72x24xf32>, tensor<72x24xf32>) outs(%t51 : tensor<72x24xf32>) {
^bb0(%in0: i1, %in1: f32, %in2: f32, %out0: f32):
%t52 = arith.select %in0, %in1, %in2 : f32
linalg.yield %t52 : f32
} -> tensor<72x24xf32> loc("jit(step)/op11")
%t53 = tensor.empty() : tensor<7xf32>
%v36 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v3 : tensor<7xf32>) outs(%t53 : tensor<7xf32>) {
^bb0(%in0: f32, %out0: f32):
%t54 = arith.constant 1.0 : f32
%t55 = arith.subf %in0, %t54 : f32
linalg.yield %t55 : f32
} -> tensor<7xf32> loc("jit(step)/op12")
%t56 = tensor.empty() : tensor<17xf32>
%v37 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v4, %v33 : tensor<17xf32>, tensor<i1>) outs(%t56 : tensor<17xf32>) {
^bb0(%in0: f32, %in1: i1, %out0: f32):
%t57 = arith.uitofp %in1 : i1 to f32
%t58 = arith.constant 1.0 : f32
%t59 = math.fma %in0, %t57, %t58 : f32
linalg.yield %t59 : f32
} -> tensor<17xf32> loc("jit(step)/op13")
%t60 = tensor.empty() : tensor<2xf32>
%v38 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v5, %v33 : tensor<2xf32>, tensor<i1>) outs(%t60 : tensor<2xf32>) {
^bb0(%in0: f32, %in1: i1, %out0: f32):
%t61 = arith.constant 0.0 : f32
%t62 = arith.maxnumf %in0, %t61 : f32
%t63 = arith.uitofp %in1 : i1 to f32
%t64 = arith.minnumf %t62, %t63 : f32
linalg.yield %t64 : f32
} -> tensor<2xf32> loc("jit(step)/op14")
return %v36, %v37, %v38, %v27, %v31, %v32, %v35 : tensor<7xf32>, tensor<17xf32>, tensor<2xf32>, tensor<72x24xf32>, tensor<72x24xf32>, tensor<2x24x24xf32>, tensor<72x24xf32>
}
// epl-compile --devices=cpu:6 --kernels=vectorized --cpu=host --micro-batches=4 --schedule=zb-h1 ended with 1:
// /tmp/tmp0mn24_1x/0.mlir:2: remark: no scope and no default strategy: the step is one 'replicate' over all devices
// /tmp/tmp0mn24_1x/0.mlir:49: remark: the loop of 2 iterations is part of a step in micro-batches, so it is unrolled
// <unknown>:0: error: loc("jit(step)/jvp(f)/op1"): 'epl.loop_stack' op is guarded by predicate 0, expected an "epl.predicate" of this number before it
