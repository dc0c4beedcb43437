// epl-compile --devices=cpu:2
func.func @main(%x: tensor<16x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %w: tensor<8x8xf32> {epl.role = "state"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %a = math.absf %w : tensor<8x8xf32>
  %c = epl.loop_carry <0, trip_count = 2> 0 %a : tensor<8x8xf32> -> tensor<8x8xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%l: f32, %o: f32):
    %s = arith.addf %l, %l : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %z = epl.loop_last <0, trip_count = 2> 0 %n : tensor<8x8xf32>
  return %z, %a : tensor<8x8xf32>, tensor<8x8xf32>
}
