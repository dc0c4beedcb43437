"""EPL's settings: the keys of `epl.Config`, what they mean, and which have no place here and why."""

from __future__ import annotations

from dataclasses import dataclass

Value = bool | int | float | str


@dataclass(frozen=True)
class Key:
    """A setting: its default, which fixes its type, its meaning, and the values allowed.

    `allowed` holds lower-case words; if it is empty, all values of the type are, and strings keep their case.
    Where the default is a bool, they are allowed beside True and False.
    `has_effect` says whether anything but the default is taken in this version. `instead`: of a key of EPL
    that means nothing here, the reason and what to do. `least`: the lowest number allowed.
    """

    default: Value
    meaning: str
    allowed: tuple[str, ...] = ()
    has_effect: bool = False
    instead: str = ""
    least: int | None = None


KEYS: dict[str, Key] = {
    "auto.auto_parallel": Key(
        False,
        "Cut a step without scopes into pipeline.num_stages stages of a pipeline, each with devices of its "
        "own, where the largest one takes least time; scopes are not allowed then.",
        has_effect=True,
    ),
    "io.slicing": Key(
        False,
        "Share a list of input files among the processes: `epl.local_files` returns those that this process "
        "reads, the file at position i in process i modulo their number. All processes read all files if "
        "there are fewer than processes, or if they do not divide evenly and nothing says what to do then.",
        has_effect=True,
    ),
    "io.unbalanced_io_slicing": Key(
        False,
        "With io.slicing: give some processes one file more if they do not divide evenly.",
        has_effect=True,
    ),
    "io.drop_last_files": Key(
        False,
        "With io.slicing: nobody reads the last files if they do not divide evenly.",
        has_effect=True,
    ),
    "communication.sparse_as_dense": Key(
        False,
        "Sum the gradients of embeddings whole. Else devices exchange the rows that a batch looks up, and "
        "their positions, where that moves less, and each adds all of them to zeros, in the order of the "
        "batch.",
        has_effect=True,
    ),
    "communication.fuse": Key(
        True,
        "Send gradients together that are complete at about the same time, and other values that devices "
        "exchange; else each by itself.",
        has_effect=True,
    ),
    "communication.fuse_broadcasts": Key(
        True,
        "With communication.fuse: send new parameters together, too, which their owners (zero.owner) send to "
        "all others; else each by itself.",
        has_effect=True,
    ),
    "communication.max_splits": Key(
        0,
        "With communication.fuse: into about how many groups gradients are fused before they are summed: of "
        "k, each has at most a (k - 1)th of the bytes of all, or one gradient that is larger; 1: into one. "
        "0: into groups of the size that the link between the devices wants (cluster.machine).",
        has_effect=True,
        least=0,
    ),
    "communication.num_communicators": Key(
        1,
        "How many exchanges of the same devices may be under way at a time, 1 to 8; they take turns. Calls "
        "of NCCL on one card come one after another all the same.",
        has_effect=True,
        least=1,
    ),
    "communication.fp16": Key(
        False,
        "Send gradients of f32 in 16 bits where devices sum them: True as f16, scaled by "
        "communication.fp16_scale; bf16 as bf16, which has the range of f32. CPUs add them up in f32 and "
        "round the sum, NCCL adds in 16 bits. Losses, statistics and other types stay what they are.",
        ("bf16",),
        has_effect=True,
    ),
    "communication.fp16_scale": Key(
        128,
        "With communication.fp16 = True: what gradients are multiplied by before they become f16; the sum is "
        "divided by it. f16 ends at 65504, so that sums beyond 511 are infinite with 128.",
        has_effect=True,
        least=1,
    ),
    "communication.clip_after_allreduce": Key(
        False,
        "Clip the summed gradients, not those of each device.",
        instead="a gradient in a step is that of the whole batch, so that what clips it there, for example "
        "optax.clip_by_global_norm, clips summed gradients anyway: leave it out",
    ),
    "communication.gradients_reduce_method": Key(
        "mean",
        "How the gradients of the copies are combined.",
        ("mean", "sum"),
        instead="a step has one gradient, that of its loss over the whole batch, and no copies that are "
        "combined. The loss of the step says it: write loss.sum() or loss.mean()",
    ),
    "pipeline.num_stages": Key(
        -1,
        "On the devices of how many stages the scopes of a step are in turn: of 8 scopes on 4, each has two. "
        "-1: each scope has devices of its own, or those that a table (pipeline.schedule) says. Beside a "
        "table it is the number of its meshes. With auto.auto_parallel: how many stages are found.",
        has_effect=True,
        least=-1,
    ),
    "pipeline.num_micro_batch": Key(
        1,
        "How many micro-batches a batch is cut into. They are computed one after the other, and their "
        "gradients are added up: the results are those of the whole batch, in less memory.",
        has_effect=True,
        least=1,
    ),
    "pipeline.strategy": Key(
        "preferbackward",
        "In which order the devices of a scope take micro-batches: all forward work first (preferforward, "
        "gpipe), backward work as soon as possible (preferbackward, 1f1b), that with one more forward ahead "
        "(preferbackwardoptimizer), with gradients of parameters where the devices would wait (zb-h1), or "
        "through several scopes on the same devices in turn (interleaved).",
        (
            "preferforward",
            "preferbackward",
            "preferbackwardoptimizer",
            "gpipe",
            "1f1b",
            "zb-h1",
            "interleaved",
        ),
        has_effect=True,
    ),
    "pipeline.schedule": Key(
        "",
        "A file with a table of the order in which each mesh does the work of its micro-batches, instead of "
        "a strategy: `epl-plan schedule` prints such tables.",
        has_effect=True,
    ),
    "gradient_checkpoint.type": Key(
        "",
        "Which values of the forward work are kept for the gradient; what lies between them is computed "
        'again, in less memory: those of `epl.add_to_collection(x, "checkpoints")` (collection), or, of each '
        "scope, the narrowest, about as many as the square root of all (auto). Empty: all that it reads.",
        ("", "collection", "auto"),
        has_effect=True,
    ),
    "gradient_checkpoint.end_taskgraph": Key(
        -1,
        "The last scope, counted from 0, of which values are computed again; -1: all are.",
        has_effect=True,
        least=-1,
    ),
    "gradient_checkpoint.check_gradients": Key(
        False,
        "Compare all results of the first call of a step, new parameters among them, with those of the same "
        "step in which nothing is computed again: a difference is a `CheckError`.",
        has_effect=True,
    ),
    "zero.level": Key(
        "",
        "What devices that compute the same share among them, where each would have a copy: the optimizer's "
        "state (v1), its gradients too (v2), parameters too (v3). v0 is v1: EPL's v0 sums whole gradients on "
        "every device, here parts are summed where they are read.",
        ("", "v0", "v1", "v2", "v3"),
        has_effect=True,
    ),
    "zero.owner": Key(
        "",
        "Give each parameter, with all that the optimizer keeps of it, to one of the devices that would have "
        "copies (parameter): that alone sums its gradient and computes its new value, which it sends to the "
        "others. Optimizers that work on whole matrices share their work so. Instead of zero.level, which "
        "cuts each state.",
        ("", "parameter"),
        has_effect=True,
    ),
    "offload.level": Key(
        "",
        "Keep states, parameters and what the optimizer has of them, in memory of the host, pinned (v0). A "
        "card copies each just before a step needs it, beside its computation, and drops it behind that; new "
        "values are copied back. So a card needs memory for what the step computes and for a few states, not "
        "for all. Numbers stay on the card. Results are the same bits. With `cpu:N`, whose memory the host's "
        "is, it is an error.",
        ("", "v0"),
        has_effect=True,
    ),
    "amp.level": Key(
        "",
        "Mixed precision: with o1 contractions (matrix products, convolutions, einsum) of the forward and "
        "backward work take f32 operands rounded to bf16 and add up in f32. All else stays f32: parameters, "
        "exponentials, logarithms, softmax, norms, means, sums, the optimizer.",
        ("", "o1"),
        has_effect=True,
    ),
    "amp.debug_log": Key(
        False,
        "Print, when a step is compiled, which contractions take bf16, at your lines, and what stays f32.",
        has_effect=True,
    ),
    "amp.loss_scale": Key(
        "dynamic",
        "What the loss is multiplied by, so that gradients of 16 bits are not zero. bf16 has the range of "
        'f32 and needs none: `"dynamic"` and 1 scale nothing, all else is an error.',
        has_effect=True,
    ),
    "cluster.device_place_prefer_intra_node": Key(
        True,
        "Place a copy of the model within a node; else place it across the nodes, so that the replicas of "
        "each of its scopes are within one. Nodes are those of `cpu:WxG`.",
        has_effect=True,
    ),
    "cluster.run_visible_devices": Key(
        "",
        'The cards that each process uses, by the driver\'s numbers, `"2-3"` or `"0,2"`; all if empty. '
        "`cuda:0` is the first of them then, and with `cuda:*` the processes of a host take them in turn. "
        "Devices that are no cards have none to choose among: with `cpu:N` it is an error.",
        has_effect=True,
    ),
    "cluster.colocate_split_and_replicate": Key(
        False,
        "Run all scopes on the same devices: what replicates shards its batch over all of them, what is "
        "split over groups of them; else each scope has devices of its own.",
        has_effect=True,
    ),
    "cluster.machine": Key(
        "cpu",
        "What the devices can do, by which the compiler weighs computing against moving: a kind that it "
        "knows (`cpu`, `a100`, `h100`, `h200`, `b200`), or the name of a file as `epl-plan machine` prints "
        "it. Several, with commas between them, are those of the meshes in their order: stages that are "
        "found get work by the speed of their devices.",
        has_effect=True,
    ),
    "cluster.num_threads": Key(
        0,
        "How many threads of a process run a step; 0: one for each core, and one for each device at most. "
        "With 1 it is the calling thread where it waits for the step.",
        has_effect=True,
        least=0,
    ),
    "cluster.sequential": Key(
        False,
        "Have each device do its work in the order of the program, one after the other; else it exchanges "
        "values while it computes others.",
        has_effect=True,
    ),
    "split.sequence_parallel": Key(
        False,
        "Share among the devices of a split what each would compute whole between its sums and its products: "
        "norms, dropout, residual additions. The same bytes are exchanged, and less is kept.",
        has_effect=True,
    ),
    "optimizer.num_apply_group": Key(
        1,
        "In how many groups, one after another, the optimizer is applied.",
        instead="updates of parameters share their work memory already: leave it out",
    ),
}
