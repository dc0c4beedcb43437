// RUN: not epl-compile %s --devices=cpu:1 -o %t.eplan 2>&1 | FileCheck %s

// CHECK: model.py:7:5: error: "epl.factorize" factors 40000 x 40000, whose workspace of {{.*}} elements is more than LAPACK's 32-bit indices reach

func.func @main(%a: tensor<40000x40000xf32> {epl.role = "constant", epl.name = "a"}) -> (tensor<40000xf32> {epl.name = "w"}) {
  %w = epl.replicate -> tensor<40000xf32> {
    %v, %values = epl.factorize eigh %a : (tensor<40000x40000xf32>) -> (tensor<40000x40000xf32>, tensor<40000xf32>) loc("model.py":7:5)
    epl.yield %values : tensor<40000xf32>
  }
  return %w : tensor<40000xf32>
}
