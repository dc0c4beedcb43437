"""Random programs, and what Paddle's ParallelExecutor makes of them on several places. Run with Paddle 2.6.

    random_programs.py FILE    writes the answers, by seed, as JSON

`test/paddle_programs/random_programs.json` has those of Paddle 2.6.2.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import paddle
from paddle import static

COUNT = 200
OPTIMIZERS = {
    "SGD": lambda: paddle.optimizer.SGD(0.1),
    "Momentum": lambda: paddle.optimizer.Momentum(0.05, 0.9),
    "Adam": lambda: paddle.optimizer.Adam(0.01),
}
SCALES = ("CoeffNumDevice", "One", "Customized")
MODES = ("AllReduce", "Reduce")


class Case:
    """A program by its seed.

    places: how many. sizes: the rows of each. is_cut: whether they are a batch that is cut as Paddle does.
    """

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        self.widths = [int(width) for width in random.integers(1, 9, random.integers(2, 5))]
        self.activations = [str(random.choice(["relu", "tanh", "sigmoid"])) for _ in self.widths[1:]]
        self.is_mean = bool(random.integers(2))
        self.is_squared = bool(random.integers(2))  # else gradients of the last layer are constants
        self.optimizer = str(random.choice(list(OPTIMIZERS)))
        self.scale = str(random.choice(SCALES, p=[0.5, 0.25, 0.25]))
        self.mode = str(random.choice(MODES))
        self.places = int(random.integers(2, 5))
        self.is_cut = self.scale != "Customized" and bool(random.integers(2))
        self.sizes = [int(rows) for rows in random.integers(1, 6, self.places)]
        if self.is_cut:
            most, last = self.sizes[0], min(self.sizes[0], self.sizes[-1])
            self.sizes = [most] * (self.places - 1) + [last]
        self.random = random

    def build(self):
        """Main program, startup program, loss, and what is fetched."""
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup), paddle.utils.unique_name.guard():
            h = static.data("x", [None, self.widths[0]])
            for width, activation in zip(self.widths[1:], self.activations, strict=True):
                h = static.nn.fc(h, width, activation=activation)
            y = static.nn.fc(h, 1)
            terms = paddle.square(y) if self.is_squared else y
            loss = paddle.mean(terms) if self.is_mean else paddle.sum(terms)
            OPTIMIZERS[self.optimizer]().minimize(loss)
        names = [parameter.name for parameter in main.all_parameters()]
        return main, startup, loss.name, [loss.name, y.name, f"{names[0]}@GRAD", names[-2]]

    def values(self, main):
        """First values of the parameters, and what each place is fed."""
        values = {
            each.name: self.random.uniform(-1, 1, each.shape).astype("float32")
            for each in main.all_parameters()
        }
        parts = [
            {"x": self.random.uniform(-1, 1, (rows, self.widths[0])).astype("float32")} for rows in self.sizes
        ]
        return values, parts

    def scales(self):
        """What the gradient of the loss begins with on each place, where it is fed."""
        return [np.float32(1 + 2 * place) for place in range(self.places)]


def tensor(value):
    made = paddle.base.core.LoDTensor()
    made.set(value, paddle.CPUPlace())
    return made


def executor(case, main, loss, scope, folder):
    """Paddle's ParallelExecutor."""
    core = paddle.base.core
    build, execution = static.BuildStrategy(), static.ExecutionStrategy()
    build.reduce_strategy = getattr(build.ReduceStrategy, case.mode)
    build.gradient_scale_strategy = getattr(build.GradientScaleStrategy, case.scale)
    build.debug_graphviz_path = str(folder / "graph")
    execution._use_device = core.DeviceType.CPU
    execution.num_threads = 2 * case.places
    place = core.Place()
    place.set_place(paddle.CPUPlace())
    names = sorted(variable.name for variable in main.list_vars() if variable.persistable)
    graph = core.Graph(main.desc)
    return core.ParallelExecutor(
        [place] * case.places, names, loss, scope, [], execution, build, graph
    ), graph


def owners(text, names):
    """Which place updates which parameter, in the graph that Paddle draws."""
    labels = dict(re.findall(r'(\w+) \[label="([^"]*)"', text))
    found = {}
    for begin, end in re.findall(r"(\w+) ?-> ?(\w+)", text):
        match = re.match(r"(\S+?)\\nPlace\(cpu\)\\nscope: (\d+)", labels.get(begin, ""))
        if match and match[1] in names and labels.get(end) in ("sgd", "momentum", "adam"):
            found[match[1]] = int(match[2])
    return found


def rounded(value):
    """Seven digits, of which a float has no more."""
    return [float(f"{each:.7g}") for each in np.array(value).ravel()]


def answer(seed):
    """What two steps fetch, flat, on all places or on one that has it; and who owns what in Reduce mode."""
    case = Case(seed)
    main, startup, loss, fetches = case.build()
    values, parts = case.values(main)
    scope = static.Scope()
    with static.scope_guard(scope), tempfile.TemporaryDirectory() as folder:
        static.Executor(paddle.CPUPlace()).run(startup)
        for name, value in values.items():
            scope.find_var(name).get_tensor().set(value, paddle.CPUPlace())
        made, _graph = executor(case, main, loss, scope, Path(folder))
        drawn = (Path(folder) / "graph_multi_devices_graph").read_text()
        owned = owners(drawn, set(values)) if case.mode == "Reduce" else {}
        if case.scale == "Customized":
            parts = [
                {**part, f"{loss}@GRAD": scale} for part, scale in zip(parts, case.scales(), strict=True)
            ]
        steps = []
        for _ in range(2):
            if case.is_cut:
                whole = {"x": tensor(np.concatenate([part["x"] for part in parts]))}
                made.feed_and_split_tensor_into_local_scopes(whole)
            else:
                made.feed_tensors_into_local_scopes(
                    [{name: tensor(value) for name, value in part.items()} for part in parts]
                )
            found = made.run(fetches, False)._move_to_list()
            loss_values, y, gradient, parameter = found
            owner = owned.get(fetches[2].removesuffix("@GRAD"), 0)  # which alone has the sum
            kept = (loss_values, y, gradient[owner : owner + 1], parameter[:1])
            steps.append([[rounded(each) for each in devices] for devices in kept])
    return {"fetched": steps, "owners": owned}


if __name__ == "__main__":
    paddle.enable_static()
    Path(sys.argv[1]).write_text(
        "\n".join(["{", ",\n".join(f'"{seed}": {json.dumps(answer(seed))}' for seed in range(COUNT)), "}"])
        + "\n"
    )
