// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-localize

epl.mesh @mesh axes ["data"=2]

// expected-error@+1 {{'func.func' op argument 0 has no "epl.sharding"}}
func.func @argument_without_sharding(%x: tensor<8xf32>) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]

func.func @result_without_sharding() {
  // expected-error@+1 {{'tensor.empty' op result 0 has no "epl.sharding"}}
  %0 = tensor.empty() : tensor<8xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=4]

// expected-error@+1 {{'func.func' op dimension 0 of argument 0 of size 7 is not divisible by 4, the size of its axes}}
func.func @not_divisible(%x: tensor<7x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op sharding of argument 0 names unknown mesh @nowhere}}
func.func @unknown_mesh(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@nowhere, [{"data"}]>}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]

// expected-error@+1 {{'func.func' op sharding of argument 0 names axis "model", which mesh "mesh" does not have}}
func.func @unknown_axis(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"model"}]>}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2]

// expected-error@+1 {{'func.func' op sharding of argument 0 has 1 dimensions, expected 2}}
func.func @rank(%x: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) {
  return
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]

// expected-error@+1 {{'func.func' op sharding of argument 0 splits dimension 0 by ["model", "data"], which is not the order of mesh "mesh": not supported yet}}
func.func @order_of_axes(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"model", "data"}]>}) {
  return
}

// -----

// A program that is local already.

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

func.func @tasks(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
  // expected-error@+1 {{'epl.task' op is not allowed at level "global": epl-localize or epl-form-tasks, which makes it, comes later}}
  %0 = epl.task <@tg0, forward> (%x) : (!epl.dist<tensor<8xf32>, <@mesh, [{}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
  ^bb0(%a: tensor<8xf32>):
    epl.yield %a : tensor<8xf32>
  }
  return %0 : !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
}

// -----

epl.mesh @mesh axes ["data"=2]
// expected-error@+1 {{'func.func' op is not allowed at level "global": it makes a distributed value}}
func.func @distributed(%x: !epl.dist<tensor<4xf32>, <@mesh, [{}]>>) {
  return
}
