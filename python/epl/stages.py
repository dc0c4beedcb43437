"""The stages of a step: `Lowered` (program text), `Compiled` (plan with trees); `load` reads saved plans."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax

from epl import hidden, runtime
from epl.adapters.jax import trace as adapter
from epl.advice import advise, check_scope_outside
from epl.comparison import CheckReport, Rehearsed, check_tolerance, compare
from epl.compile import emit, explain, load_or_compile
from epl.devices import Devices, in_processes, parse_devices, visible
from epl.differences import mismatch
from epl.environment import current_config, current_devices
from epl.errors import ArgumentError, CheckError, StepError
from epl.executable import Executable, PathLike, guarded, user_path
from epl.once import kept
from epl.padding import Padded, SampleDims, fit
from epl.precision import Precision
from epl.processes import group
from epl.processes.compiling import compare_plans
from epl.processes.gathering import gather
from epl.processes.parts import as_whole
from epl.servers.saved import check_alone
from epl.signature import Signature, Spec
from epl.slots import check_slots

STAGES = ("input", "global", "local", "kernel", "ptx")


class Compiled(Executable):
    """A compiled step: called as the step itself, with the same trees, shapes and dtypes."""

    def __init__(self, plan: Any, lowered: Lowered) -> None:
        name, program = lowered.signature.name, lowered.program
        super().__init__(
            plan,
            lowered.devices,
            name,
            program.hidden,
            lowered.kinds,
            program.reports,
            max_threads=lowered.max_threads,
        )
        self.lowered = lowered

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs a step.

        Raises:
          ArgumentError: if the arguments have other trees, shapes or dtypes than the step was compiled for.
          StepError: for a check that failed.
        """
        signature = self.lowered.signature
        check_scope_outside(signature.name)
        values, static = signature.match(args, kwargs)
        _, leaves = signature.describe(values, static)
        spec, _ = signature.describe(as_whole(values, [self.lowered]), static)
        try:
            result = self.fit(spec).call(leaves)
        except StepError as error:
            error.results = signature.returned(values, error.results)
            raise
        return signature.returned(values, result)

    def fit(self, spec: Spec) -> Compiled | Padded:
        """What runs a step on such arguments: the plan itself; with `pad_batch` also on a smaller batch.

        Raises:
          ArgumentError: if the step was compiled for others.
        """
        if spec == self.lowered.spec:
            return self
        if (smaller := fit(self, spec)) is not None:
            return smaller
        raise ArgumentError(mismatch(self.lowered, spec))

    def call(self, leaves: list[Any], *, donate: bool | None = None, prints: bool = True) -> Any:
        """Runs a step on the leaves of its arguments; `donate` stands for the step's own choice.

        Raises:
          StepError: for a check that failed; its `results` are what the step would give.
          CheckError: if the results are to be compared with those of a step in which nothing is computed
            again, and differ from them.
        """
        self._check_first(leaves)
        return self._call(leaves, donate=donate, prints=prints)

    def call_leaves(self, leaves: list[Any]) -> list[Any]:
        """As `call`, but gives the leaves of the results; those that are no states as arrays of NumPy."""
        self._check_first(leaves)
        return self._results(leaves, donate=None, as_numpy=True)

    def _check_first(self, leaves: list[Any]) -> None:
        """Compares the results of the first call with those of a step in which nothing is computed again."""
        if self.lowered.plain_options is not None:
            kept(self, "_kept_gradients", lambda: self._check_gradients(leaves))

    def _call(self, leaves: list[Any], *, donate: bool | None, prints: bool) -> Any:
        return self.lowered.out_tree.unflatten(self._results(leaves, donate=donate, prints=prints))

    def _results(self, leaves: list[Any], *, donate: bool | None, **options: bool) -> list[Any]:
        """The leaves of the results; `options` of `run`."""
        donates = self.lowered.donate if donate is None else donate
        try:
            return self.run(leaves, donate=donates, **options)
        except StepError as error:
            error.results = self.lowered.out_tree.unflatten(error.results)
            raise

    @property
    def holds_states(self) -> bool:
        """Whether the devices hold the states between steps, as the plan says."""
        return True

    def new_state(self, index: int) -> tuple[Any, list[Any]]:
        """A value of state argument `index` that is not written yet, as the step holds it, and its memory."""
        state: tuple[Any, list[Any]] = self._session.new_state(index)
        return state

    def state_shape(self, index: int) -> tuple[int, ...]:
        """The shape of state argument `index` in memory: of typed keys that of their numbers."""
        return tuple(self.plan.slots[index].shape)

    def local_rows(self, index: int) -> slice:
        """The rows of batch argument `index` that this process reads."""
        return slice(*self._session.local_rows(index, self.lowered.arguments[index].batch_dim))

    def check(self, *args: Any, rtol: float = 1e-5, atol: float = 1e-6, **kwargs: Any) -> CheckReport:
        """Runs the plan and its reference (the stripped step, one device, plain loops) on equal arguments.

        Nothing is donated. A result passes if no element differs by more than `atol + rtol *
        max|reference|`: the scale of the whole tensor, since sums are formed in another order. Integers and
        NaNs must be equal.

        Returns:
          The largest difference of every result.

        Raises:
          CheckError: if a result does not pass.
          ArgumentError: for a tolerance that is no number of at least 0, or arguments of another step.
        """
        check_tolerance("rtol", rtol)
        check_tolerance("atol", atol)
        spec, leaves = self.lowered.signature.bind(args, kwargs)
        if spec != self.lowered.spec:
            raise ArgumentError(mismatch(self.lowered, spec))
        found, expected = self._run_both(leaves)
        return self._compare(found, expected, "its reference", rtol, atol)

    def _run_both(self, leaves: list[Any]) -> tuple[Any, Any]:
        """What the plan and its reference give, trees of which `_compare` takes the leaves."""
        expected = self._reference.call(gather(leaves), donate=False, prints=False)
        return self.call(leaves, donate=False), expected

    def rehearse(self, leaves: list[Any]) -> Rehearsed:
        """What a step gives on the leaves of its arguments, which changes and shows nothing.

        Raises:
          StepError: for a check that failed; its `results` are what the step would give.
        """
        return Rehearsed(self._call(leaves, donate=False, prints=False), {})

    def _compare(self, found: Any, expected: Any, what: str, rtol: float, atol: float) -> CheckReport:
        both = (jax.tree.leaves(gather(tree)) for tree in (found, expected))
        triples = zip(self.lowered.compared, *both, strict=True)
        report = CheckReport(tuple(compare(*triple, rtol=rtol, atol=atol) for triple in triples))
        if any(not difference.passes for difference in report.differences):
            raise CheckError(f"{self.name} differs from {what} (rtol={rtol}, atol={atol})\n{report}")
        return report

    def _check_gradients(self, leaves: list[Any]) -> CheckReport:
        """Compares a step with the one in which nothing is computed again."""
        plain = self.lowered.with_options(self.lowered.plain_options or ()).compile_quietly()
        found, expected = (compiled.rehearse(leaves).compared for compiled in (self, plain))
        what = "the step in which nothing is computed again"
        return self._compare(found, expected, what, rtol=1e-5, atol=1e-6)

    @property
    def _reference(self) -> Compiled:
        make = self.lowered.with_devices("cpu:1").compile_reference
        reference: Compiled = kept(self, "_kept_reference", make)
        return reference


