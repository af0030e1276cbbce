"""GPUs by their numbers: in queries, estimates, EXPLAIN, and on the command line."""

from __future__ import annotations

import argparse
import io

import pytest

from qengine import Graph
from qengine.cli.arguments import add_device
from qengine.cli.commands import COMMANDS
from qengine.errors import DeviceError
from qengine.exec.devices import asked_device, devices_in_words
from tests.emulator.device import pretended

COUNT = "MATCH (a)-->(b) RETURN count(*)"


@pytest.fixture
def graph() -> Graph:
    return Graph.from_edge_list(([0, 1], [1, 2]))


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("auto", ("auto", ())),
        ("cpu", ("cpu", ())),
        ("gpu", ("gpu", ())),
        ("gpu:0", ("gpu", (0,))),
        ("gpu:1,0", ("gpu", (1, 0))),
        ("gpu: 1 , 0, 1", ("gpu", (1, 0))),
    ],
)
def test_names(name: str, meaning: tuple[str, tuple[int, ...]]) -> None:
    assert asked_device(name) == meaning


def test_numbers_are_named_in_words() -> None:
    assert [devices_in_words(each) for each in ((1,), (0, 1), (0, 2, 3))] == [
        "GPU 1",
        "GPUs 0 and 1",
        "GPUs 0, 2 and 3",
    ]


@pytest.mark.parametrize("name", ["gpu:", "gpu:a", "gpu:-1", "gpu:0,", "gpu:0.5", "gpu:²"])
def test_what_is_no_number_is_refused_and_those_there_are_are_named(
    name: str, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended(monkeypatch, 2)
    for ask in (graph.query, graph.estimate, graph.explain):
        with pytest.raises(DeviceError, match=r"There is no device 'gpu:.*numbers must follow") as caught:
            ask(COUNT, device=name)  # type: ignore[operator]
        assert caught.value.hint == 'There are "gpu:0" (RTX 2070 SUPER), "gpu:1" (RTX 2070 SUPER).'


def test_a_gpu_that_is_not_there_is_refused(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    pretended(monkeypatch, 1)
    for ask in (graph.query, graph.explain):
        with pytest.raises(DeviceError, match="There is no GPU 7") as caught:
            ask(COUNT, device="gpu:0,7")  # type: ignore[operator]
        assert caught.value.hint == 'There is "gpu:0" (RTX 2070 SUPER).'
    with pytest.raises(DeviceError, match="There is no GPU 7"):
        graph.estimate(COUNT, device="gpu:7", method="alley")


@pytest.mark.parametrize("name", ["tpu", "gpu0", 3])
def test_other_names_are_refused(name: str, graph: Graph) -> None:
    with pytest.raises(DeviceError, match="There is no device") as caught:
        graph.query(COUNT, device=name)
    assert "'gpu', 'reference', 'gpu:0', 'gpu:0,1'" in (caught.value.hint or "")


def test_explain_names_the_gpus(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    pretended(monkeypatch, 3)
    assert graph.explain(COUNT, device="gpu").device_reason == "as asked, GPUs 0, 1 and 2"
    assert graph.explain(COUNT, device="gpu:2").device_reason == "as asked"
    assert graph.explain(COUNT, device="gpu:2,1").device_reason == "as asked, GPUs 2 and 1"


def test_without_a_gpu_the_reason_is_told(graph: Graph) -> None:
    with pytest.raises(DeviceError) as caught:
        graph.query(COUNT, device="gpu:a")
    assert "No GPU can be used here" in (caught.value.hint or "")


def test_the_command_line_takes_numbers() -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_device(parser, "where queries run")
    assert parser.parse_args(["--device", "gpu:0,1"]).device == "gpu:0,1"
    with pytest.raises((argparse.ArgumentError, SystemExit)):
        parser.parse_args(["--device", "gpu:x"])


def test_the_shell_takes_numbers() -> None:
    from qengine.cli.session import Session

    session, out = Session(Graph.from_edge_list(([0], [1]))), io.StringIO()
    COMMANDS[":device"](session, "gpu:0,1", out)
    assert out.getvalue() == "device is gpu:0,1\n"
    with pytest.raises(DeviceError, match="numbers must follow"):
        COMMANDS[":device"](session, "gpu:", out)
