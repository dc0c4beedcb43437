// RUN: epl-opt %s -epl-split-roles=with-tables -epl-verify-global | FileCheck %s --check-prefix=WORKER
// RUN: epl-opt %s -epl-split-roles="role=server with-tables" | FileCheck %s --check-prefix=SERVER
// RUN: not epl-opt %s -epl-split-roles 2>&1 | FileCheck %s --check-prefix=ALONE

// Servers hold nothing of the step but rows of tables, whose gradients are results like others: all of it is the
// worker's, with the count that no gradient changes.

#forward = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// WORKER: func.func @step(%[[COUNT:[^:]*]]: tensor<i32> {epl.name = "count", epl.role = "state"}
// WORKER-SAME: %[[ROWS:[^:]*]]: tensor<8x4xf32> {epl.batch_dim = 0 : i64, epl.name = "user.lookup0", epl.role = "batch"})
// WORKER-SAME: -> (tensor<i32> {epl.updates = 0 : i64}, tensor<8x4xf32>)
// WORKER: %[[NEXT:.*]] = arith.addi %[[COUNT]]
// WORKER: return %[[NEXT]], %[[ROWS]]
// SERVER: module attributes {epl.servers = {groups = [], programs = [], worker = {
// SERVER-NOT: func.func
// ALONE: error: updates no state by work that applies gradients
func.func @step(%count: tensor<i32> {epl.name = "count", epl.role = "state"},
                %rows: tensor<8x4xf32> {epl.name = "user.lookup0", epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<i32> {epl.updates = 0 : i64}, tensor<8x4xf32>) {
  %one = arith.constant {epl.work = #forward} dense<1> : tensor<i32>
  %next = arith.addi %count, %one {epl.work = #forward} : tensor<i32>
  return %next, %rows : tensor<i32>, tensor<8x4xf32>
}