@dataclass(frozen=True)
class Lowered:
    """A step as MLIR text, with what is needed to call it."""

    signature: Signature
    spec: Spec
    program: adapter.Program
    arguments: tuple[adapter.Argument, ...]
    results: tuple[adapter.Result, ...]
    out_leaves: tuple[Any, ...]
    out_tree: Any
    devices: str
    donate: bool
    sample_dims: tuple[SampleDims, ...] = ()  # of the results, with `pad_batch`
    options: tuple[str, ...] = ()  # for the compiler: how to parallelize; the reference has none
    plain_options: tuple[str, ...] | None = None  # without recomputation, if the first call compares with it
    precision: Precision = field(default_factory=Precision)  # that of the reference, too
    max_threads: int = 0  # of this process that run the step; 0: one for each core

    @property
    def is_repeatable(self) -> bool:
        """Whether a call's arguments are all that it reads, and are as they were behind it."""
        return True

    @property
    def kinds(self) -> Sequence[Any]:
        """Shapes and dtypes of what the program gives, as the user has them, without what it reports."""
        return self.out_leaves

    @property
    def compared(self) -> list[str]:
        """The names of what `Compiled.check` compares."""
        return [result.name for result in self.results]

    def as_text(self, stage: str = "input") -> str:
        """The program after a stage of the compiler.

        `input` is the MLIR that it is handed. `global` is a listing for reading, not MLIR: the program on
        whole tensors, a line for each operation, with the sharding of what it makes, `f32[8/data, 16]`, and
        your source line; lines with a `*` are what devices receive from one another, with the operations
        that are why. `local` is the MLIR of what one device computes, `kernel` that with its kernels, `ptx`
        the code of these for GPUs.

        Raises:
          ArgumentError: for another stage, and for `ptx` of a step on CPUs.
          CompileError: with the user's source line, if the step does not compile.
        """
        if stage not in STAGES:
            raise ArgumentError(f"stage must be one of {', '.join(STAGES)}, found {stage!r}")
        if stage == "input":
            return self.program.text
        if stage == "ptx" and not self.devices.startswith("cuda:"):
            raise ArgumentError(f'stage "ptx" is code for GPUs, found a step for devices "{self.devices}"')
        options = (*self.options, *self.precision.options)
        return emit(self.program.text, self.devices, self.signature.name, stage, options)

    def explain(self) -> str:
        """Why the step is sharded as it is, with your source lines.

        Of a split step a table, whose lines begin with "| ": for each kind of parameter along which dimension
        it is split, the bytes that devices exchange then, and the next best dimension with its bytes. Where a
        value is wanted with two shardings: which is kept, which is dropped, and why. Of each pending sum:
        where it is completed, and for whom. Parameters and values of equal layers are one line. Of stages
        that were found (`epl.auto_stages`, `auto.auto_parallel`) a table of what each takes and sends in a
        step by the numbers of the machine, and the next best cut. Which batch arguments every device has
        whole, because their axis is None. With `amp.level` which operations take bf16.

        Raises:
          CompileError: with the user's source line, if the step does not compile.
        """
        about = ("--explain-split", "--explain-sharding", "--explain-stages", *self.precision.explain_options)
        return "\n".join([*self._explain(about), *self._whole()])

    def _explain(self, about: tuple[str, ...]) -> list[str]:
        """What the compiler remarks if it is asked with the options `about`."""
        options = (*self.options, *self.precision.options, *about)
        lines = explain(self.program.text, self.devices, self.signature.name, options)
        return [line.replace("remark: ", "", 1) for line in lines]

    def _whole(self) -> list[str]:
        """A line about the batch arguments that the user has said are not shared, if there are some."""
        pairs = zip(self.arguments, self.spec.owners, strict=True)
        names = [f'"{a.name}"' for a, owner in pairs if owner in self.signature.batch and a.batch_dim is None]
        verb = (
            "is whole on every device: None is its"
            if len(names) == 1
            else "are whole on every device: None is their"
        )
        return [f"{', '.join(names)} {verb} axis in batch"] if names else []

    def local_batch(self, name: str) -> slice:
        """The rows of a batch argument that this process reads, along the dimension that devices share.

        Compiles the step. Processes that share a split read the same rows. What `epl.from_local` takes.

        Args:
          name: of a parameter, `"batch"`, or of one of its leaves, `"batch['x']"`.

        Raises:
          ArgumentError: if there is no such batch, or the leaves of the parameter differ.
          CompileError: with the user's source line, if the step does not compile.
        """
        owned = zip(self.arguments, self.spec.owners, strict=True)
        found = [i for i, (argument, owner) in enumerate(owned) if name in (argument.name, owner)]
        batches = [i for i in found if self.arguments[i].batch_dim is not None]
        if not batches:
            known = dict.fromkeys(a.name for a in self.arguments if a.batch_dim is not None)
            raise ArgumentError(f"no batch argument {name!r}; there are: {', '.join(known) or 'none'}")
        compiled = self.compile()
        rows = {self.arguments[i].name: compiled.local_rows(i) for i in batches}
        first = next(iter(rows.values()))
        if any(other != first for other in rows.values()):
            each = ", ".join(f"{leaf} {part.start}:{part.stop}" for leaf, part in rows.items())
            raise ArgumentError(f"leaves of {name!r} have other rows here: {each}; ask for one of them")
        return first

    def compile(self) -> Compiled:
        """Compiles the step, once, however many threads ask for it.

        Prints the layout, which scopes share devices, and what is computed in 16 bits. Warns
        (`NotParallelWarning`) if devices do work that they could share.

        Raises:
          CompileError: with the user's source line, if the step does not compile.
        """
        compiled: Compiled = kept(self, "_compiled", self._compile_and_tell)
        return compiled

    def release(self) -> None:
        """Gives back the memory of the compiled step, if it was compiled (`Executable.release`)."""
        if "_compiled" in vars(self):
            self.compile().release()

    def _compile_and_tell(self) -> Compiled:
        compiled = self._compile(reference=False)
        name = self.signature.name
        scopes = advise(self.program, name, compiled.layout, self.arguments, self.options)
        about = self.precision.explain_options if self.precision.logs else ()
        said = [scopes, self.precision.remark(), *(self._explain(about) if about else [])]
        lines = [f"{name}: {compiled.layout}", *(f"  {line}" for line in said if line)]
        if group.speaks():
            print("\n".join(lines), file=sys.stderr, flush=True)
        return compiled

    def compile_reference(self) -> Compiled:
        """Compiles the reference: the same step without scopes, one device, plain loops."""
        return self._compile(reference=True)

    def compile_quietly(self) -> Compiled:
        """Compiles the step anew and says nothing of it."""
        return self._compile(reference=False)

    def _compile(self, *, reference: bool) -> Compiled:
        options = (*(("--reference",) if reference else self.options), *self.precision.options)
        program, name = self.program.text, self.signature.name
        return Compiled(guarded(load_or_compile, program, self.devices, name, options), self)

    def loaded(self, plan: Any, path: Path) -> Compiled:
        """The compiled step, of a plan that was saved at a path; raises Error for one of another step."""
        del path
        check_slots(plan, self)
        return Compiled(plan, self)

    def with_devices(self, devices: str) -> Lowered:
        """The same program for other devices; nothing is compared with it."""
        return dataclasses.replace(self, devices=devices, plain_options=None)

    def with_options(self, options: tuple[str, ...]) -> Lowered:
        """The same program, compiled with these options; nothing is compared with it."""
        return dataclasses.replace(self, options=options, plain_options=None)


