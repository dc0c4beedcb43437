"""Learning rates that programs compute."""

from epl.fluid import layers

SCHEDULES = {
    "noam": lambda: layers.noam_decay(64, 3, 2.0),
    "exponential": lambda: layers.exponential_decay(0.5, 3, 0.7),
    "staircase": lambda: layers.exponential_decay(0.5, 3, 0.7, staircase=True),
    "natural": lambda: layers.natural_exp_decay(0.5, 3, 0.7),
    "inverse": lambda: layers.inverse_time_decay(0.5, 3, 0.7),
    "polynomial": lambda: layers.polynomial_decay(0.5, 2, 0.1, 2.0),
    "cycle": lambda: layers.polynomial_decay(0.5, 2, 0.1, 2.0, cycle=True),
    "piecewise": lambda: layers.piecewise_decay([1, 3], [0.5, 0.2, 0.1]),
    "cosine": lambda: layers.cosine_decay(0.5, 2, 3),
    "warmup": lambda: layers.linear_lr_warmup(layers.exponential_decay(0.5, 3, 0.7), 2, 0.1, 0.5),
    "warmup_to_a_number": lambda: layers.linear_lr_warmup(0.5, 5, 0.1, 0.4),
}


def schedules(x):
    for name, schedule in SCHEDULES.items():
        kept = layers.create_global_var([1], 0.0, "float32", persistable=True, name=name)
        layers.sums([kept * 0.5, schedule()], kept)
    return layers.mean(layers.square(layers.fc(x, 2)))
