// RUN: epl-opt %s --epl-flatten-scopes | FileCheck %s

// Name stacks as JAX leaves them, one function for each rule. s0 to s3 are scopes; everything else is a name.

// The marker sits on the first name, the scope stands behind it.
// CHECK-LABEL: func.func @flax
// CHECK: math.sin {{.*}}<@tg0, forward>
// CHECK: math.cos {{.*}}<@tg0, backward>
func.func @flax(%x: tensor<4xf32>) -> tensor<4xf32> attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %x : tensor<4xf32> loc("jit(step)/jvp(Net)/epl.s0/Dense_0/sin")
  %1 = math.cos %0 : tensor<4xf32> loc("jit(step)/transpose(jvp(Net))/epl.s0/Dense_0/cos")
  return %1 : tensor<4xf32>
}

// A scope round the whole step: the optimizer has a scope and no marker.
// CHECK-LABEL: func.func @whole_step
// CHECK: math.absf {{.*}}<@tg0, forward>
// CHECK: math.sin {{.*}}<@tg0, forward>
// CHECK: math.cos {{.*}}<@tg0, backward>
// CHECK: math.exp {{.*}}<@tg0, apply>
// CHECK: math.tan {{.*}}<@tg0, forward>
func.func @whole_step(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.absf %x : tensor<4xf32> loc("jit(step)/epl.s0/abs")
  %1 = math.sin %0 : tensor<4xf32> loc("jit(step)/epl.s0/jvp()/sin")
  %2 = math.cos %1 : tensor<4xf32> loc("jit(step)/epl.s0/transpose(jvp())/cos")
  %3 = math.exp %2 : tensor<4xf32> loc("jit(step)/epl.s0/exp")
  %4 = math.tan %1 : tensor<4xf32> loc("jit(step)/epl.s0/tan")
  return %3, %4 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @vmap
// CHECK: math.sin {{.*}}<@tg0, backward>
// CHECK: math.cos {{.*}}<@tg0, forward>
func.func @vmap(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %x : tensor<4xf32> loc("jit(step)/vmap(transpose(jvp(epl.s0)))/sin")
  %1 = math.cos %x : tensor<4xf32> loc("jit(step)/jvp(epl.s0)/vmap()/cos")
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// A custom rule is traced with the name of the outer scope; one that it enters itself does not win over that.
// CHECK-LABEL: func.func @custom_vjp
// CHECK: math.sin {{.*}}<@tg0, backward>
// CHECK: math.cos {{.*}}<@tg1, backward>
func.func @custom_vjp(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">, s1 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %x : tensor<4xf32> loc("jit(step)/transpose(jvp(O))/epl.s0/sin")
  %1 = math.cos %0 : tensor<4xf32> loc("jit(step)/transpose(jvp(epl.s1))/epl.s0/cos")
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Rematerialization names the scope twice, which is no nesting. What is computed again is no backward work, and
// what only depends on it neither.
// CHECK-LABEL: func.func @remat
// CHECK: math.sin {{.*}}<@tg0, recompute>
// CHECK: math.cos {{.*}}<@tg0, backward>
// CHECK: math.exp {{.*}}<@tg0, recompute>
// CHECK: math.tan {{.*}}<@tg0, forward>
func.func @remat(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %x : tensor<4xf32> loc("jit(step)/transpose(jvp(epl.s0))/jvp(epl.s0)/checkpoint/rematted_computation/sin")
  %1 = math.cos %0 : tensor<4xf32> loc("jit(step)/transpose(jvp(epl.s0))/jvp(epl.s0)/checkpoint/cos")
  %2 = math.exp %x : tensor<4xf32> loc("jit(step)/transpose(jvp(jvp()))/checkpoint/rematted_computation/epl.s0/exp")
  %3 = math.tan %0 : tensor<4xf32> loc("jit(step)/tan")
  return %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A gradient that is taken inside another scope belongs to the scope of the function.
// CHECK-LABEL: func.func @vjp_inside_another_scope
// CHECK-SAME: {tg0 = #epl.scope<replicate, 1, "a">, tg1 = #epl.scope<replicate, 1, "later">}
// CHECK: math.sin {{.*}}<@tg0, forward>
// CHECK: math.cos {{.*}}<@tg1, forward>
// CHECK: math.exp {{.*}}<@tg0, backward>
// CHECK: math.tan {{.*}}<@tg0, backward>
func.func @vjp_inside_another_scope(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "a">, s1 = #epl.scope<replicate, 1, "later">}} {
  %0 = math.sin %x : tensor<4xf32> loc("jit(step)/jvp(epl.s0)/sin")
  %1 = math.cos %0 : tensor<4xf32> loc("jit(step)/epl.s1/cos")
  %2 = math.exp %1 : tensor<4xf32> loc("jit(step)/epl.s1/transpose(jvp(epl.s0))/exp")
  %3 = math.tan %2 : tensor<4xf32> loc("jit(step)/epl.s1/transpose(jvp(Net))/epl.s0/Dense_0/tan")
  return %3 : tensor<4xf32>
}

// The outermost marker counts: a penalty on a gradient is forward work, its gradient backward.
// CHECK-LABEL: func.func @gradient_penalty
// CHECK: math.sin {{.*}}<@tg0, forward>
// CHECK: math.cos {{.*}}<@tg0, backward>
// CHECK: math.exp {{.*}}<@tg0, forward>
func.func @gradient_penalty(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %x : tensor<4xf32> loc("jit(step)/jvp(transpose(jvp(epl.s0)))/sin")
  %1 = math.cos %0 : tensor<4xf32> loc("jit(step)/transpose(jvp(transpose(jvp(epl.s0))))/cos")
  %2 = math.exp %1 : tensor<4xf32> loc("jit(step)/jvp(epl.s0)/transpose(jvp())/exp")
  return %2 : tensor<4xf32>
}

// No marker: forward, and apply as soon as a value depends on a backward one. `transpose` without parentheses is a
// primitive.
// CHECK-LABEL: func.func @apply
// CHECK: math.absf {{.*}}<@tg0, forward>
// CHECK: math.sin {{.*}}<@tg0, backward>
// CHECK: math.cos {{.*}}<@tg0, apply>
// CHECK: math.exp {{.*}}<@tg0, apply>
// CHECK: math.tan {{.*}}<@tg0, forward>
func.func @apply(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.absf %x : tensor<4xf32> loc("jit(step)/epl.s0/transpose")
  %1 = math.sin %0 : tensor<4xf32> loc("jit(step)/transpose(jvp(epl.s0))/transpose")
  %2 = math.cos %1 : tensor<4xf32> loc("jit(step)/cos")
  %3 = math.exp %2 : tensor<4xf32> loc("jit(step)/exp")
  %4 = math.tan %0 : tensor<4xf32> loc("jit(step)/tan")
  return %3, %4 : tensor<4xf32>, tensor<4xf32>
}

// Bodies of functions carry the inner end only; phase and outer scope stand at the calls, outermost last. Below a
// name are frames of the source, whose function names do not count.
#model = loc("epl.s1"("model.py":4:2))
#outer = loc("jit(step)/transpose(jvp(epl.s0))/jit(block)"(#model))
// CHECK-LABEL: func.func @calls
// CHECK-SAME: {tg0 = #epl.scope<replicate, 1, "a">}
// CHECK: math.sin {{.*}}<@tg0, backward>
// CHECK: math.cos {{.*}}<@tg0, recompute>
// CHECK: math.exp {{.*}}<@tg0, backward>
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "a">, s1 = #epl.scope<replicate, 1, "b">}} {
  %0 = math.sin %x : tensor<4xf32> loc(callsite("sin" at #outer))
  %1 = math.cos %0 : tensor<4xf32> loc(callsite("jit(inner)/cos" at callsite("checkpoint/rematted_computation" at #outer)))
  %2 = math.exp %1 : tensor<4xf32> loc(callsite("exp"("model.py":9:1) at "jit(step)/transpose(jvp())/epl.s0/jit(f)"))
  return %2 : tensor<4xf32>
}

// A scope inside a function that is called from two places is two scopes; forward and backward of one call are one.
// CHECK-LABEL: func.func @call_path
// CHECK: math.sin {{.*}}<@tg0, forward>
// CHECK: math.sin {{.*}}<@tg1, forward>
// CHECK: math.cos {{.*}}<@tg1, backward>
// CHECK: math.cos {{.*}}<@tg0, backward>
func.func @call_path(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %x : tensor<4xf32> loc(callsite("epl.s0/sin" at "jit(step)/jvp(jit(f))"("model.py":7:1)))
  %1 = math.sin %0 : tensor<4xf32> loc(callsite("epl.s0/sin" at "jit(step)/jvp(jit(f))"("model.py":8:1)))
  %2 = math.cos %1 : tensor<4xf32> loc(callsite("epl.s0/cos" at "jit(step)/transpose(jvp(jit(f)))"("model.py":8:1)))
  %3 = math.cos %2 : tensor<4xf32> loc(callsite("epl.s0/cos" at "jit(step)/transpose(jvp(jit(f)))"("model.py":7:1)))
  return %3 : tensor<4xf32>
}

// Unless it has a name.
// CHECK-LABEL: func.func @call_path_with_name
// CHECK-COUNT-2: math.sin {{.*}}<@tg0, forward>
func.func @call_path_with_name(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "block">}} {
  %0 = math.sin %x : tensor<4xf32> loc(callsite("epl.s0/sin" at "jit(step)/jvp(jit(f))"("model.py":7:1)))
  %1 = math.sin %0 : tensor<4xf32> loc(callsite("epl.s0/sin" at "jit(step)/jvp(jit(f))"("model.py":8:1)))
  return %1 : tensor<4xf32>
}

// JAX without full tracebacks: the primitive is a name of its own, round the stack.
// CHECK-LABEL: func.func @nested_names
// CHECK-SAME: {tg0 = #epl.scope<replicate, 1, "">, tg1 = #epl.scope<replicate, 1, "">}
// CHECK: math.sin {{.*}}<@tg0, forward>
// CHECK: math.cos {{.*}}<@tg0, backward>
// CHECK: math.exp {{.*}}<@tg1, forward>
// CHECK: math.tan {{.*}}<@tg1, backward>
#forward = loc("jit(step)/jvp()"("model.py":7:1))
#backward = loc("jit(step)/transpose(jvp())"("model.py":7:1))
func.func @nested_names(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">, s1 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %x : tensor<4xf32> loc("sin"("jit(step)/jvp(epl.s0)"("model.py":4:2)))
  %1 = math.cos %0 : tensor<4xf32> loc("cos"("jit(step)/transpose(jvp(epl.s0))"("model.py":4:2)))
  %2 = math.exp %1 : tensor<4xf32> loc(callsite("exp"("epl.s1") at "jit(f)"(#forward)))
  %3 = math.tan %2 : tensor<4xf32> loc(callsite("tan"("epl.s1") at "jit(f)"(#backward)))
  return %3 : tensor<4xf32>
}

// Users may call their own scopes what they like.
// CHECK-LABEL: func.func @odd_names
// CHECK-SAME: {tg0 = #epl.scope<replicate, 1, "">}
// CHECK: math.sin {{.*}}<@tg0, backward>
// CHECK: math.cos {{.*}}<@tg0, backward>
// CHECK: math.exp {{.*}}<@tg0, backward>
// CHECK: math.tan {{.*}}<@tg0, backward>
// CHECK: math.ceil {{.*}}<@tg0, apply>
// CHECK: math.floor {{.*}}<@tg0, apply>
func.func @odd_names(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %x : tensor<4xf32> loc("jit(step)/transpose(jvp(a/b))/epl.s0/sin")
  %1 = math.cos %0 : tensor<4xf32> loc("jit(step)/transpose(jvp(a)))/epl.s0/cos")
  %2 = math.exp %1 : tensor<4xf32> loc("jit(step)/transpose(jvp(f(x)))/g(/epl.s0/exp")
  %3 = math.tan %2 : tensor<4xf32> loc("jit(step)/transpose(jvp(epl.s0))/epl.unknown/my.epl.s1/epl.s0x/tan")
  %4 = math.ceil %3 : tensor<4xf32> loc("transposes(jvpx(epl.s0)")
  %5 = math.floor %4 : tensor<4xf32> loc("((((//))(")
  return %5 : tensor<4xf32>
}

// Fused locations: the first part that has a name speaks. Unknown ones say nothing.
// CHECK-LABEL: func.func @fused
// CHECK-SAME: {tg0 = #epl.scope<replicate, 1, "a">, tg1 = #epl.scope<replicate, 1, "b">}
// CHECK: math.sin {{.*}}<@tg0, backward>
// CHECK: math.cos {{.*}}<@tg1, forward>
// CHECK: math.exp {{.*}}<@tg1, forward>
func.func @fused(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "a">, s1 = #epl.scope<replicate, 1, "b">}} {
  %0 = math.sin %x : tensor<4xf32> loc(fused["a.py":1:1, "transpose(jvp(epl.s0))/sin", "jvp(epl.s1)/sin"])
  %1 = math.cos %x : tensor<4xf32> loc(fused<"metadata">["jvp(epl.s1)/cos"])
  %2 = math.exp %1 : tensor<4xf32> loc(unknown)
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// What is of each micro-batch, in a scope and out of all, before and behind it; gradients, but not the optimizer.
// CHECK-LABEL: func.func @per_micro_batch
// CHECK: math.sin {{.*}} {epl.per_micro_batch, epl.work = #epl.work<@tg0, forward>}
// CHECK: math.cos {{.*}} {epl.per_micro_batch, epl.work = #epl.work<@tg0, backward>}
// CHECK: math.exp {{.*}} {epl.per_micro_batch, epl.work = #epl.work<@tg0, backward>}
// CHECK: math.tan {{.*}} {epl.work = #epl.work<@tg0, backward>}
func.func @per_micro_batch(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %x : tensor<4xf32> loc("jit(step)/jvp(epl.s0)/epl.per_micro_batch/sin")
  %1 = math.cos %0 : tensor<4xf32> loc("jit(step)/epl.per_micro_batch/transpose(jvp(epl.s0))/cos")
  %2 = math.exp %1 : tensor<4xf32> loc("jit(step)/transpose(jvp(epl.per_micro_batch))/exp")
  %3 = math.tan %2 : tensor<4xf32> loc("jit(step)/transpose(jvp(epl.per_micro_batch_of_mine))/tan")
  return %3 : tensor<4xf32>
}