def load(path: PathLike, *, devices: Devices | None = None, like: Lowered | None = None) -> Executable:
    """Loads a plan that `Compiled.save` (or `epl-compile`) wrote.

    Args:
      path: the plan file; `<path>.hidden.npz` must stand beside it if the step closed over arrays.
      devices: to run on; default those of `epl.init`, else those the plan is for.
      like: the lowered step whose trees the arguments and results have; without it the plan is called with
        flat arrays in the order of `plan.slots`, and returns a flat list. A step that parameter servers train
        needs it, and `<path>.servers`; all workers load the same files, in a job of as many servers.

    Raises:
      Error: for a truncated or changed file, another count of devices or servers, a CPU that lacks what the
        code needs.
      ProcessError: if processes load other plans.
    """
    if like is not None and not isinstance(like, Lowered):
        raise ArgumentError(f"like must be a lowered step or None, found {like!r}")
    file = user_path(path)
    plan = guarded(runtime.module().Plan.load, os.fspath(file))
    members = group.current() if plan.devices > 1 else None
    chosen = current_devices()
    if devices is not None or chosen is None:
        chosen = visible(plan.device_string if devices is None else parse_devices(devices), current_config())
    if members is not None:
        chosen = in_processes(chosen, members.processes)
    elif (run := group.current()) is not None:  # a plan of one device, in each process
        chosen = runtime.module().devices_of_process(chosen, run.place_on_host)
    if members is not None:
        compare_plans(members, plan, file.stem if like is None else like.signature.name)
    if like is not None:
        return like.with_devices(chosen).loaded(plan, file)
    check_alone(file, plan)
    slots = [slot for slot in plan.slots if slot.hidden]
    constants, said = hidden.read(hidden.path_of(file), plan, slots) if slots else ([], ())
    return Executable(plan, chosen, file.stem, constants, reported=said)
