// RUN: epl-opt %s | epl-opt | FileCheck %s

!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>
!both = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data", "model"}>>
!owned = !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>
!rest = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}, owner = <"data" = 1>>>

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// CHECK-LABEL: func.func @owned
func.func @owned(%w: !whole, %m: !owned, %a: !pending, %b: !both) -> (!whole, !owned) {
  // CHECK: epl.reduce %{{.*}} : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>
  %0 = epl.reduce %a : !pending -> !owned
  // CHECK: epl.reduce %{{.*}} -> !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}, owner = <"data" = 1>>>
  %1 = epl.reduce %b : !both -> !rest
  // CHECK: epl.all_reduce %{{.*}} partial = sum{"model"}, owner = <"data" = 1>>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>
  %2 = epl.all_reduce %1 : !rest -> !owned
  // What is on all members may be read with what the owner has.
  // CHECK: epl.task <@tg0, apply>(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
  %3:2 = epl.task <@tg0, apply>(%w, %m, %0, %2) : (!whole, !owned, !owned, !owned) -> (!owned, !owned) {
  ^bb0(%p: tensor<8xf32>, %q: tensor<8xf32>, %g: tensor<8xf32>, %h: tensor<8xf32>):
    %n = arith.addf %q, %g : tensor<8xf32>
    %o = arith.subf %p, %h : tensor<8xf32>
    epl.yield %n, %o : tensor<8xf32>, tensor<8xf32>
  }
  // CHECK: epl.broadcast %{{.*}} : !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  %4 = epl.broadcast %3#1 : !owned -> !whole
  return %4, %3#0 : !whole, !owned
}
