"""Writes the pages of docs/reference that no TableGen file has.

Usage: `reference.py config|errors|fluid-strategies|operations|paddle-ops|python|sharding|tools`.

Every page is made from what it describes: the tables, docstrings, messages and --help texts of the sources,
so that scripts/docs --check sees when one of them changes.
"""

import ast
import inspect
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "python"))
GENERATED = "<!-- Made by scripts/docs; change the sources instead. -->\n"


def config_page() -> Iterator[str]:
    from epl.config import environment_name
    from epl.config_keys import KEYS

    yield "# Settings\n"
    yield prose("""
        Keys of `epl.Config`. A value comes from the dict given to it, else from the environment variable,
        else it is the default. Keys without effect yet take their default only: all else is an error.""")
    category = ""
    for name, key in KEYS.items():
        if key.instead:
            continue
        if not name.startswith(f"{category}."):
            category = name.partition(".")[0]
            yield f"\n## {category}\n"
        kind = type(key.default).__name__
        words = ", or " if isinstance(key.default, bool) else ", one of "
        allowed = words + ", ".join(f'`"{word}"`' for word in key.allowed) if key.allowed else ""
        effect = "" if key.has_effect else " No effect yet."
        default = f'"{key.default}"' if isinstance(key.default, str) else key.default
        yield f"- `{name}`: {kind}{allowed}, default `{default}`, environment `{environment_name(name)}`."
        yield f"  {key.meaning}{effect}"
    yield "\n## EPL's, not here\n"
    yield prose("""
        Settings of EPL that mean nothing here. They are known and take their default; anything else is an
        error that says what to do.""")
    yield "| Setting | In EPL | Here |"
    yield "|---|---|---|"
    for name, key in KEYS.items():
        if key.instead:
            yield f"| `{name}` | {key.meaning} | {key.instead[0].upper()}{key.instead[1:]}. |"
    yield ""


