"""Changes of a program's text that stay near what is valid."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

NUMBERS = ["0", "1", "2", "3", "5", "7", "16", "-1", "1000000", "2147483648", "9223372036854775807"]
TYPES = ["f32", "f64", "bf16", "f16", "i1", "i8", "i32", "i64", "ui32", "index", "f8E4M3FN", "complex<f32>"]
NUMBER = re.compile(r"(?<![\w%#^.])-?\d+(?![\w.])|(?<=[<x])\d+(?=x)")
ELEMENT = re.compile(r"\b(?:" + "|".join(map(re.escape, TYPES)) + r")(?![\w<])")
VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
NAME = re.compile(r'"[^"\n]*"|@[\w.]+')
WORD = re.compile(r"(?<=[<,( ])[a-z_]{3,}(?=[>,)} ])")
NESTED = r"(?:[^\[\]<>{}(),]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*"
ATTRIBUTE = re.compile(r"[\w.]+ = " + NESTED + r"(?:, )?|(?<=[{ ])epl\.hidden(?:, )?")
TENSOR = re.compile(r"(?:tensor|vector|!epl\.dist)<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")
DICTIONARY = re.compile(r"\{[^{}\n]*=[^{}\n]*\}")

# MLIR's own parser reads the width of a type that has none.
MLIR_CRASHES = re.compile(r"array<(?:index|complex<f32>)")

Change = Callable[[str, str, random.Random], str]


def mutate(text: str, other: str, choices: random.Random) -> str:
    """`text` with one to three changes, some of which take parts of the program `other`."""
    for _ in range(choices.choice([1, 1, 2, 3])):
        text = choices.choice(CHANGES)(text, other, choices)
    text = MLIR_CRASHES.sub("array<i64", text)
    return text if text.endswith("\n") else text + "\n"


def _replace_one(
    pattern: re.Pattern[str], make: Callable[[str], str], text: str, choices: random.Random
) -> str:
    matches = list(pattern.finditer(text))
    if not matches:
        return text
    match = choices.choice(matches)
    return text[: match.start()] + make(match[0]) + text[match.end() :]


def _swap_one(pattern: re.Pattern[str], text: str, choices: random.Random) -> str:
    """Puts something else that matches in the place of a match."""
    found = [match[0] for match in pattern.finditer(text)]
    return _replace_one(pattern, lambda old: choices.choice(found), text, choices)


#
# Lines, most of which are ops
#


def _delete_op(text: str, other: str, choices: random.Random) -> str:
    """A line less; who reads what it defines reads another value, mostly one of its operands."""
    lines = text.splitlines(keepends=True)
    index = choices.randrange(len(lines))
    line = lines.pop(index)
    defined, equals, op = line.partition(" = ")
    values = VALUE.findall(op)
    rest = "".join(lines[index:])
    if equals and values and (name := VALUE.search(defined)):
        rest = _rename(name[0], choices.choice(values), rest)
    return ("".join(lines[:index]) + rest) or "\n"


def _duplicate_op(text: str, other: str, choices: random.Random) -> str:
    """A line once more, with a new name for what it defines, which is read instead."""
    lines = text.splitlines(keepends=True)
    index = choices.randrange(len(lines))
    name = VALUE.match(lines[index].strip())
    if not name:
        lines.insert(index, lines[index])
        return "".join(lines)
    rest = "".join(lines[index + 1 :])
    if choices.random() < 0.5:
        rest = _rename(name[0], "%again", rest)
    return "".join(lines[: index + 1]) + lines[index].replace(name[0], "%again", 1) + rest


def _swap_lines(text: str, other: str, choices: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    first = choices.randrange(len(lines))
    second = min(first + choices.choice([1, 1, 2, 5]), len(lines) - 1)
    lines[first], lines[second] = lines[second], lines[first]
    return "".join(lines)


def _splice_line(text: str, other: str, choices: random.Random) -> str:
    """A line of the other program, which reads values of this one that stand before it."""
    lines = text.splitlines(keepends=True)
    index = choices.randrange(len(lines)) + 1
    values = VALUE.findall("".join(lines[:index])) or ["%0"]
    name, equals, op = choices.choice(other.splitlines()).rpartition(" = ")
    op = VALUE.sub(lambda _: choices.choice(values), op)
    lines.insert(index, (f"%spliced{equals}" if name else "") + op + "\n")
    return "".join(lines)


def _rename(old: str, new: str, text: str) -> str:
    return re.sub(re.escape(old) + r"(?![\w$.-])", lambda _: new, text)


def _bypass_op(text: str, other: str, choices: random.Random) -> str:
    """Who reads a value reads another one."""
    values = sorted(set(VALUE.findall(text)))
    if len(values) < 2:
        return text
    old, new = choices.sample(values, 2)
    head, _, tail = text.partition(old)
    return head + old + _rename(old, new, tail)


#
# Parts of lines
#


def _change_number(text: str, other: str, choices: random.Random) -> str:
    def change(old: str) -> str:
        near = str(int(old) + choices.choice([-1, 1]))
        return near if choices.random() < 0.4 else choices.choice(NUMBERS)

    return _replace_one(NUMBER, change, text, choices)


def _change_number_everywhere(text: str, other: str, choices: random.Random) -> str:
    """An extent in all types, so that most of them still agree."""
    numbers = [number for number in NUMBER.findall(text) if int(number) > 1]
    if not numbers:
        return text
    old, new = choices.choice(numbers), choices.choice(NUMBERS)
    return NUMBER.sub(lambda match: new if match[0] == old else match[0], text)


def _change_element(text: str, other: str, choices: random.Random) -> str:
    return _replace_one(ELEMENT, lambda old: choices.choice(TYPES), text, choices)


def _change_element_everywhere(text: str, other: str, choices: random.Random) -> str:
    elements = ELEMENT.findall(text)
    if not elements:
        return text
    old, new = choices.choice(elements), choices.choice(TYPES)
    return ELEMENT.sub(lambda match: new if match[0] == old else match[0], text)


def _change_rank(text: str, other: str, choices: random.Random) -> str:
    """A dimension more, or fewer, of a type, here or everywhere."""

    def change(old: str) -> str:
        if choices.random() < 0.5:
            return old.replace("<", choices.choice(["<1x", "<2x", "<?x", "<*x", "<0x"]), 1)
        return re.sub(r"<\d+x", "<", old, count=1)

    tensors = TENSOR.findall(text)
    if not tensors or choices.random() < 0.5:
        return _replace_one(TENSOR, change, text, choices)
    old = choices.choice(tensors)
    return text.replace(old, change(old))


def _swap_types(text: str, other: str, choices: random.Random) -> str:
    return _swap_one(TENSOR, text, choices)


def _swap_operand(text: str, other: str, choices: random.Random) -> str:
    return _swap_one(VALUE, text, choices)


def _swap_name(text: str, other: str, choices: random.Random) -> str:
    return _swap_one(NAME, text, choices)


def _swap_word(text: str, other: str, choices: random.Random) -> str:
    words = WORD.findall(text if choices.random() < 0.7 else other)
    return _replace_one(WORD, lambda old: choices.choice(words or [old]), text, choices)


def _remove_attribute(text: str, other: str, choices: random.Random) -> str:
    return _replace_one(ATTRIBUTE, lambda old: "", text, choices)


def _remove_attribute_everywhere(text: str, other: str, choices: random.Random) -> str:
    names = re.findall(r"\bepl\.\w+(?= = )", text)
    if not names:
        return text
    name = choices.choice(names)
    return ATTRIBUTE.sub(lambda match: "" if match[0].startswith(f"{name} =") else match[0], text)


def _swap_attribute(text: str, other: str, choices: random.Random) -> str:
    return _swap_one(ATTRIBUTE, text, choices)


def _splice_dictionary(text: str, other: str, choices: random.Random) -> str:
    """Attributes of the other program for an argument or an op."""
    donors = DICTIONARY.findall(text if choices.random() < 0.5 else other)
    return _replace_one(DICTIONARY, lambda old: choices.choice(donors or [old]), text, choices)


CHANGES: list[Change] = [
    _delete_op, _duplicate_op, _swap_lines, _splice_line, _bypass_op,
    _change_number, _change_number, _change_number_everywhere, _change_number_everywhere,
    _change_element, _change_element_everywhere, _change_rank, _swap_types,
    _swap_operand, _swap_name, _swap_word,
    _remove_attribute, _remove_attribute_everywhere, _swap_attribute, _splice_dictionary,
]  # fmt: skip
