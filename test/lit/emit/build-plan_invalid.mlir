// RUN: not epl-compile %s --devices=cpu:2 -o %t.eplan 2>&1 | FileCheck %s
// RUN: not epl-compile %t.missing -o %t.eplan 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not epl-compile %s --devices=gpu:2 -o %t.eplan 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: not epl-compile %s --devices=cpu:0 -o %t.eplan 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: not bash -c 'ulimit -f 0; epl-compile --devices=cpu:1 %s -o %t.limited' 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: not epl-compile %s 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not epl-compile %s --reference --devices=cpu:2 -o %t.eplan 2>&1 | FileCheck %s --check-prefix=REFERENCE
// RUN: not epl-compile %s %t.missing -o %t.nowhere 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not epl-compile %s %s -o %S 2>&1 | FileCheck %s --check-prefix=TWICE

// CHECK: build-plan_invalid.mlir:[[#@LINE + 8]]:{{[0-9]+}}: error: dimension 0 of argument "x" of size 7 is not divisible by axis "data" of size 2
// MISSING: error: {{.*}}No such file or directory
// DEVICES: --devices: {{devices must be "cpu:N", "cuda:CARDS" or a count, found "gpu:2"|at least one device is needed, found "cpu:0"}}
// LIMIT: error: cannot write {{.*}}: File too large
// OUTPUT: -o is required
// REFERENCE: --reference: the reference runs on one device
// FOLDER: -o: "{{.*}}.nowhere" is not a folder, as several steps need
// TWICE: -o: two of the steps are to become "{{.*}}build-plan_invalid.eplan"
func.func @main(%x: tensor<7xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"}) -> tensor<7xf32> {
  return %x : tensor<7xf32>
}
