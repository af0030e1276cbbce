"""Keyword options: what a call's signature shows, and what is said of a keyword that there isn't."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest

from qengine import Graph
from qengine.estimate import Request
from qengine.options import EstimateKeywords, EstimateOptions, TableKeywords, TableOptions, with_options


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph.from_records([{"id": 1, "properties": {"n": 1}}], [{"type": "R", "start": 1, "end": 1}])


@pytest.mark.parametrize(("keywords", "options"), [(EstimateKeywords, EstimateOptions), (TableKeywords, TableOptions)])
def test_keywords_are_the_options(keywords: Any, options: type) -> None:
    types = {name: hint.__forward_arg__ for name, hint in keywords.__annotations__.items()}
    assert types == {each.name: each.type for each in fields(options)}
    assert keywords.__total__ is False


@pytest.mark.parametrize(
    ("function", "options"), [(Graph.estimate, EstimateOptions), (Graph.estimate_all, TableOptions)]
)
def test_signatures_show_every_option_and_its_default(function: Any, options: type) -> None:
    _, text, params, *others = inspect.signature(function).parameters.values()
    assert (text.name, params.name, params.default) == ("text", "params", None)
    assert {each.kind for each in others} == {inspect.Parameter.KEYWORD_ONLY}
    assert [(each.name, each.default) for each in others] == [(each.name, each.default) for each in fields(options)]


def test_what_is_asked_of_the_sampler_has_the_same_defaults() -> None:
    given = {each.name: each.default for each in fields(EstimateOptions)}
    assert {each.name: each.default for each in fields(Request)}.items() <= given.items()


@pytest.mark.parametrize("name", ["estimate", "estimate_all"])
def test_unknown_keywords_are_refused_with_the_one_that_was_meant(graph: Graph, name: str) -> None:
    refused = rf"Graph\.{name}\(\) got an unexpected keyword argument"
    with pytest.raises(TypeError, match=rf"{refused} 'sampels'\. Did you mean 'samples'\?"):
        getattr(graph, name)("MATCH (a)", sampels=3)
    passed = r"The value of a parameter \$colour is passed as params={'colour': …}"
    with pytest.raises(TypeError, match=rf"{refused} 'colour'\. {passed}\.$"):
        getattr(graph, name)("MATCH (a)", colour="red")
    with pytest.raises(TypeError, match="positional"):
        getattr(graph, name)("MATCH (a)", None, 3)


def test_what_is_given_by_place_may_be_given_by_name(graph: Graph) -> None:
    assert graph.estimate(text="MATCH (a {n: $n})", params={"n": 1}, method="exact").value == 1


def test_the_function_keeps_its_name_and_documentation() -> None:
    @with_options(TableOptions)
    def asked(first: int, **options: Any) -> Any:
        """Return what it was given."""
        return first, options

    assert (asked.__name__, asked.__doc__) == ("asked", "Return what it was given.")
    assert asked(1, samples=2) == (1, {"samples": 2})
