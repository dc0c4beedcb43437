"""Pictures of plans: well-formed, and with all that the text has."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import optax
import pytest

import epl
from steps import batches, mlp_parameters, training_step

BIN = Path(__file__).parents[2] / "build" / "bin"
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments: str | Path) -> str:
    return subprocess.run([BIN / "epl-plan", *arguments], capture_output=True, text=True, check=True).stdout


def elements(picture: str, name: str) -> list[ElementTree.Element]:
    """The elements of a class."""
    return [e for e in ElementTree.fromstring(picture).iter() if name in e.get("class", "").split()]


@pytest.fixture(params=["training", "hand-written"])
def plan(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "step.eplan"
    if request.param == "hand-written":
        subprocess.run([BIN / "EplWriteTestPlan", "step", path], check=True)
        return path
    optimizer = optax.adam(1e-3)
    step = epl.parallelize(
        training_step(optimizer), state=("params", "opt_state"), batch=("x", "y"), devices=2
    )
    params = mlp_parameters()
    step.lower(params, optimizer.init(params), *batches(1)[0]).compile().save(path)
    return path


def test_a_picture_has_every_command_and_wait_of_the_text(plan: Path) -> None:
    picture, text = run("render", plan), run("dump", plan)
    commands = re.findall(r'^  #(\d+) "([^"]*)"', text, re.M)
    waits = [wait for line in re.findall(r" after ([#\d ofc,]+)", text) for wait in re.findall(r"#\d+", line)]
    boxes = {box.get("id"): box for box in elements(picture, "command")}
    assert set(boxes) == {f"c{index}" for index, _ in commands}
    assert len(elements(picture, "wait")) == len(waits) > 0
    assert len(elements(picture, "lane")) == text.count("\nlane ")
    for index, name in commands:
        title = boxes[f"c{index}"].findtext(f"{SVG}title") or ""
        assert title.startswith(f'#{index} "{name}"')
        assert "read and written" in title
        lines = [text for text in boxes[f"c{index}"].iter(f"{SVG}text") if text.get("class") == "name"]
        drawn = "".join(line.text or "" for line in lines)
        assert name.startswith(drawn.removesuffix("..."))


def test_boxes_do_not_overlap_and_arrows_go_right(plan: Path) -> None:
    picture = run("render", plan)
    places = {}
    for box in elements(picture, "command"):
        rect = box.find(f"{SVG}rect")
        assert rect is not None
        places[box.get("id")] = tuple(float(rect.get(key, "")) for key in ("x", "y", "width"))
    assert len({place[:2] for place in places.values()}) == len(places)
    rows = sorted(places.values(), key=lambda place: (place[1], place[0]))
    for (x, y, width), (next_x, next_y, _) in itertools.pairwise(rows):
        assert y != next_y or x + width < next_x
    for arrow in elements(picture, "wait"):
        numbers = [float(n) for n in re.findall(r"-?\d+", arrow.get("d", ""))]
        assert numbers[0] < numbers[-2]


def test_the_head_says_layout_and_totals(plan: Path) -> None:
    picture = run("render", plan)
    head = [line.text or "" for line in elements(picture, "head") + elements(picture, "sub")]
    assert head[0] == "cpu:2 = data 2"
    assert re.search(r"cpu:0 to cpu:1, runs these lanes: \d+ commands .*, arena ", head[1])


def test_a_picture_goes_to_a_file(plan: Path, tmp_path: Path) -> None:
    assert run("render", plan, "-o", tmp_path / "plan.svg") == ""
    assert (tmp_path / "plan.svg").read_text() == run("render", plan)
    failed = subprocess.run(
        [BIN / "epl-plan", "render", plan, "-o", tmp_path / "no" / "plan.svg"], capture_output=True, text=True
    )
    assert failed.returncode == 1
    assert "error: cannot create" in failed.stderr


def test_any_name_gives_well_formed_xml(tmp_path: Path) -> None:
    step = tmp_path / "step.mlir"
    step.write_text(r"""
        func.func @step(%x: tensor<4xf32> {epl.role = "constant", epl.name = "x"})
            -> (tensor<4xf32> {epl.name = "a<b>&\22\01\C3\A9\FF]]>\EF\BF\BF"}) {
          return %x : tensor<4xf32>
        }
    """)
    subprocess.run([BIN / "epl-compile", step, "-o", tmp_path / "step.eplan"], check=True)
    picture = subprocess.run(
        [BIN / "epl-plan", "render", tmp_path / "step.eplan"], capture_output=True, check=True
    )
    (box,) = elements(picture.stdout.decode(), "command")
    assert (box.findtext(f"{SVG}title") or "").startswith('#0 "copy a<b>&\\"\\x01é?]]>???"')
