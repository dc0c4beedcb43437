// RUN: epl-opt %s --split-input-file --verify-diagnostics

// (C1) of epl.cluster
func.func @cluster(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.cluster' op block arguments have types ('tensor<2xf32>'), expected ('tensor<4xf32>')}}
  epl.cluster fusion (%x) : (tensor<4xf32>) -> () {
  ^bb0(%a: tensor<2xf32>):
    epl.yield
  }
  return
}

// -----

// (C2) of epl.cluster
func.func @cluster(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.cluster' op yielded values have types ('tensor<4xf32>'), expected ()}}
  epl.cluster fusion (%x) : (tensor<4xf32>) -> () {
  ^bb0(%a: tensor<4xf32>):
    epl.yield %a : tensor<4xf32>
  }
  return
}

// -----

// (C1) of epl.kernel
// expected-error@+1 {{'epl.kernel' op "in_place" has 0 entries, expected 1}}
epl.kernel @k0 fusion {
^bb0(%a: tensor<4xf32>):
  epl.yield %a : tensor<4xf32>
} {in_place = array<i32>}

// -----

// (C1) of epl.kernel
// expected-error@+1 {{'epl.kernel' op result 0 shares the storage of input 1, expected an input of type 'tensor<4xf32>'}}
epl.kernel @k0 fusion {
^bb0(%a: tensor<4xf32>):
  epl.yield %a : tensor<4xf32>
} {in_place = array<i32: 1>}

// -----

// (C1) of epl.kernel
// expected-error@+1 {{'epl.kernel' op result 0 shares the storage of input -2, expected an input of type 'tensor<4xf32>'}}
epl.kernel @k0 fusion {
^bb0(%a: tensor<4xf32>):
  epl.yield %a : tensor<4xf32>
} {in_place = array<i32: -2>}

// -----

// (C1) of epl.kernel
// expected-error@+1 {{'epl.kernel' op result 0 shares the storage of input 1, expected an input of type 'tensor<4xf32>'}}
epl.kernel @k0 fusion {
^bb0(%a: tensor<4xf32>, %b: tensor<4xi32>):
  epl.yield %a : tensor<4xf32>
} {in_place = array<i32: 1>}

// -----

// (C2) of epl.kernel
// expected-error@+1 {{'epl.kernel' op extent or workspace is negative}}
epl.kernel @k0 fusion {
} {extent = -1 : i64}

// -----

// (C2) of epl.kernel
// expected-error@+1 {{'epl.kernel' op extent or workspace is negative}}
epl.kernel @k0 fusion {
} {workspace = -8 : i64}

// -----

// (C2) of epl.kernel
// expected-error@+1 {{'epl.kernel' op has a negative number in #epl.copy<from = 0, to = -4, size = 16>}}
epl.kernel @k0 fusion {
^bb0(%a: tensor<4xf32>):
  epl.yield %a : tensor<4xf32>
} {copies = [#epl.copy<from = 0, to = -4, size = 16>]}

// -----

// (C1) of epl.launch
func.func @launch() {
  // expected-error@+1 {{'epl.launch' op names unknown kernel @k0}}
  epl.launch @k0() : () -> ()
  return
}

// -----

// (C1) of epl.launch
epl.kernel @k0 fusion {
^bb0(%a: tensor<4xf32>):
  epl.yield %a : tensor<4xf32>
}
func.func @launch() {
  // expected-error@+1 {{'epl.launch' op operands have types (), expected ('tensor<4xf32>')}}
  epl.launch @k0() : () -> ()
  return
}

// -----

// (C1) of epl.launch
epl.kernel @k0 fusion {
^bb0(%a: tensor<4xf32>):
  epl.yield %a : tensor<4xf32>
}
func.func @launch(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.launch' op results have types ('tensor<2xf32>'), expected ('tensor<4xf32>')}}
  %0 = epl.launch @k0(%x) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// (C3)
// expected-error@+1 {{'epl.kernel' op has 1 copies for 2 inputs and 1 results, expected one for each input and one result}}
epl.kernel @two_inputs fusion {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  epl.yield %a : tensor<4xf32>
} {copies = [#epl.copy<from = 0, to = 0, size = 16>]}

// -----

// (C5) of epl.kernel
// expected-error@+1 {{'epl.kernel' op has a tensor of type 'tensor<8x9223372036854775807xf32>', expected at most 2^40 elements}}
epl.kernel @k0 fusion {
^bb0(%a: tensor<8x9223372036854775807xf32>):
  epl.yield
}

// -----

// (C5) of epl.kernel
epl.kernel @k0 fusion {
  // expected-error@+1 {{'tensor.empty' op has a tensor of type 'tensor<1048577x1048576xf32>', expected at most 2^40 elements}}
  %0 = tensor.empty() : tensor<1048577x1048576xf32>
  epl.yield %0 : tensor<1048577x1048576xf32>
}

// -----

// (C4) of epl.kernel
// expected-error@+1 {{'epl.kernel' op has grid #epl.grid<blocks = 0, threads = 128, shared = 0, group = 1, slice = 1, extent = 4>, expected numbers from 1 to 2147483647, `shared` and `extent` from 0, `threads` a multiple of `group`}}
epl.kernel @k0 fusion {
  epl.yield
} {grids = [#epl.grid<blocks = 0, threads = 128, shared = 0, group = 1, slice = 1, extent = 4>]}

// -----

// (C4) of epl.kernel
// expected-error@+1 {{'epl.kernel' op has grid #epl.grid<blocks = 1, threads = 128, shared = -1, group = 1, slice = 1, extent = 4>, expected numbers}}
epl.kernel @k0 fusion {
  epl.yield
} {grids = [#epl.grid<blocks = 1, threads = 128, shared = -1, group = 1, slice = 1, extent = 4>]}

// -----

// (C4) of epl.kernel
// expected-error@+1 {{'epl.kernel' op has grid #epl.grid<blocks = 1, threads = 128, shared = 0, group = 96, slice = 1, extent = 4>, expected numbers}}
epl.kernel @k0 fusion {
  epl.yield
} {grids = [#epl.grid<blocks = 1, threads = 128, shared = 0, group = 1, slice = 1, extent = 4>, #epl.grid<blocks = 1, threads = 128, shared = 0, group = 96, slice = 1, extent = 4>]}
