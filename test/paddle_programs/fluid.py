"""Programs of epl.fluid, and what Paddle makes of them. Run with EPL and Paddle 2.6 (scripts/setup --paddle).

    fluid.py answers FOLDER [NAME ...]     programs of layers, as answers.py writes them
    fluid.py training FOLDER [NAME ...]    programs that train, also of nets (fluid_nets.py), as train.py does

Without names it writes all of them.
"""

import inspect
import sys

from epl.fluid.installed import load  # isort: skip  # it imports JAX, which has to be first
import fluid_cases
import fluid_layer_cases
from answers import PROGRAMS as ANSWERS
from answers import write as write_answers
from answers import write_all
from fluid_nets import NETS
from fluid_schedules import schedules
from train import PROGRAMS as TRAINING
from train import write as write_training

from epl.fluid import layers, optimizer
from epl.fluid.initializer import Normal

paddle = load()

CASES = {**fluid_cases.CASES, **fluid_layer_cases.CASES}
FEEDS = {**fluid_cases.FEEDS, **fluid_layer_cases.FEEDS}


def build(function, feeds):
    """The results of a case, of variables by name."""
    found = function(*(feeds[name] for name in inspect.signature(function).parameters))
    return found if isinstance(found, (list, tuple)) else [found]


def results_of(family):
    """All results of a family."""

    def make(*variables):
        feeds = dict(zip(FEEDS[family], variables, strict=True))
        found = [build(function, feeds) for function in CASES[family].values()]
        return [each for results in found for each in results]

    return make


def loss_of(family):
    """A loss of all results that have gradients, of inputs that are trained."""

    def make(*variables):
        results = results_of(family)(*map(trained, variables))
        floats = [each for each in results if each.dtype == paddle.float32 and not each.stop_gradient]
        return layers.sums([layers.reduce_mean(layers.square(layers.sigmoid(each))) for each in floats])

    return make


def trained(variable):
    """Real numbers plus parameters, the same for each row, so that what gradient they have is seen."""
    if variable.dtype != paddle.float32:
        return variable
    parameter = layers.create_parameter(
        list(variable.shape[1:]), "float32", default_initializer=Normal(0.0, 0.1)
    )
    return layers.elementwise_add(variable, parameter, axis=1)


for family, feeds in FEEDS.items():
    ANSWERS[f"fluid_{family}"] = (results_of(family), feeds)
    if family not in fluid_layer_cases.UNTRAINED:
        TRAINING[f"fluid_{family}"] = (loss_of(family), lambda: optimizer.SGD(0.5), feeds)
for name, net in NETS.items():
    TRAINING[f"fluid_{name}"] = net
TRAINING["fluid_schedules"] = (schedules, lambda: optimizer.SGD(0.1), {"x": [4, 3]})

if __name__ == "__main__":
    kind = sys.argv.pop(1)
    programs, write = {"answers": (ANSWERS, write_answers), "training": (TRAINING, write_training)}[kind]
    wanted = sys.argv[2:] or [name for name in programs if name.startswith("fluid_")]
    write_all(wanted, write)
