// RUN: epl-opt %s --split-input-file --verify-diagnostics

// (C1) of epl.to_local
epl.mesh @mesh axes ["data"=2]
func.func @to_local(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.to_local' op local type of the result is 'tensor<8xf32>', expected 'tensor<4xf32>'}}
  %0 = epl.to_local %x : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>> -> tensor<8xf32>
  return
}

// -----

// (C1) of epl.to_local
func.func @to_local(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.to_local' op sharding of the result names unknown mesh @mesh}}
  %0 = epl.to_local %x : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>> -> tensor<8xf32>
  return
}

// -----

// (C1) of epl.from_local
epl.mesh @mesh axes ["data"=2]
func.func @from_local(%x: tensor<8xf32>) {
  // expected-error@+1 {{'epl.from_local' op local type of the operand is 'tensor<8xf32>', expected 'tensor<4xf32>'}}
  %0 = epl.from_local %x : tensor<8xf32> -> !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
  return
}

// -----

// (C1) of epl.axis_index
epl.mesh @mesh axes ["data"=2]
func.func @axis_index() {
  // expected-error@+1 {{'epl.axis_index' op names axis "model", which mesh "mesh" does not have}}
  %0 = epl.axis_index @mesh "model"
  return
}

// -----

// (C1) of epl.axis_index
func.func @axis_index() {
  // expected-error@+1 {{'epl.axis_index' op names unknown mesh @mesh}}
  %0 = epl.axis_index @mesh "data"
  return
}

// -----

// (C1) of epl.task
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @task(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.task' op local type of block argument 0 is 'tensor<8xf32>', expected 'tensor<4xf32>'}}
  epl.task <@tg0, forward> (%x) : (!epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) -> () {
  ^bb0(%a: tensor<8xf32>):
    epl.yield
  }
  return
}

// -----

// (C1) of epl.task
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @task(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.task' op has 0 block arguments, expected 1}}
  epl.task <@tg0, forward> (%x) : (!epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) -> () {
  }
  return
}

// -----

// (C2) of epl.task
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @task(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.task' op local type of yielded value 0 is 'tensor<4xf32>', expected 'tensor<8xf32>'}}
  %0 = epl.task <@tg0, forward> (%x) : (!epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
  ^bb0(%a: tensor<4xf32>):
    epl.yield %a : tensor<4xf32>
  }
  return
}

// -----

// (C2) of epl.task
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @task() {
  // expected-error@+1 {{'epl.task' op has 0 yielded values, expected 1}}
  %0 = epl.task <@tg0, forward> () : () -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
  }
  return
}

// -----

// (C3) of epl.task
func.func @task() {
  // expected-error@+1 {{'epl.task' op names unknown task graph @tg0}}
  epl.task <@tg0, forward> () : () -> () {
  }
  return
}

// -----

// A task sees its operands only.
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @isolated(%x: tensor<8xf32>) {
  // expected-note@+1 {{required by region isolation constraints}}
  epl.task <@tg0, forward> () : () -> () {
    // expected-error@+1 {{op using value defined outside the region}}
    %0 = math.tanh %x : tensor<8xf32>
  }
  return
}

// -----

// (C1) of epl.all_reduce
epl.mesh @mesh axes ["data"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>) {
  // expected-error@+1 {{'epl.all_reduce' op result has global type 'tensor<4xf32>', expected 'tensor<8xf32>'}}
  %0 = epl.all_reduce %x : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>> -> !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
  return
}

// -----

// (C1) of epl.all_reduce
epl.mesh @mesh axes ["data"=2]
epl.mesh @other axes ["data"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>) {
  // expected-error@+1 {{'epl.all_reduce' op result is on mesh @other, expected @mesh}}
  %0 = epl.all_reduce %x : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>> -> !epl.dist<tensor<8xf32>, <@other, [{}]>>
  return
}

// -----

