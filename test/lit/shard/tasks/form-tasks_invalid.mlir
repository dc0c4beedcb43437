// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-form-tasks

// expected-error@+1 {{'func.func' op argument 0 is 'tensor<8xf32>', expected an !epl.dist}}
func.func @plain_argument(%x: tensor<8xf32>) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]

func.func @no_work(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>) {
  %0 = epl.to_local %x : <tensor<8xf32>, <@mesh, [{}]>> -> tensor<8xf32>
  // expected-error@+1 {{'math.exp' op has no "epl.work"}}
  %1 = math.exp %0 {epl.sharding = [#epl.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

func.func @no_sharding(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>) {
  %0 = epl.to_local %x : <tensor<8xf32>, <@mesh, [{}]>> -> tensor<8xf32>
  // expected-error@+1 {{'math.exp' op has no "epl.sharding"}}
  %1 = math.exp %0 {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

func.func @scalar_beside_tensor(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>) {
  %0 = epl.to_local %x : <tensor<8xf32>, <@mesh, [{}]>> -> tensor<8xf32>
  %true = arith.constant true
  // expected-error@+1 {{'scf.if' op makes a value of type 'index', expected tensors only}}
  %1:2 = scf.if %true -> (tensor<8xf32>, index) {
    %i = arith.constant 1 : index
    scf.yield %0, %i : tensor<8xf32>, index
  } else {
    %i = arith.constant 2 : index
    scf.yield %0, %i : tensor<8xf32>, index
  } {epl.work = #epl.work<@tg0, forward>,
     epl.sharding = [#epl.sharding<@mesh, [{}]>, #epl.sharding<@mesh, []>]}
  return
}

// -----

// expected-error@+1 {{'func.func' op result 0 is 'f32', expected an !epl.dist}}
func.func @plain_result() -> f32 {
  %0 = arith.constant 0.0 : f32
  return %0 : f32
}

// -----

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @nowhere(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
  %0 = epl.to_local %x : !epl.dist<tensor<8xf32>, <@mesh, [{}]>> -> tensor<8xf32>
  // expected-error@below {{sharding of a result names unknown mesh @other}}
  %1 = math.exp %0 {epl.work = #epl.work<@tg0, forward>, epl.sharding = [#epl.sharding<@other, [{}]>]} : tensor<8xf32>
  %2 = epl.from_local %1 : tensor<8xf32> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return %2 : !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
}
