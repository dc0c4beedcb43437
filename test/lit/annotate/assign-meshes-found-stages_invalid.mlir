// RUN: epl-opt %s --epl-assign-meshes="devices=2 stage-meshes=0,1,1,0" --verify-diagnostics

// Of a scope that is cut the user has not written the stages.

// expected-error@+1 {{1 scope and 2 found stages, but the schedule has 4 stages, expected one for each; epl.auto_stages says how many are found, or pipeline.num_stages with auto.auto_parallel}}
epl.taskgraph @tg0 strategy(<replicate, 1>) {epl.stages = [@tg0_1]}
epl.taskgraph @tg0_1 strategy(<replicate, 1>)
epl.taskgraph @tg1 strategy(<replicate, 1>) name("head")
