// RUN: epl-opt %s --split-input-file --verify-diagnostics

// (C1)
func.func @replicate() {
  // expected-error@+1 {{'epl.replicate' op device count is 0, expected at least 1}}
  epl.replicate devices(0) {
  }
  return
}

// -----

// (C1)
func.func @split() {
  // expected-error@+1 {{'epl.split' op device count is -1, expected at least 1}}
  epl.split devices(-1) {
  }
  return
}

// -----

// (C2)
func.func @yield(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.replicate' op yields types (), expected the result types ('tensor<4xf32>')}}
  %0 = epl.replicate -> tensor<4xf32> {
    epl.yield
  }
  return
}

// -----

// (C2)
func.func @yield(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.split' op yields types ('tensor<4xf32>'), expected the result types ('tensor<2xf32>')}}
  %0 = epl.split -> tensor<2xf32> {
    epl.yield %x : tensor<4xf32>
  }
  return
}

// -----

// (C3)
func.func @nested() {
  // expected-note@+1 {{enclosing scope "outer" declared here}}
  epl.replicate name("outer") {
    // expected-error@+1 {{'epl.split' op cannot be nested in 'epl.replicate'}}
    epl.split {
    }
  }
  return
}

// -----

// (C3)
func.func @nested_deep(%c: i1) {
  // expected-note@+1 {{enclosing scope without a name ('epl.split') declared here}}
  epl.split {
    scf.if %c {
      // expected-error@+1 {{'epl.split' op cannot be nested in 'epl.split'}}
      epl.split {
      }
    }
  }
  return
}

// -----

// (C1) of epl.constrain
func.func @rank(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.constrain' op constraint has 2 dimensions, expected 1}}
  %0 = epl.constrain %x to <[{}, {}]> : tensor<4xf32>
  return
}

// -----

// (C2)
func.func @no_yield() {
  // expected-error@+1 {{ends with 'func.return', expected 'epl.yield'}}
  "epl.replicate"() <{device_count = 1 : i64}> ({
    "func.return"() : () -> ()
  }) : () -> ()
  return
}