// (C1) of epl.all_reduce
epl.mesh @mesh axes ["data"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>) {
  // expected-error@+1 {{'epl.all_reduce' op changes the axes of a dimension}}
  %0 = epl.all_reduce %x : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
  return
}

// -----

// (C2) of epl.all_reduce
epl.mesh @mesh axes ["data"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>) {
  // expected-error@+1 {{'epl.all_reduce' op operand is not partial}}
  %0 = epl.all_reduce %x : !epl.dist<tensor<8xf32>, <@mesh, [{}]>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return
}

// -----

// (C2) of epl.all_reduce
epl.mesh @mesh axes ["data"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>) {
  // expected-error@+1 {{'epl.all_reduce' op completes no axis of ["data"]}}
  %0 = epl.all_reduce %x : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>
  return
}

// -----

// (C3) of epl.all_reduce
epl.mesh @mesh axes ["data"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}>>) {
  // expected-error@+1 {{'epl.all_reduce' op sharding of the operand names axis "model", which mesh "mesh" does not have}}
  %0 = epl.all_reduce %x : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return
}

// -----

// (C1) of epl.all_gather
epl.mesh @mesh axes ["data"=2]
func.func @all_gather(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.all_gather' op result has global type 'tensor<4xf32>', expected 'tensor<8xf32>'}}
  %0 = epl.all_gather %x dim 0 : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>> -> !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
  return
}

// -----

// (C1) of epl.all_gather
epl.mesh @mesh axes ["data"=2]
func.func @all_gather(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.all_gather' op gathers dimension 1 of a tensor of rank 1}}
  %0 = epl.all_gather %x dim 1 : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return
}

// -----

// (C1) of epl.all_gather
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @all_gather(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}], partial = sum{"model"}>>) {
  // expected-error@+1 {{'epl.all_gather' op changes the pending axes}}
  %0 = epl.all_gather %x dim 0 : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}], partial = sum{"model"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return
}

// -----

// (C1) of epl.all_gather
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @all_gather(%x: !epl.dist<tensor<8x8xf32>, <@mesh, [{"data"}, {"model"}]>>) {
  // expected-error@+1 {{'epl.all_gather' op changes the axes of dimension 1, expected those of dimension 0 only}}
  %0 = epl.all_gather %x dim 0 : !epl.dist<tensor<8x8xf32>, <@mesh, [{"data"}, {"model"}]>> -> !epl.dist<tensor<8x8xf32>, <@mesh, [{}, {}]>>
  return
}

// -----

// (C2) of epl.all_gather
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @all_gather(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data", "model"}]>>) {
  // expected-error@+1 {{'epl.all_gather' op leaves axes ["model"], expected a proper prefix of ["data", "model"]}}
  %0 = epl.all_gather %x dim 0 : !epl.dist<tensor<8xf32>, <@mesh, [{"data", "model"}]>> -> !epl.dist<tensor<8xf32>, <@mesh, [{"model"}]>>
  return
}

// -----

// (C2) of epl.all_gather
epl.mesh @mesh axes ["data"=2]
func.func @all_gather(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.all_gather' op leaves axes ["data"], expected a proper prefix of ["data"]}}
  %0 = epl.all_gather %x dim 0 : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>> -> !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
  return
}

// -----

// (C2) of epl.all_reduce
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data"}>>) {
  // expected-error@+1 {{'epl.all_reduce' op result is pending over axis "model", and the operand is not}}
  %0 = epl.all_reduce %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data"}>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"model"}>>
  return
}

// -----

// (C2) of epl.all_reduce
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data", "model"}>>) {
  // expected-error@+1 {{'epl.all_reduce' op result is pending max, expected sum}}
  %0 = epl.all_reduce %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data", "model"}>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = max{"data"}>>
  return
}

// -----

// (C1) of epl.reduce_scatter
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @reduce_scatter(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data"}>>) {
  // expected-error@+1 {{'epl.reduce_scatter' op result has global type 'tensor<8x2xf32>', expected 'tensor<8x4xf32>'}}
  %0 = epl.reduce_scatter %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data"}>> -> !epl.dist<tensor<8x2xf32>, <@mesh, [{"data"}, {}]>>
  return
}

