// RUN: epl-opt %s --split-input-file --verify-diagnostics --epl-annotate="devices=2 find-stages=2"

func.func @region(%x: tensor<4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<4xf32> {
  // expected-error@+1 {{scope in a step whose stages the compiler chooses (auto.auto_parallel, --auto-parallel), expected none; to cut a part of a step write epl.auto_stages}}
  %0 = epl.replicate -> tensor<4xf32> {
    %1 = math.tanh %x : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
