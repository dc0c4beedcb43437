// A step for parameter servers: who has what, a worker's plan, and one for each program of servers.

// RUN: epl-compile %s --emit=roles --servers=2 --min-block-size=4 | FileCheck %s --check-prefix=ROLES
// RUN: epl-compile %s --role=worker --devices=cpu:2 -o %t.eplan
// RUN: epl-plan dump %t.eplan | FileCheck %s --check-prefix=WORKER
// RUN: epl-plan explain %t.eplan --gflops=50 --gbps=10 | FileCheck %s --check-prefix=EXPLAIN
// RUN: epl-plan simulate %t.eplan --gflops=50 --gbps=10 --link=5 --link-gbps=10 | FileCheck %s --check-prefix=SIMULATE
// RUN: epl-run %t.eplan --reference %t.eplan | FileCheck %s --check-prefix=STEP
// RUN: rm -rf %t.programs && mkdir %t.programs
// RUN: epl-compile %s --role=server --devices=cpu:2 --servers=2 --min-block-size=4 --no-slice -o %t.programs
// RUN: epl-plan dump %t.programs/apply0.eplan | FileCheck %s --check-prefix=WHOLE
// RUN: epl-compile %s --role=server --servers=2 --min-block-size=4 --program=apply1 -o %t.one.eplan
// RUN: epl-plan dump %t.one.eplan | FileCheck %s --check-prefix=ONE
// RUN: epl-compile %s --role=server --servers=2 --min-block-size=4 --program=apply1 --emit=local | FileCheck %s --check-prefix=LOCAL

// ROLES: "groups": [
// ROLES: "arguments": [
// ROLES: "argument": 0,
// ROLES-NEXT: "kind": "parameter",
// ROLES-NEXT: "name": "w",
// ROLES-NEXT: "shape": [
// ROLES-NEXT: 9
// ROLES-NEXT: ],
// ROLES-NEXT: "sliced": true,
// ROLES-NEXT: "type": "f32"
// ROLES: "kind": "push",
// ROLES-NEXT: "push": 0,
// ROLES: "blocks": [
// ROLES: "begin": 5,
// ROLES-NEXT: "name": "w.block1",
// ROLES-NEXT: "offset": 5,
// ROLES-NEXT: "program": "apply1",
// ROLES-NEXT: "rows": 4,
// ROLES-NEXT: "size": 4
// ROLES: "name": "w",
// ROLES-NEXT: "parameter": 0
// ROLES: "programs": [
// ROLES-NEXT: "apply0",
// ROLES-NEXT: "apply1"
// ROLES: "worker": {

// WORKER: "--devices=cpu:2 --cpu={{.*}} --role=worker"
// WORKER: "w" pulled f32[9] sharding [{}]
// WORKER-NEXT: "x" batch f32[8x9] sharding [{"data"}, {}]
// WORKER-NEXT: "pushed for w" pushed f32[9] sharding [{}]
// WORKER: lane 0 compute
// WORKER-NEXT: #1 {{.*}} after #0 reads 0:#0, 1:s1
// WORKER: lane 2 pull
// WORKER-NEXT: #0 "pulled w" pull b0
// WORKER: lane 3 push
// WORKER-NEXT: #4 "pushed for w" push b2 after #3
// EXPLAIN: collectives: 1 and receives: 1
// EXPLAIN: 36 B{{.*}} pull from outside
// EXPLAIN: push to outside
// SIMULATE: makespan 5.03 us
// SIMULATE: waits 5.00 us for what is pulled
// STEP: "pushed for w": equal
// WHOLE: plan version {{[0-9]+}}, cpu:1 = data 1
// WHOLE: --role=server --servers=2 --min-block-size=4 --no-slice --program=apply0
// WHOLE: "w" state f32[9]
// WHOLE-NEXT: "pushed for w" constant f32[9]
// WHOLE-NEXT: "w" result f32[9]
// ONE: "w" state f32[4]
// LOCAL: module @apply1
// LOCAL: func.func @apply1(%{{.*}}: !epl.dist<tensor<4xf32>

// RUN: not epl-compile %s --role=server -o %t.eplan 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not epl-compile %s --role=server --emit=local 2>&1 | FileCheck %s --check-prefix=PROGRAM
// RUN: not epl-compile %s --role=server --program=apply9 -o %t.one.eplan 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not epl-compile %s --role=worker --program=apply0 -o %t.one.eplan 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not epl-compile %s --role=worker --emit=roles 2>&1 | FileCheck %s --check-prefix=EMIT
// RUN: not epl-compile %s --servers=0 --emit=roles 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not epl-compile %S/../../models/mlp_adam.mlir --emit=roles 2>&1 | FileCheck %s --check-prefix=NOTHING
// FOLDER: -o: "{{.*}}" is not a folder, as the programs of servers need
// PROGRAM: --emit: prints one program of servers, expected its name by --program
// UNKNOWN: error: no server has a program "apply9"
// OTHER: --program: is one of servers, expected --role=server
// EMIT: --emit: roles is of workers and servers, found --role=worker
// NONE: --servers: Value 0 not in range
// NOTHING: error: updates no state by work that applies gradients

func.func @main(%w: tensor<9xf32> {epl.name = "w", epl.role = "state"},
                %x: tensor<8x9xf32> {epl.name = "x", epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<9xf32> {epl.updates = 0 : i64}) attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %zero = arith.constant dense<0.0> : tensor<9xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<9xf32>) outs(%x : tensor<8x9xf32>) {
  ^bb0(%in: f32, %out: f32):
    %mul = arith.mulf %out, %in : f32
    linalg.yield %mul : f32
  } -> tensor<8x9xf32> loc("jit(step)/jvp()/epl.s0/mul")
  %g = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<8x9xf32>) outs(%zero : tensor<9xf32>) {
  ^bb0(%in: f32, %out: f32):
    %add = arith.addf %out, %in : f32
    linalg.yield %add : f32
  } -> tensor<9xf32> loc("jit(step)/transpose(jvp())/epl.s0/sum")
  %v = arith.subf %w, %g : tensor<9xf32> loc("jit(step)/sub")
  return %v : tensor<9xf32>
}
