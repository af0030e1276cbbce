"""The steps of an ``Update`` as text, in the words of the clauses that they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from qengine.plan import updates
from qengine.plan.expr import Expr
from qengine.plan.expr_text import ExprText, name_text
from qengine.plan.logical import Match, Step, Unit
from qengine.plan.rule_text import rule_statement


def step_text(step: Step, expr: ExprText, match: Callable[[Match], str]) -> str:
    """Return a step as a line of text, without the steps inside it; ``match`` writes a pattern that is looked for."""
    text: str
    match step:
        case updates.Create(elements=elements):
            text = f"Create {_elements(elements, expr)}"
        case updates.Merge(graph=graph):
            text = f"Merge {match(Match(Unit(), graph)).removeprefix('Match ')}"
        case updates.SetProperty(subject=subject, key=key, value=value):
            text = f"Set {expr.postfix(subject)}.{name_text(key)} = {expr(value)}"
        case updates.SetProperties(subject=subject, value=value, replace=replaces):
            text = f"Set {expr.postfix(subject)} {'=' if replaces else '+='} {expr(value)}"
        case updates.RemoveProperty(subject=subject, key=key):
            text = f"Remove {expr.postfix(subject)}.{name_text(key)}"
        case updates.SetLabels(subject=subject, labels=labels, remove=remove, dynamic=dynamic):
            text = f"{'Remove' if remove else 'Set'} {expr.postfix(subject)}{_labels(labels, dynamic, expr)}"
        case updates.Delete(subjects=subjects, detach=detach):
            text = f"{'DetachDelete' if detach else 'Delete'} {expr.joined(subjects)}"
        case updates.ForEach(name=name, items=items):
            text = f"ForEach {name_text(name)} IN {expr(items)}"
        case updates.AddRule(rule=rule, lenient=lenient, given=given):
            named = "" if given is None else f" with the name {expr(given)}"
            text = f"AddRule {rule_statement(rule)}{named}{', if it is not there' if lenient else ''}"
        case updates.DropRule(name=name, rule=rule, lenient=lenient, given=given):
            dropped = rule_statement(rule) if rule else name_text(name) if given is None else expr(given)
            text = f"DropRule {dropped}{', if it is there' if lenient else ''}"
        case updates.CallSubquery():
            text = _call(step, expr)
        case _:
            raise TypeError(f"no step: {step!r}")
    return text


def _elements(elements: Iterable[updates.NewElement], expr: ExprText) -> str:
    shown = []
    for each in elements:
        if isinstance(each, updates.NewNode):
            labels = _labels(each.labels, each.dynamic, expr)
            shown.append(f"({name_text(each.name)}{labels}{_properties(each, expr)})")
        else:
            kind = f"$({expr(each.dynamic)})" if each.dynamic is not None else name_text(each.type)
            inside = f"{name_text(each.name)}:{kind}{_properties(each, expr)}"
            shown.append(f"({name_text(each.start)})-[{inside}]->({name_text(each.end)})")
    return ", ".join(shown)


def _labels(labels: Iterable[str], dynamic: Iterable[Expr], expr: ExprText) -> str:
    return "".join([*(f":{name_text(name)}" for name in labels), *(f":$({expr(each)})" for each in dynamic)])


def _properties(element: updates.NewElement, expr: ExprText) -> str:
    return f" {expr(element.properties)}" if element.properties is not None else ""


def _call(step: updates.CallSubquery, expr: ExprText) -> str:
    text = f"{'OptionalCall' if step.optional else 'Call'}"
    text += f" of {', '.join(map(name_text, step.outer))}" if step.outer else ""
    text += f" emit {', '.join(map(name_text, step.columns))}" if step.columns else ""
    if step.batch is not None:
        text += f" in transactions of {expr(step.batch)} rows, on error {step.on_error}"
    return text + (f", report AS {name_text(step.report)}" if step.report is not None else "")