# What begins a statement that says what is wrong, in C++. Helpers that take a part of the message count too.
_CPP_ERROR = re.compile(
    r"\b(?:emit(?:Op|Arg|Result)?Error|throw (?:Plan)?Error|throw CLI::\w+|report\.add|[^.\w]fail|reject|"
    r"error =)\b(?=[\s(=])"
)
_CPP_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(;)|([^";]+)')
_CHOICE = re.compile(r'\?\s*"((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)"')


def cpp_messages(source: str) -> Iterator[str]:
    """The messages of a file, "…" for what is only known when they are made."""
    source = re.sub(r"^\s*//.*$", "", source, flags=re.M)
    for begin in _CPP_ERROR.finditer(source):
        message = ""
        statement = _CHOICE.sub(lambda m: f'"{m[1]}|{m[2]}"', source[begin.end() : begin.end() + 1200])
        for literal, end, code in _CPP_TOKEN.findall(statement):
            if end:
                break
            if code.strip() == ",":
                message += ": "
            elif re.search(r"\w", code):
                message += "…"
            elif code:
                continue
            else:
                message += literal.replace('\\"', '"').replace("\\n", " ")
        message = re.sub(r"^…(?! )", "", re.sub("…+", "…", message)).strip(" ")
        if " " in message.strip("… "):
            yield message


def python_messages(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Class and message of every `raise` of a file."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = {
            target.id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                message = python_text(node.exc.args[0], names)
                if " " in message:
                    yield ast.unparse(node.exc.func), message


def python_text(node: ast.AST, names: dict[str, ast.expr]) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(python_text(part, names) for part in parts)
        case ast.BinOp(left=left, right=right):
            return python_text(left, names) + python_text(right, names)
        case ast.Name(id=name) if name in names:
            return python_text(names[name], {})
    return "…"


def tracked(*patterns: str) -> list[Path]:
    command = ["git", "ls-files", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in listed.splitlines()]


def errors_page() -> Iterator[str]:
    from epl import errors

    yield "# Errors\n"
    yield prose("""
        All messages, by the file that they are made in; "…" stands for a name, a number or another message.
        Compiler errors reach Python as `epl.CompileError` with your source line, errors of the runtime as
        `epl.Error`.""")
    yield "## Classes\n"
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, Exception):
            bases = ", ".join(base.__name__ for base in kind.__bases__)
            yield f"- `epl.{name}` ({bases}): {paragraph(kind)}"
    yield "\n## Python\n"
    for path in tracked("python/epl/*.py"):
        found = python_messages(ast.parse(path.read_text()))
        yield from section(path, {f"- {kind}: {code(text)}" for kind, text in found})
    for title, folders in {"Compiler": "dialect passes", "Runtime": "runtime", "Tools": "tools"}.items():
        yield f"## {title}\n"
        for path in tracked(*(f"{folder}/**.{kind}" for folder in folders.split() for kind in ("cpp", "h"))):
            yield from section(path, {f"- {code(text)}" for text in cpp_messages(path.read_text())})


def operations_page() -> Iterator[str]:
    from epl.adapters.jax import support
    from epl.adapters.torch import support as torch_support
    from epl.signature import DTYPES

    yield "# Operations\n"
    yield prose("""
        What a step may use, by the names of StableHLO, which JAX lowers to, and what is an error. An error is
        an `epl.UnsupportedError` that names the operation, its types and your line.""")
    yield "## Supported\n"
    yield "| Group | Operations of StableHLO |"
    yield "|---|---|"
    for group, names in support.SUPPORTED.items():
        yield f"| {group} | {marked(names)} |"
    yield ""
    yield prose(f"""
        Elements are of {", ".join(sorted(DTYPES))}; keys of `jax.random.key` are arguments and results too.
        Loops (`while`) have a length that is known when the step is compiled, as `scan` and `fori_loop` with
        constant bounds have it, or a bound that the program shows or `epl.bounded_while` states: iterations
        behind the end are skipped. Of branches (`case`) the one that is taken is computed. `jax.debug.print`
        and `jax.debug.callback` show values after the step (`debug=True`), and `epl.check` fails it;
        `checkify.checkify` of a function inside the step gives its error as a value.""")
    yield prose(f"""
        What is done on whole matrices, LAPACK does: JAX's {marked(support.FACTORIZATIONS)}, so `jnp.linalg`
        and `jax.scipy.linalg` where they are made of these, with gradients. Devices share a batch of
        matrices, and the right-hand sides of a system, by its other dimensions. float32 and float64;
        numbers of 16 bits are converted to float32 and back.""")
    yield "## Errors\n"
    yield "| What | Primitives of JAX | Operations of StableHLO | Instead |"
    yield "|---|---|---|---|"
    for row in support.REFUSED:
        yield f"| {row.what} | {marked(row.primitives)} | {marked(row.operations)} | {row.instead} |"
    yield f"| elements of other types | | | {support.ELEMENTS_INSTEAD} |"
    yield ""
    yield prose(f"""
        JAX does not make these of a step of static shapes; they are errors too:
        {marked(support.UNSEEN)}.""")
    yield "## Ignored\n"
    yield prose("""
        `with_sharding_constraint`, with one warning, and the names that flax gives to axes: EPL derives every
        sharding, and `epl.constrain` says one. `optimization_barrier`: EPL does not merge what is computed
        again.""")
    yield "## PyTorch\n"
    yield prose("""
        What a step of `epl.torch.parallelize` may not do, besides what becomes one of the errors above
        (torch.fft).""")
    yield "| What | Example | Instead | Written so |"
    yield "|---|---|---|---|"
    for refused in torch_support.ROWS:
        yield f"| {refused.what} | `{refused.example}` | {refused.instead} | `{refused.rewritten}` |"
    yield "| other optimizers of torch than SGD, Adam, AdamW | `RMSprop` | use optax | `optax.rmsprop` |"


def paddle_ops_page() -> Iterator[str]:
    from epl.paddle.operators import TABLE
    from epl.paddle.operators.gradients import OF

    yield "# Operators of Paddle\n"
    yield prose(f"""
        What a program that `epl.paddle.load` reads may use, by the names of Paddle's programs: {len(TABLE)}
        operators in the families of `python/epl/paddle/operators`. Their meanings are those of Paddle 2.6.
        The gradient of an operator, `<name>{OF}`, is its vjp, unless it stands here too. All others are one
        `epl.UnsupportedError` with their lines.""")
    yield "| Family | Operator | Direction | What it computes |"
    yield "|---|---|---|---|"
    families = {name: function.__module__.rpartition(".")[2] for name, function in TABLE.items()}
    for name in sorted(
        TABLE, key=families.__getitem__
    ):  # as in the sources, where one says what is as before
        direction = "gradient" if OF in name else "forward"
        yield f"| {families[name]} | `{name}` | {direction} | {meaning(TABLE[name])} |"


def meaning(operator: Any) -> str:
    """The first line of its docstring or of what made it; else the function of JAX that it calls."""
    made_by = operator.__qualname__.partition(".")[0]
    maker = getattr(sys.modules[operator.__module__], made_by)
    lines = [(inspect.getdoc(each) or "").partition("\n")[0] for each in (operator, maker)]
    calls = map(public_name, inspect.getclosurevars(operator).nonlocals.values())
    words = made_by.strip("_").replace("_", " ").capitalize()
    return next(filter(None, [*lines, *calls, f"{words}."])).replace("|", "\\|")


def public_name(function: Any) -> str:
    """The name of a function of JAX as users write it; empty for another value."""
    import jax

    name = getattr(function, "__name__", "")
    modules = (jax.numpy, jax.nn, jax.lax)
    return next((f"`{each.__name__}.{name}`" for each in modules if getattr(each, name, 0) is function), "")


def marked(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def section(path: Path, lines: set[str]) -> Iterator[str]:
    if lines:
        yield f"### {path.relative_to(ROOT)}\n"
        yield from sorted(lines)
        yield ""


def code(text: str) -> str:
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


def paragraph(thing: Any) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def python_page() -> Iterator[str]:
    import epl

    yield "# Python\n"
    yield f"{paragraph(epl)}\n"
    for name in epl.__all__:
        thing = getattr(epl, name)
        if inspect.isclass(thing) and issubclass(thing, Exception):
            continue  # stands in errors.md
        yield f"## epl.{name}\n"
        if inspect.isclass(thing):
            yield from documented(thing, f"class epl.{name}", constructor=thing.__init__)
            for member in public_members(thing):
                yield f"### {name}.{member}\n"
                yield from documented(getattr(thing, member), f"{name}.{member}")
        elif inspect.ismodule(thing):
            yield f"{inspect.getdoc(thing)}\n"
            for part in thing.__all__:
                yield f"## epl.{name}.{part}\n"
                yield from part_of(getattr(thing, part), f"epl.{name}.{part}")
        elif callable(thing):
            yield from documented(thing, f"epl.{name}")
        else:
            yield from part_of(type(thing), f"epl.{name}")


def part_of(thing: Any, name: str) -> Iterator[str]:
    """A function, or a class that users do not construct."""
    if not inspect.isclass(thing):
        yield from documented(thing, name)
        return
    yield docstring(thing)
    short = name.rpartition(".")[2]
    for member in public_members(thing):
        yield f"### {short}.{member}\n"
        yield from documented(getattr(thing, member), f"{short}.{member}")


def public_members(kind: type) -> list[str]:
    def is_shown(name: str, value: Any) -> bool:
        documented = inspect.isfunction(value) or isinstance(value, (property, staticmethod, classmethod))
        return documented and (not name.startswith("_") or name == "__call__") and bool(inspect.getdoc(value))

    return [name for name, value in vars(kind).items() if is_shown(name, value)]


def documented(thing: Any, name: str, constructor: Any = None) -> Iterator[str]:
    target = constructor if constructor is not None else thing
    if callable(target):
        yield f"```python\n{signature(target, name)}\n```\n"
    yield docstring(thing)


def signature(function: Any, name: str) -> str:
    parameters = list(inspect.signature(function).parameters.values())
    shown = [p.replace(annotation=p.empty) for p in parameters if p.name != "self"]
    one_line = f"{name}{inspect.Signature(shown)}"
    if len(one_line) <= 100:
        return one_line
    star, lines = False, []
    for parameter in shown:
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            lines.append("    *,")
            star = True
        lines.append(f"    {parameter},")
    return "\n".join([f"{name}(", *lines, ")"])


def docstring(thing: Any) -> str:
    """Google's sections as lists."""
    text = re.sub(r"^(\w+):$", r"**\1**\n", inspect.getdoc(thing) or "", flags=re.M)
    text = re.sub(r"^  (\w+(?:, \w+)*): ", r"- `\1`: ", text, flags=re.M)
    return re.sub(r"^    (?=\S)", "  ", re.sub(r"^  (?=\S)", "", text, flags=re.M), flags=re.M) + "\n"


# In passes/shard/ops: a model of ops, up to the end of its struct, and where it is attached to one.
_MODEL = re.compile(
    r"^(?:template <[^\n]*>\s+)?struct (\w+Model) : (\w+)[^{]*\{(?:\};|\n(.*?)^\};)", re.M | re.S
)
_ATTACHED = re.compile(r"(\w+(?:::\w+)?)::attachInterface<(\w+)")
_INTERFACE = re.compile(r"InterfaceMethod<\[\{(.*?)\}\], \"[^\"]*\",\s*\"(\w+)\"", re.S)
_NAMESPACES = {"tensor": "tensor.", "linalg": "linalg.", "arith": "arith.", "": "epl."}


_EFFECTS = {
    "real": "",
    "always": "Any value is taken, and it is said once that it makes no difference: ",
    "none": "No effect, ",
    "refused": "Another value is an error: ",
}


def fluid_strategies_page() -> Iterator[str]:
    from epl.paddle.strategies import BuildStrategy, ExecutionStrategy

    yield "# Strategies of Fluid\n"
    yield prose("""
        Fields of `epl.fluid.BuildStrategy` and `epl.fluid.ExecutionStrategy`, and what each does here. They
        are Paddle's, with Paddle's defaults.""")
    for kind in (BuildStrategy, ExecutionStrategy):
        yield f"\n## {kind.__name__}\n"
        yield "| Field | Default | What it does |\n| --- | --- | --- |"
        for name, each in kind.FIELDS.items():
            default = getattr(each.default(), "name", None) or repr(each.default())
            text = _EFFECTS[each.effect.value] + each.does
            yield f"| `{name}` | `{default}` | {text[0].upper()}{text[1:]}. |"


def sharding_page() -> Iterator[str]:
    yield "# What ops mean for sharding\n"
    yield prose("""
        What the shard phase asks about an op is said in one model of the interface `ShardableOp`
        (`passes/shard/analysis/ShardableOp.td`), in a file of `passes/shard/ops`. A model says what is not
        the default.""")
    questions = _INTERFACE.findall((ROOT / "passes/shard/analysis/ShardableOp.td").read_text())
    yield "| Question | What is asked |\n| --- | --- |"
    for text, name in questions:
        yield f"| `{name}` | {' '.join(text.split())} |"
    names = [name for _, name in questions]
    yield "\n## Which model answers what\n"
    yield "| Op | File | " + " | ".join(f"`{name}`" for name in names) + " |"
    yield "| --- " * (len(names) + 2) + "|"
    for path in sorted((ROOT / "passes/shard/ops").glob("*Ops.cpp")):
        text = path.read_text()
        models = {name: (base, body) for name, base, body in _MODEL.findall(text)}
        for op, model in _ATTACHED.findall(text):
            base, body = models[model]
            body += models[base][1] if base in models else ""
            answers = ["yes" if re.search(rf"\b{name}\(Operation", body) else "" for name in names]
            yield f"| `{op_name(op)}` | `{path.name}` | " + " | ".join(answers) + " |"
    yield ""
    yield prose("""
        Ops without a model: other linalg ops are derived from indexing maps, iterator types and bodies,
        elementwise ops from their traits, tensors that are the same everywhere from that; all dimensions of
        any other op are replicated.""")


def op_name(kind: str) -> str:
    """The name in IR of an op, from that of its class in C++."""
    namespace, _, name = kind.rpartition("::")
    words = "_".join(re.findall(r"[A-Z][a-z]*", name.removesuffix("Op"))).lower()
    return "builtin." + words if kind.startswith("Unrealized") else _NAMESPACES[namespace] + words


def tools_page() -> Iterator[str]:
    yield "# Tools\n"
    yield prose("""
        Programs in `build/bin`; an installed package has the commands `epl` (`python -m epl`), `epl-compile`,
        `epl-run`, `epl-plan`, `epl-server` and `epl-launch`. `epl-opt` is MLIR's optimizer driver with the
        passes of
        [annotate](passes-annotate.md), [shard](passes-shard.md), [pipeline](passes-pipeline.md) and
        [kernel](passes-kernel.md), each a flag of its own, and their pipelines (`--epl-parallelize`,
        `--epl-kernel`, `--epl-codegen`).
        `epl-lsp-server` is a language server for `.mlir` files.""")
    subcommands = ("dump", "verify", "ptx", "render", "explain", "schedule", "simulate", "machine")
    tools = ("epl-compile", "epl-run", "epl-plan", "epl-server", "epl-launch")
    plain = (("python", "-m", "epl"), ("python", "-m", "epl.sass"), *((tool,) for tool in tools))
    for command in (*plain, *(("epl-plan", subcommand) for subcommand in subcommands)):
        program = sys.executable if command[0] == "python" else ROOT / "build" / "bin" / command[0]
        environment = {**os.environ, "COLUMNS": "100", "PYTHONPATH": str(ROOT / "python")}
        text = subprocess.run(
            [program, *command[1:], "--help"], capture_output=True, text=True, check=True, env=environment
        ).stdout
        lines = "\n".join(line.rstrip() for line in text.strip().replace(f"{ROOT}/", "").splitlines())
        yield f"## {' '.join(command)}\n\n```text\n{lines}\n```\n"
    yield "## Reading --timing\n"
    yield prose("""
        `epl-compile --timing` prints a tree: the input, its phases in order, the passes of each phase. A line
        is the wall time of all below it; `(A)` marks an analysis, `Rest` what no line below accounts for.
        Passes are named by their classes: `PropagatePass` is `epl-propagate`.""")


def prose(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 110, break_long_words=False, break_on_hyphens=False) + "\n"


PAGES = {
    "config": config_page,
    "errors": errors_page,
    "fluid-strategies": fluid_strategies_page,
    "operations": operations_page,
    "paddle-ops": paddle_ops_page,
    "python": python_page,
    "sharding": sharding_page,
    "tools": tools_page,
}

if __name__ == "__main__":
    print(GENERATED)
    print("\n".join(PAGES[sys.argv[1]]()).rstrip())