// -----

// (C1) of epl.reduce_scatter
epl.mesh @mesh axes ["data"=2, "model"=2]
epl.mesh @other axes ["data"=2]
func.func @reduce_scatter(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data"}>>) {
  // expected-error@+1 {{'epl.reduce_scatter' op result is on mesh @other, expected @mesh}}
  %0 = epl.reduce_scatter %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data"}>> -> !epl.dist<tensor<8x4xf32>, <@other, [{"data"}, {}]>>
  return
}

// -----

// (C2) of epl.reduce_scatter
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @reduce_scatter(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}]>>) {
  // expected-error@+1 {{'epl.reduce_scatter' op operand is not partial}}
  %0 = epl.reduce_scatter %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}]>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>
  return
}

// -----

// (C2) of epl.reduce_scatter
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @reduce_scatter(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data"}>>) {
  // expected-error@+1 {{'epl.reduce_scatter' op completes no axis of ["data"]}}
  %0 = epl.reduce_scatter %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data"}>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{"model"}, {}], partial = sum{"data"}>>
  return
}

// -----

// (C3) of epl.reduce_scatter
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @reduce_scatter(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{"model"}, {}], partial = sum{"data"}>>) {
  // expected-error@+1 {{'epl.reduce_scatter' op splits dimension 0 by ["data", "model"], expected axes that begin with ["model"]}}
  %0 = epl.reduce_scatter %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{"model"}, {}], partial = sum{"data"}>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{"data", "model"}, {}]>>
  return
}

// -----

// (C3) of epl.reduce_scatter
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @reduce_scatter(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data", "model"}>>) {
  // expected-error@+1 {{'epl.reduce_scatter' op completes axis "model", which splits no dimension of the result}}
  %0 = epl.reduce_scatter %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}], partial = sum{"data", "model"}>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>
  return
}

// -----

// (C1) of epl.all_to_all
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @all_to_all(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>) {
  // expected-error@+1 {{'epl.all_to_all' op result has global type 'tensor<8x2xf32>', expected 'tensor<8x4xf32>'}}
  %0 = epl.all_to_all %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> -> !epl.dist<tensor<8x2xf32>, <@mesh, [{}, {"data"}]>>
  return
}

// -----

// (C1) of epl.all_to_all
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @all_to_all(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}], partial = sum{"model"}>>) {
  // expected-error@+1 {{'epl.all_to_all' op changes the pending axes, expected ["model"]}}
  %0 = epl.all_to_all %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}], partial = sum{"model"}>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {"data"}]>>
  return
}

// -----

// (C2) of epl.all_to_all
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @all_to_all(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>) {
  // expected-error@+1 {{'epl.all_to_all' op changes the axes of no dimension}}
  %0 = epl.all_to_all %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>
  return
}

// -----

// (C1) of epl.permute
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @permute(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>) {
  // expected-error@+1 {{'epl.permute' op result has global type 'tensor<8x2xf32>', expected 'tensor<8x4xf32>'}}
  %0 = epl.permute %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> -> !epl.dist<tensor<8x2xf32>, <@mesh, [{}, {"data"}]>>
  return
}

// -----

// (C1) of epl.permute
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @permute(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}], partial = sum{"model"}>>) {
  // expected-error@+1 {{'epl.permute' op changes the pending axes, expected ["model"]}}
  %0 = epl.permute %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}], partial = sum{"model"}>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {"data"}]>>
  return
}

// -----

// (C2) of epl.permute
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @permute(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>) {
  // expected-error@+1 {{'epl.permute' op changes the axes of no dimension}}
  %0 = epl.permute %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>
  return
}

// -----

// (C2) of epl.permute
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @permute(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>) {
  // expected-error@+1 {{'epl.permute' op splits dimension 0 into 1 parts, expected 2}}
  %0 = epl.permute %x : !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {"data"}]>>
  return
}

