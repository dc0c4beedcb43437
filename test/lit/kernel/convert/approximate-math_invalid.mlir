// RUN: epl-opt %s --split-input-file --epl-approximate-math --verify-diagnostics

func.func @long_vector(%x: vector<8192xf32>) -> vector<8192xf32> {
  // expected-error@+1 {{'math.exp' op has a vector of type 'vector<8192xf32>', expected one dimension of at most 4096 elements}}
  %0 = math.exp %x : vector<8192xf32>
  return %0 : vector<8192xf32>
}

// -----

func.func @no_dimension(%x: vector<f32>) -> vector<f32> {
  // expected-error@+1 {{'math.exp' op has a vector of type 'vector<f32>', expected one dimension of at most 4096 elements}}
  %0 = math.exp %x : vector<f32>
  return %0 : vector<f32>
}
