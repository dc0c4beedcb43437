// RUN: not epl-opt %s -epl-seed-zero=level=v4 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: epl-opt %s -epl-seed-zero=level=v1 -verify-diagnostics

// LEVEL: Cannot find option named 'v4'

module {
  // expected-error@+1 {{is computed on no mesh, as the module has no epl.mesh}}
  func.func @step(%w: tensor<4xf32> {epl.role = "state"}) {
    return
  }
}
