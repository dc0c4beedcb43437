// RUN: epl-opt %s --split-input-file | epl-opt --split-input-file | FileCheck %s
// RUN: epl-opt %s --split-input-file --mlir-print-op-generic | epl-opt --split-input-file | FileCheck %s

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.mesh @other axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

!sharded = !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>
!both = !epl.dist<tensor<8x4xf32>, <@mesh, [{"data", "model"}, {}]>>
!whole = !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}]>>
!two = !epl.dist<tensor<4xf32>, <@mesh, [{}], partial = sum{"data", "model"}>>
!pending = !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}], partial = sum{"model"}>>

// CHECK-LABEL: func.func @casts
func.func @casts(%x: !sharded) -> !sharded {
  // CHECK: epl.to_local %{{.*}} : <tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> -> tensor<4x4xf32>
  %0 = epl.to_local %x : !sharded -> tensor<4x4xf32>
  // CHECK: epl.axis_index @mesh "model"
  %1 = epl.axis_index @mesh "model"
  %2 = math.tanh %0 : tensor<4x4xf32>
  // CHECK: epl.from_local %{{.*}} : tensor<4x4xf32> -> <tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>
  %3 = epl.from_local %2 : tensor<4x4xf32> -> !sharded
  return %3 : !sharded
}

// CHECK-LABEL: func.func @task
func.func @task(%x: !sharded, %y: !whole) {
  // CHECK: epl.task <@tg0, forward>(%{{.*}}, %{{.*}}) : (!epl.dist<{{.*}}>, !epl.dist<{{.*}}>) -> !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x4xf32>, %{{.*}}: tensor<8x4xf32>):
  // CHECK-NEXT: epl.yield %[[A]] : tensor<4x4xf32>
  %0 = epl.task <@tg0, forward> (%x, %y) : (!sharded, !whole) -> !sharded {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<8x4xf32>):
    epl.yield %a : tensor<4x4xf32>
  }
  // CHECK: epl.task <@tg0, backward>() : () -> () {
  epl.task <@tg0, backward> () : () -> () {
  }
  return
}

// CHECK-LABEL: func.func @collectives
func.func @collectives(%pending: !pending, %both: !both, %sharded: !sharded, %two: !two) {
  // CHECK: epl.all_reduce %{{.*}} : !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}], partial = sum{"model"}>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>
  %0 = epl.all_reduce %pending : !pending -> !sharded
  // CHECK: epl.all_gather %{{.*}} dim 0 : !epl.dist<tensor<8x4xf32>, <@mesh, [{"data", "model"}, {}]>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>>
  %1 = epl.all_gather %both dim 0 : !both -> !sharded
  // CHECK: epl.all_gather %{{.*}} dim 0 : {{.*}} -> !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {}]>>
  %2 = epl.all_gather %both dim 0 : !both -> !whole
  // CHECK: epl.all_reduce %{{.*}} partial = sum{"data", "model"}>> -> !epl.dist<tensor<4xf32>, <@mesh, [{}], partial = sum{"data"}>>
  %4 = epl.all_reduce %two : !two -> !epl.dist<tensor<4xf32>, <@mesh, [{}], partial = sum{"data"}>>
  // CHECK: epl.reduce_scatter %{{.*}} : !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}], partial = sum{"model"}>> -> !epl.dist<tensor<8x4xf32>, <@mesh, [{"data", "model"}, {}]>>
  %5 = epl.reduce_scatter %pending : !pending -> !both
  // CHECK: epl.reduce_scatter %{{.*}} -> !epl.dist<tensor<4xf32>, <@mesh, [{"model"}], partial = sum{"data"}>>
  %6 = epl.reduce_scatter %two : !two -> !epl.dist<tensor<4xf32>, <@mesh, [{"model"}], partial = sum{"data"}>>
  // CHECK: epl.all_to_all %{{.*}} : <tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> -> <tensor<8x4xf32>, <@mesh, [{}, {"data"}]>>
  %7 = epl.all_to_all %sharded : !sharded -> !epl.dist<tensor<8x4xf32>, <@mesh, [{}, {"data"}]>>
  // CHECK: epl.permute %{{.*}} : <tensor<8x4xf32>, <@mesh, [{"data", "model"}, {}]>> -> <tensor<8x4xf32>, <@mesh, [{"model", "data"}, {}]>>
  %8 = epl.permute %both : !both -> !epl.dist<tensor<8x4xf32>, <@mesh, [{"model", "data"}, {}]>>
  return
}

// CHECK-LABEL: func.func @branch
func.func @branch(%p: !epl.dist<tensor<i1>, <@mesh, []>>, %pending: !pending) {
  // CHECK: epl.predicate 0 %{{.*}} : <tensor<i1>, <@mesh, []>>
  epl.predicate 0 %p : !epl.dist<tensor<i1>, <@mesh, []>>
  // CHECK: } {epl.guards = [#epl.guard<0, true>]}
  epl.task <@tg0, backward> () : () -> () {
  } {epl.guards = [#epl.guard<0, true>]}
  // CHECK: epl.all_reduce %{{.*}} {epl.guards = [#epl.guard<0, false>]} :
  %0 = epl.all_reduce %pending {epl.guards = [#epl.guard<0, false>]} : !pending -> !sharded
  return
}
