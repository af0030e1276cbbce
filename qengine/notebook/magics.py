"""``%cypher`` and ``%%cypher``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from IPython.core.completer import SimpleCompletion, context_matcher
from IPython.core.error import UsageError

from qengine._nearest import nearest
from qengine._notices import shown_otherwise
from qengine.errors import QengineError, SemanticError
from qengine.graph import Graph
from qengine.notebook.display import show
from qengine.notebook.waiting import fetched_ahead
from qengine.result import Result
from qengine.transaction import Transaction

_NAME = "cypher"
_MATCHER = "qengine.cypher"
_OPTIONS = {"--out": "out", "-o": "out", "--graph": "graph", "-g": "graph", "--timeout": "timeout",
            "--memory-limit": "memory_limit", "--device": "device"}  # fmt: skip
_SWITCHES = {"--interactive": "walkable", "-i": "walkable", "--static": "still"}
_WORD = re.compile(r"\s*(\S+)")
_ASSIGNED = re.compile(r"\s*([A-Za-z_]\w*)\s*<<\s*")
_LINE = re.compile(r"(?:^|[=(,]\s*)%cypher\s")


class Cypher:
    """The magics of one shell, and the graph that was asked last."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._last: str | None = None
        self._walkable = False  # pictures, where a cell doesn't say

    def magic(self, line: str, cell: str | None = None) -> Result | None:
        """Run a statement; return its result, None where ``--out`` names it and where there is nothing to run."""
        rest = ""
        try:
            options, rest = self._read(line)
            text = rest if cell is None else f"{rest}\n{cell}" if rest.strip() else cell
            if not text.strip():
                if options.keys() & {"graph", "walkable", "still"}:
                    self._last = options.get("graph", self._last)
                    self._walkable = self._is_walkable(options)
                    return None
                raise UsageError("Write a query: %cypher MATCH (n) RETURN count(*), or below %%cypher.")
            return self._run(text, options)
        except QengineError as error:
            if error.code == "ParameterMissing":
                error.hint = "Make a variable of this name."
            elif (word := rest.strip()).isidentifier() and error.span is not None and error.span.start < len(rest):
                hint = f"{word} is no variable that holds a graph. For a result's name write --out {word}."
                error.hint = error.hint or hint
            raise _short(error) from None

    def _run(self, text: str, options: dict[str, str]) -> Result | None:
        name, graph = self.graph(options.get("graph"))
        out = options.get("out")
        with shown_otherwise() if out is None else nullcontext():
            result = graph.query(
                text,
                self._parameters(text),
                device=options.get("device", "auto"),
                timeout=_seconds(options.get("timeout")),
                memory_limit=options.get("memory_limit"),
            )
        self._last = name
        if out is not None:
            self._shell.user_ns[out] = result
            return None
        fetched_ahead(result)
        if self._is_walkable(options):
            show(result, walkable=True)
            return None
        return result

    def _is_walkable(self, options: dict[str, str]) -> bool:
        return "walkable" in options or (self._walkable and "still" not in options)

    def graph(self, name: str | None = None) -> tuple[str, Graph | Transaction]:
        """Return the graph that a name stands for; without one that which was asked last, or the only one.

        Raises
        ------
        SemanticError
            Where there is none, or several.
        """
        names = self._shell.user_ns
        if name is None:
            last = self._last
            name = last if last and isinstance(names.get(last), Graph | Transaction) else self._only()
        found = names.get(name)
        if not isinstance(found, Graph | Transaction):
            raise SemanticError(f"{name} is no graph.", hint="Name a variable that holds one: %%cypher --graph NAME.")
        return name, found

    def _only(self) -> str:
        names = self._shell.user_ns
        held: dict[str, Graph] = {key: each for key, each in names.items() if isinstance(each, Graph) and key[0] != "_"}
        if not held:
            raise SemanticError(
                "There is no graph yet.", hint="Make one, as graph = qengine.open(path) or graph = qengine.example()."
            )
        if len(set(map(id, held.values()))) > 1:
            names = ", ".join(sorted(held))
            raise SemanticError(f"There are several graphs: {names}.", hint="Begin with its name: %%cypher NAME.")
        return next(iter(held))

    def _read(self, line: str) -> tuple[dict[str, str], str]:
        """Read what stands before a query: a graph's name, ``NAME <<``, options."""
        options: dict[str, str] = {}
        if (assigned := _ASSIGNED.match(line)) is not None:
            options["out"], line = assigned[1], line[assigned.end() :]
        while (word := _WORD.match(line)) is not None:
            name, equals, value = word[1].partition("=")
            rest = line[word.end() :]
            if name in _SWITCHES:
                options[_SWITCHES[name]], line = "", rest
            elif name in _OPTIONS:
                if not equals:
                    following = _WORD.match(rest)
                    if following is None:
                        raise UsageError(f"{name} needs a value.")
                    value, rest = following[1], rest[following.end() :]
                options[_OPTIONS[name]], line = value, rest
            elif word[1].startswith("--") and word[1][2:3].isalpha():
                known = _OPTIONS | _SWITCHES
                near = nearest(name, known)
                hint = f"Did you mean {near}?" if near else f"There are {', '.join(known)}."
                raise UsageError(f"There is no option {name}. {hint}")
            elif "graph" not in options and isinstance(self._shell.user_ns.get(word[1]), Graph | Transaction):
                options["graph"], line = word[1], rest
            else:
                break
        if not options.get("out", "result").isidentifier():
            raise UsageError(f"--out takes the name of a variable, not {options['out']}.")
        return options, line

    def _parameters(self, text: str) -> dict[str, Any]:
        """Return the notebook's values of the parameters in a text; what isn't there is told by the query itself."""
        from qengine.syntax import tokens

        names = self._shell.user_ns
        written = (text[each.span.start + 1 : each.span.end] for each in tokens(text) if each.kind == "parameter")
        return {name: names[name] for each in written if (name := each.strip("`")) in names}

    def complete(self, context: Any) -> Mapping[str, Any]:
        """Return what may stand at the cursor of a cell with a query: IPython's interface of matchers."""
        lines = context.full_text.split("\n")[: context.cursor_line + 1]
        text = "\n".join([*lines[:-1], lines[-1][: context.cursor_position]])
        query = self._query_before(text)
        if query is None:
            return {"completions": [], "suppress": False}
        from prompt_toolkit.completion import CompleteEvent
        from prompt_toolkit.document import Document

        from qengine.cli.completion import ShellCompleter
        from qengine.cli.session import Session

        try:
            _, graph = self.graph()
        except QengineError:
            graph = Graph()
        session = Session(graph if isinstance(graph, Graph) else Graph(), parameters=dict(self._own_names()))
        found = list(ShellCompleter(session).get_completions(Document(query), CompleteEvent()))
        typed = -found[0].start_position if found else 0
        completions = [SimpleCompletion(each.text, type="cypher") for each in found]
        fragment = query[len(query) - typed :]
        return {"completions": completions, "matched_fragment": fragment, "suppress": True, "ordered": False}

    def _own_names(self) -> Mapping[str, Any]:
        hidden = getattr(self._shell, "user_ns_hidden", {})
        return {key: value for key, value in self._shell.user_ns.items() if key[0] != "_" and key not in hidden}

    def _query_before(self, text: str) -> str | None:
        """Return the query that is being typed, None outside of one."""
        if text.startswith("%%cypher"):
            below = text.partition("\n")
            return below[2] if below[1] else None
        line = text.rpartition("\n")[2]
        found = _LINE.search(line)
        if found is None:
            return None
        try:
            return self._read(line[found.end() :])[1]
        except UsageError:
            return None


def _seconds(text: str | None) -> Any:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text  # which the query refuses


def _short(error: QengineError) -> QengineError:
    """Return an error that IPython shows without a traceback: the cell is right above it."""
    lines = [f"{type(error).__name__}: {error}"]
    error.__dict__["_render_traceback_"] = lambda: lines
    return error.with_traceback(None)


def load(shell: Any) -> None:
    """Add the magics to a shell."""
    cypher = Cypher(shell)
    shell.register_magic_function(cypher.magic, "line_cell", _NAME)
    _forget_matcher(shell)

    def complete(context: Any) -> Mapping[str, Any]:  # a function, as a matcher gets attributes, which methods don't
        return cypher.complete(context)

    shell.Completer.custom_matchers.append(context_matcher(identifier=_MATCHER)(complete))


def unload(shell: Any) -> None:
    """Take the magics away."""
    _forget_matcher(shell)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(_NAME, None)


def _forget_matcher(shell: Any) -> None:
    matchers = shell.Completer.custom_matchers
    matchers[:] = [each for each in matchers if getattr(each, "matcher_identifier", "") != _MATCHER]
