"""How a program is spread over devices: a strategy, or a mesh and shardings by hand."""

from __future__ import annotations

import dataclasses
import math
import random
from dataclasses import dataclass

# The axes that split each dimension of an argument, in the order of the mesh.
Sharding = tuple[tuple[str, ...], ...]

# What a scope says: replicate or split, and the devices of a replica.
Strategy = tuple[str, int]

# Extents that meshes of up to 8 devices divide, and ones that they do not.
SPLIT_EXTENTS = [1, 2, 3, 4, 5, 6, 7, 8, 12, 17, 24]


@dataclass(frozen=True)
class Layout:
    """A strategy of a scope or of the whole step; with `mesh`, shardings stand on the arguments too.

    With `outside`, what is outside of all scopes has another strategy on the same devices, which divide the
    batch then: who shards it over how many of them depends on who reads what. With `apart`, each of several
    scopes, and what is outside of them if that has a strategy, has devices of its own; with `meshes`, of
    as many of them in turn, scopes being alike.
    """

    devices: int
    strategy: str = "replicate"  # or split
    count: int = 1  # devices of a replica
    mesh: tuple[tuple[str, int], ...] = ()
    outside: Strategy | None = None
    apart: bool = False
    more: tuple[Strategy, ...] = ()  # of the scopes behind the first one
    meshes: int = 0

    @property
    def scopes(self) -> tuple[Strategy, ...]:
        return ((self.strategy, self.count), *self.more)

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        return (*self.scopes, self.outside) if self.outside else self.scopes

    @property
    def replica_devices(self) -> int:
        """How many devices all strategies have that are apart."""
        return sum(count for _, count in self.strategies[: self.meshes or None])

    @property
    def replicas(self) -> int:
        """How often all strategies stand side by side; one device is that of all."""
        return max(self.devices // self.replica_devices, 1)

    @property
    def stages(self) -> int:
        """Of a pipeline: what shares all devices is one."""
        return len(self.strategies) if self.apart and self.devices > 1 else 1

    @property
    def batch_parts(self) -> int:
        """What the extent of a batch is a multiple of where several strategies may shard it."""
        return self.replicas * math.lcm(*(n for _, n in self.strategies)) if self.apart else self.devices

    @property
    def axes(self) -> dict[str, int]:
        """The mesh that the compiler makes, or that the module brings; of several what all have."""
        if self.mesh:
            return dict(self.mesh)
        if self.apart:
            return {"data": self.replicas}
        split = self.count if self.strategy == "split" else 1
        return {"data": self.devices // split, "model": split}

    @property
    def says_strategy(self) -> bool:
        """Whether a step without scopes has to say its strategy."""
        return (self.strategy, self.count) != ("replicate", 1)

    def find_fault(self) -> str | None:
        """What the compiler has to say of the count of devices, if it does not divide them."""
        if not self.mesh and not self.apart and self.devices % self.count:
            return f"{self.strategy} over {self.count} devices on {self.devices},"
        return None

    def keep(self, scopes: list[int], outside: bool) -> Layout:
        """As many replicas of some of the strategies that are apart."""
        kept, last = [self.scopes[scope] for scope in scopes], self.outside if outside else None
        if not kept:
            kept, last = [last or ("replicate", 1)], None
        layout = lay_apart(self.devices, kept, last)
        if self.meshes and len(kept) % self.meshes == 0:
            layout = dataclasses.replace(layout, meshes=self.meshes)
        devices = self.replicas * layout.replica_devices
        return dataclasses.replace(layout, devices=1 if self.devices == 1 else devices)

    def __str__(self) -> str:
        if self.mesh:
            return "mesh of " + ", ".join(f"{name} {size}" for name, size in self.mesh)
        inside = " beside ".join(f"{kind} over {count}" for kind, count in self.scopes)
        inside += f" on {self.meshes} meshes" if self.meshes else ""
        outside = f" in {self.outside[0]} over {self.outside[1]}" if self.outside else ""
        return f"{inside}{outside} of {self.devices}"


def lay_apart(devices: int, scopes: list[Strategy], outside: Strategy | None = None) -> Layout:
    """Several strategies, each on devices of its own."""
    (strategy, count), *more = scopes
    return Layout(devices, strategy, count, outside=outside, apart=True, more=tuple(more))


def make_layout(choices: random.Random, devices: int) -> Layout:
    kind = choices.choices(["replicate", "split", "mesh", "colocated", "apart"], [5, 3, 3, 3, 4])[0]
    if kind == "mesh":
        return Layout(devices, mesh=_make_mesh(choices, devices))
    divisors = [count for count in range(1, devices + 1) if devices % count == 0]
    if kind == "colocated":
        return _make_colocated(choices, devices, divisors)
    if kind == "apart":
        return _make_apart(choices, devices, divisors)
    if choices.random() < 0.04:
        return Layout(devices, kind, choices.randint(1, 9))
    if kind == "split":
        return Layout(devices, kind, choices.choice(divisors[1:] or divisors))
    return Layout(devices, kind, choices.choice([1, 1, *divisors]))


def _make_colocated(choices: random.Random, devices: int, divisors: list[int]) -> Layout:
    """Two strategies, one of them mostly a split."""
    split = ("split", choices.choice(divisors[1:] or divisors))
    other = choices.choices(
        [("replicate", choices.choice(divisors)), ("split", choices.choice(divisors))], [3, 1]
    )[0]
    inside, outside = (split, other) if choices.random() < 0.7 else (other, split)
    return Layout(devices, *inside, outside=outside)


def _make_apart(choices: random.Random, devices: int, divisors: list[int]) -> Layout:
    """Strategies over counts whose sum divides the devices; on one device over one each."""
    total = choices.choice(divisors[1:] or [2])
    cuts = sorted(choices.sample(range(1, total), choices.randint(1, min(3, total - 1))))
    counts = [end - begin for begin, end in zip([0, *cuts], [*cuts, total], strict=True)]
    scopes = [(choices.choice(["replicate", "split"]), count) for count in counts]
    return lay_apart(devices, scopes, scopes.pop() if choices.random() < 0.2 else None)


def share_meshes(choices: random.Random, layout: Layout) -> Layout:
    """Of scopes that are apart as many that are alike, several on each mesh; or the layout as it is."""
    if not layout.apart or layout.outside or choices.random() < 0.6:
        return layout
    devices = layout.devices
    meshes = choices.choice([n for n in (1, 2, 2, 3) if devices % n == 0 or devices == 1])
    counts = [n for n in range(1, devices + 1) if devices % (meshes * n) == 0]
    scope = (choices.choice(["replicate", "split"]), choices.choice(counts or [1]))
    scopes = [scope] * (meshes * choices.choice([2, 2, 3]))
    return dataclasses.replace(lay_apart(devices, scopes), meshes=meshes)


def _make_mesh(choices: random.Random, devices: int) -> tuple[tuple[str, int], ...]:
    """One, two or three axes; mostly one of them is that of the batch."""
    sizes = [devices]
    for _ in range(choices.choice([0, 1, 1, 1, 2])):
        last = sizes.pop()
        factors = [size for size in range(2, last) if last % size == 0]
        size = choices.choice(factors if factors and choices.random() < 0.8 else [1, last])
        sizes += [size, last // size]
    names = ["data", *choices.sample(["model", "expert"], 2)][: len(sizes)]
    if choices.random() < 0.2:
        names = choices.sample(["data", "model", "expert", "x"], len(sizes))
    choices.shuffle(names)
    return tuple(zip(names, sizes, strict=True))


def make_sharding(choices: random.Random, axes: dict[str, int], shape: tuple[int, ...]) -> Sharding:
    """Each axis splits a dimension that it can split, or none; rarely one that it cannot."""
    sharding: list[tuple[str, ...]] = [() for _ in shape]
    careless = choices.random() < 0.02
    for name, size in axes.items():
        fits = [
            dim for dim, extent in enumerate(shape)
            if careless or extent % (count_parts(axes, sharding[dim]) * size) == 0
        ]  # fmt: skip
        if fits and choices.random() < 0.7:
            sharding[choices.choice(fits)] += (name,)
    return tuple(sharding)


def count_parts(axes: dict[str, int], names: tuple[str, ...]) -> int:
    return math.prod(axes[name] for name in names)


def find_sharding_fault(
    layout: Layout, shape: tuple[int, ...], sharding: Sharding | None, batch_dim: int | None
) -> str | None:
    """What the compiler has to say of an argument that cannot be divided, or None."""
    axes = layout.axes
    for dim, names in enumerate(sharding or ()):
        if shape[dim] % count_parts(axes, names):
            return f"of size {shape[dim]} is not divisible by {count_parts(axes, names)},"
    if sharding or batch_dim is None:
        return None
    if "data" not in axes:
        return 'has no axis of role "data" to shard the batch over'
    if shape[batch_dim] % axes["data"]:
        return f'of size {shape[batch_dim]} is not divisible by axis "data" of size {axes["data"]}'
    return None


def make_constraint(
    choices: random.Random, layout: Layout, shape: tuple[int, ...]
) -> tuple[Sharding, tuple[str, ...]]:
    """What splits each dimension, and axes that split none.

    Whatever splits a dimension already, the axes divide it with that; rarely they do not even alone.
    """
    sharding: list[tuple[str, ...]] = [() for _ in shape]
    whole: tuple[str, ...] = ()
    several = layout.apart or layout.outside is not None
    careless = choices.random() < 0.02 and not several
    axes = {"data": 1} if several else layout.axes  # which others there are, ops say
    axes = {name: size for name, size in axes.items() if size}  # none of too few devices
    everything = layout.batch_parts if several else math.prod(axes.values())
    for name, size in axes.items():
        if not (careless or layout.mesh or layout.strategy == "split" or name != "model"):
            continue
        fits = [
            dim
            for dim, extent in enumerate(shape)
            if (extent % size if careless else not extent % everything)
        ]
        if fits and choices.random() < 0.6:
            sharding[choices.choice(fits)] += (name,)
        elif choices.random() < 0.3:
            whole += (name,)
    return tuple(sharding), whole


def find_constraint_fault(
    layout: Layout, shape: tuple[int, ...], sharding: Sharding, whole: tuple[str, ...]
) -> str | None:
    """What the compiler has to say of a constraint that the devices cannot meet, or None."""
    axes = layout.axes
    for dim, names in enumerate((*sharding, whole)):
        if "model" in names and not layout.mesh and layout.strategy != "split":
            return 'constraint names axis "model"'
        if dim < len(shape) and shape[dim] % count_parts(axes, names):
            return f"its size of {shape[dim]} is not divisible by {count_parts(axes, names)},"
    return None


def write_sharding(sharding: Sharding) -> str:
    return f"#epl.sharding<@mesh, [{', '.join(map(write_axes, sharding))}]>"


def write_axes(names: tuple[str, ...]) -> str:
    return "{" + ", ".join(f'"{name}"' for name in names) + "}"


def write_mesh(mesh: tuple[tuple[str, int], ...]) -> str:
    return "epl.mesh @mesh axes [" + ", ".join(f'"{name}"={size}' for name, size in mesh) + "]"
