// epl-compile --devices=cpu:1 --kernels=loops --cpu=x86-64 --micro-batches=4
func.func @main(%x: tensor<8xf64> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "batch[0]"}, %w: tensor<3xf64> {epl.role = "state", epl.name = "params['layer'][1]"}) -> (tensor<3xf64> {epl.updates = 1 : i64, epl.name = "params['layer'][1]"}, tensor<f64> {epl.name = "results[1]"}, tensor<3xf64> {epl.name = "results[2]"}, tensor<8xf64> {epl.name = "results[3]"}) {
%t0 = arith.constant dense<0.0> : tensor<f64>
%sum = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<8xf64>) outs(%t0 : tensor<f64>) {
^bb0(%in0: f64, %out0: f64):
%t1 = arith.addf %in0, %out0 : f64
linalg.yield %t1 : f64
} -> tensor<f64>
%t2 = epl.loop_carry <7, trip_count = 3> 0 %w : tensor<3xf64> -> tensor<3xf64>
%t3 = arith.addf %t2, %t2 : tensor<3xf64>
%last = epl.loop_last <7, trip_count = 3> 0 %t3 : tensor<3xf64>
%same = epl.loop_last <7, trip_count = 3> 1 %sum : tensor<f64>
%stack = epl.loop_stack <7, trip_count = 3> %sum : tensor<f64> -> tensor<3xf64>
%t4 = tensor.empty() : tensor<8xf64>
%y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf64>) outs(%t4 : tensor<8xf64>) {
^bb0(%in0: f64, %out0: f64):
%t5 = arith.constant 2 : index
%t6 = tensor.extract %last[%t5] : tensor<3xf64>
%t7 = arith.addf %in0, %t6 : f64
linalg.yield %t7 : f64
} -> tensor<8xf64>
return %last, %same, %stack, %y : tensor<3xf64>, tensor<f64>, tensor<3xf64>, tensor<8xf64>
}
