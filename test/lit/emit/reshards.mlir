// RUN: epl-compile %s --devices=cpu:4 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s
// RUN: epl-plan explain %t.eplan | FileCheck %s --check-prefix=EXPLAIN
// RUN: epl-compile %s --reference -o %t.reference.eplan
// RUN: epl-run %t.eplan --reference=%t.reference.eplan --inputs=random:1 --steps=3 --rtol=0 --atol=0

// A mesh of two axes and states that are sharded by hand: each takes the place of another, and the last one gets a sum
// over the samples. What is to be sharded like the optimizer's state is never whole (ZeRO).

// CHECK: plan version {{[0-9]+}}, cpu:4 = data 2, model 2
// CHECK-DAG: communicator [[DATA:c[0-9]+]] over "data"{{$}}
// CHECK-DAG: communicator [[BOTH:c[0-9]+]] over "data", "model"{{$}}
// CHECK-DAG: "all_to_all" exchange_blocks [[DATA]] {{.*}} 8x4xi32 from [{"data"}, {}] to [{}, {"data"}]
// CHECK-DAG: "permute" exchange_blocks [[BOTH]] {{.*}} 8x8xi32 from [{"data"}, {"model"}] to [{"model"}, {"data"}]
// CHECK-DAG: "reduce_scatter" reduce_blocks sum [[DATA]] {{.*}} 8x4xi32 to [{"data"}, {}]
// CHECK-NOT: gather_parts

// EXPLAIN: all_to_all

epl.mesh @mesh axes ["data"=2, "model"=2]
#rows = #epl.sharding<@mesh, [{"data"}, {}]>
#columns = #epl.sharding<@mesh, [{}, {"data"}]>
#blocks = #epl.sharding<@mesh, [{"data"}, {"model"}]>
#swapped = #epl.sharding<@mesh, [{"model"}, {"data"}]>
!t = tensor<8x8xi32>

func.func @main(%a: tensor<8x4xi32> {epl.role = "state", epl.name = "a", epl.sharding = #rows},
                %b: tensor<8x4xi32> {epl.role = "state", epl.name = "b", epl.sharding = #columns},
                %c: !t {epl.role = "state", epl.name = "c", epl.sharding = #blocks},
                %d: !t {epl.role = "state", epl.name = "d", epl.sharding = #swapped},
                %m: !t {epl.role = "state", epl.name = "m", epl.sharding = #blocks},
                %x: tensor<16x8x8xi32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (tensor<8x4xi32> {epl.updates = 0 : i64}, tensor<8x4xi32> {epl.updates = 1 : i64}, !t {epl.updates = 2 : i64},
        !t {epl.updates = 3 : i64}, !t {epl.updates = 4 : i64}) {
  %zero = arith.constant dense<0> : !t
  %sum = linalg.reduce { arith.addi } ins(%x : tensor<16x8x8xi32>) outs(%zero : !t) dimensions = [0]
  %new = arith.addi %m, %sum : !t
  return %a, %a, %c, %c, %new : tensor<8x4xi32>, tensor<8x4xi32>, !t, !t, !t
}