// -----

// (C1) of epl.predicate
epl.mesh @mesh axes ["data"=2]
func.func @predicate(%p: !epl.dist<tensor<2xi1>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{expected a replicated tensor<i1>}}
  epl.predicate 0 %p : !epl.dist<tensor<2xi1>, <@mesh, [{"data"}]>>
  return
}

// -----

// (C1) of epl.predicate
epl.mesh @mesh axes ["data"=2]
func.func @predicate(%p: !epl.dist<tensor<i1>, <@mesh, [], partial = any{"data"}>>) {
  // expected-error@+1 {{expected a replicated tensor<i1>}}
  epl.predicate 0 %p : !epl.dist<tensor<i1>, <@mesh, [], partial = any{"data"}>>
  return
}

// -----

// (C4) of epl.all_reduce
epl.mesh @mesh axes ["data"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>) {
  // expected-error@+1 {{'epl.all_reduce' op has 2 operands and 1 results, expected as many, and at least one}}
  %0 = epl.all_reduce %x, %x : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>, !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return
}

// -----

// (C5) of epl.all_reduce
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>, %y: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data", "model"}>>) {
  // expected-error@+1 {{'epl.all_reduce' op has operand 1 over axes data, model, expected data as operand 0}}
  %0:2 = epl.all_reduce %x, %y : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>, !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data", "model"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>, !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return
}

// -----

// (C5) of epl.all_reduce
epl.mesh @mesh axes ["data"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>, %y: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = max{"data"}>>) {
  // expected-error@+1 {{'epl.all_reduce' op has operand 1 pending max, expected sum as operand 0}}
  %0:2 = epl.all_reduce %x, %y : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>, !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = max{"data"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>, !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return
}

// -----

// (C5) of epl.all_reduce
epl.mesh @mesh axes ["data"=2]
epl.mesh @other axes ["data"=2]
func.func @all_reduce(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>, %y: !epl.dist<tensor<8xf32>, <@other, [{}], partial = sum{"data"}>>) {
  // expected-error@+1 {{'epl.all_reduce' op has operand 1 on mesh "other", expected "mesh" as operand 0}}
  %0:2 = epl.all_reduce %x, %y : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>, !epl.dist<tensor<8xf32>, <@other, [{}], partial = sum{"data"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>, !epl.dist<tensor<8xf32>, <@other, [{}]>>
  return
}

// -----

// (C6) of epl.reduce_scatter
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @reduce_scatter(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>, %y: !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}>>) {
  // expected-error@+1 {{'epl.reduce_scatter' op has operand 1 over axes model, expected data as operand 0}}
  %0:2 = epl.reduce_scatter %x, %y : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>, !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>, !epl.dist<tensor<8xf32>, <@mesh, [{"model"}]>>
  return
}

// -----

// (C5) of epl.reduce_scatter
epl.mesh @mesh axes ["data"=2]
func.func @reduce_scatter() {
  // expected-error@+1 {{'epl.reduce_scatter' op has 0 operands and 0 results, expected as many, and at least one}}
  "epl.reduce_scatter"() : () -> ()
  return
}

// -----

// (C5) of epl.all_gather
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @all_gather(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>, %y: !epl.dist<tensor<8xf32>, <@mesh, [{"data", "model"}]>>) {
  // expected-error@+1 {{'epl.all_gather' op has operand 1 over axes data, model, expected data as operand 0}}
  %0:2 = epl.all_gather %x, %y dim 0 : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>, !epl.dist<tensor<8xf32>, <@mesh, [{"data", "model"}]>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>, !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return
}

// -----

// (C4) of epl.all_gather
epl.mesh @mesh axes ["data"=2]
func.func @all_gather(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.all_gather' op has 1 operands and 0 results, expected as many, and at least one}}
  "epl.all_gather"(%x) {dim = 0 : i64} : (!epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) -> ()
  return
}
