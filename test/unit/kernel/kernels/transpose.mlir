// Transposes of elements of type $T.

#rc = affine_map<(d0, d1) -> (d0, d1)>
#cr = affine_map<(d0, d1) -> (d1, d0)>

epl.kernel @transpose fusion {
^bb0(%x: tensor<$Rx$Cx$T>):
  %e = tensor.empty() : tensor<$Cx$Rx$T>
  %y = linalg.generic {indexing_maps = [#cr, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<$Rx$Cx$T>) outs(%e : tensor<$Cx$Rx$T>) {
  ^bb0(%in: $T, %out: $T):
    linalg.yield %in : $T
  } -> tensor<$Cx$Rx$T>
  epl.yield %y : tensor<$Cx$Rx$T>
}

// The matrices of a batch.
epl.kernel @transpose_batches fusion {
^bb0(%x: tensor<3x$Rx1x$Cx$T>):
  %e = tensor.empty() : tensor<3x$Cx$Rx1x$T>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<3x$Rx1x$Cx$T>) outs(%e : tensor<3x$Cx$Rx1x$T>) {
  ^bb0(%in: $T, %out: $T):
    linalg.yield %in : $T
  } -> tensor<3x$Cx$Rx1x$T>
  epl.yield %y : tensor<3x$Cx$Rx1x$T>
}

// A dimension in the middle that stays there.
epl.kernel @transpose_outer fusion {
^bb0(%x: tensor<$Cx2x$Rx$T>):
  %e = tensor.empty() : tensor<$Rx2x$Cx$T>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<$Cx2x$Rx$T>) outs(%e : tensor<$Rx2x$Cx$T>) {
  ^bb0(%in: $T, %out: $T):
    linalg.yield %in : $T
  } -> tensor<$Rx2x$Cx$T>
  epl.yield %y : tensor<$Rx2x$Cx$T>
}
