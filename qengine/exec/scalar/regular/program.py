"""A backtracking engine for regular expressions that counts its steps, so that limits can stop it.

A parsed expression becomes a list of instructions. The engine goes through them with a stack of what is left to try.
Without references back, what follows depends only on the instruction and the place in the text, so no choice is tried
twice at one place: the time is bounded by their product. With them it may be exponential, and the clock stops it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from re import _constants as c
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.memory import MemoryAccount
from qengine.exec.scalar.regular.characters import test_of

_LARGEST = 20_000  # instructions
_POLLED = 4096  # steps between two looks at the clock
_STATE = 120  # bytes of what is left to try, or of a choice

# Instructions: (operation, argument, argument). SPLIT: go on at the first, later at the second place.
_TEST, _SPLIT, _JUMP, _AT, _ENTER, _LEFT, _SAVE, _REFER, _AROUND, _ATOMIC, _IF, _DONE = range(12)

_Instruction = tuple[int, Any, Any]
_Test = Callable[[str], bool]


class Program:
    """A compiled expression; ``refers``: whether it has references back."""

    def __init__(self, code: list[_Instruction], registers: int, refers: bool) -> None:
        self._code = code
        self._registers = registers
        self._refers = refers

    def matches(self, text: str, memory: MemoryAccount) -> bool:
        """Return whether the whole text matches.

        Raises
        ------
        QueryTimeout, QueryInterrupted, OutOfMemory
            As ``memory`` says.
        """
        mark = memory.charged
        try:
            return self.run(text, 0, [-1] * self._registers, memory, len(text), True) is not None
        finally:
            memory.charged = mark

    def run(
        self, text: str, place: int, saved: list[int], memory: MemoryAccount, end: int | None, outermost: bool = False
    ) -> int | None:
        """Return where a match from ``place`` on ends, if there is one; with ``end`` it must be there.

        ``saved`` gets where groups begin and end. ``outermost``: not inside another program, which asks at many places.
        """
        code, refers, length = self._code, self._refers, len(text)
        few: set[int] = set()  # choices that were made, of which none needs to be made again
        many: bytearray | None = None
        if outermost and not refers:
            memory.charge(len(code) * (length + 1) // 8 + 1)
            many = bytearray(len(code) * (length + 1) // 8 + 1)
        pending: list[tuple[int, int, int]] = [(0, place, -1)]
        steps = 0
        while pending:
            at, place, register = pending.pop()
            if register >= 0:  # take back what was saved
                saved[register] = place
                continue
            while True:
                steps += 1
                if steps >= _POLLED:
                    memory.steps(steps)
                    memory.afford(_STATE * (len(pending) + len(few)))
                    steps = 0
                operation, one, other = code[at]
                if operation == _TEST:
                    if place < length and one(text[place]):
                        at += 1
                        place += 1
                        continue
                    break
                if operation == _SPLIT:
                    choice = at * (length + 1) + place
                    if many is not None:
                        if many[choice >> 3] >> (choice & 7) & 1:
                            break
                        many[choice >> 3] |= 1 << (choice & 7)
                    elif not refers:
                        if choice in few:
                            break
                        few.add(choice)
                    pending.append((other, place, -1))
                    at = one
                elif operation == _JUMP:
                    at = one
                elif operation == _DONE:
                    if end is None or place == end:
                        return place
                    break
                elif operation in (_SAVE, _ENTER):
                    pending.append((0, saved[one], one))
                    saved[one] = place
                    at += 1
                elif operation == _LEFT:  # a loop whose turn took nothing ends
                    at = other if saved[one] == place else at + 1
                elif operation == _AT:
                    if not _stands(one, text, place, bool(other)):
                        break
                    at += 1
                elif operation == _REFER:
                    size = _reference(text, place, saved, one, other)
                    if size is None:
                        break
                    at, place = at + 1, place + size
                elif operation == _IF:
                    at = at + 1 if saved[2 * one + 1] >= 0 else other
                else:
                    found = self._inner(operation, one, other, text, place, saved, memory, pending)
                    if found is None:
                        break
                    at, place = at + 1, found
        return None

    def _inner(
        self,
        operation: int,
        inner: Program,
        how: Any,
        text: str,
        place: int,
        saved: list[int],
        memory: MemoryAccount,
        pending: list[tuple[int, int, int]],
    ) -> int | None:
        """Look around, or match an atomic group; return where to go on."""
        mark = memory.charged
        before = list(saved)
        if operation == _ATOMIC:
            found = inner.run(text, place, saved, memory, None)
        else:
            negated, width = how
            begin, end = (place, None) if width is None else (place - width, place)
            found = inner.run(text, begin, saved, memory, end) if begin >= 0 else None
            found = place if (found is None) == negated else None
            if negated:
                saved[:] = before
        memory.charged = mark
        if found is None:
            saved[:] = before
        else:
            pending += [(0, old, register) for register, old in enumerate(before) if old != saved[register]]
        return found


def _stands(kind: Any, text: str, place: int, ascii_only: bool) -> bool:
    """Return whether an anchor holds at a place."""
    if kind in (c.AT_BEGINNING, c.AT_BEGINNING_STRING):
        return place == 0
    if kind is c.AT_BEGINNING_LINE:
        return place == 0 or text[place - 1] == "\n"
    if kind is c.AT_END:
        return place == len(text) or (place == len(text) - 1 and text[place] == "\n")
    if kind is c.AT_END_LINE:
        return place == len(text) or text[place] == "\n"
    if kind is c.AT_END_STRING:
        return place == len(text)
    if not text:  # neither is anywhere in an empty text
        return False
    boundary = _word(text, place - 1, ascii_only) != _word(text, place, ascii_only)
    return boundary == (kind is c.AT_BOUNDARY)


def _word(text: str, place: int, ascii_only: bool) -> bool:
    if not 0 <= place < len(text):
        return False
    mark = text[place]
    return (mark.isalnum() and (mark.isascii() or not ascii_only)) or mark == "_"


def _reference(text: str, place: int, saved: list[int], group: int, same: Callable[[str, str], bool]) -> int | None:
    """Return how long the text of a group is, if it stands here again."""
    begin, end = saved[2 * group], saved[2 * group + 1]
    if end < 0:
        return None
    part = text[place : place + end - begin]
    return end - begin if len(part) == end - begin and same(part, text[begin:end]) else None


def compile_program(tree: Any) -> Program:
    """Return the program for a parsed expression (``re._parser``).

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` for one that is too large.
    """
    refers = _refers(tree)
    compiler = _Compiler(2 * tree.state.groups, refers)
    return compiler.program(tree, tree.state.flags)


def _refers(tree: Any) -> bool:
    """Return whether a tree has references back."""
    for op, argument in tree:
        if op in (c.GROUPREF, c.GROUPREF_EXISTS):
            return True
        if op is c.BRANCH:
            inner = argument[1]
        elif op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            inner = [argument[2]]
        elif op is c.SUBPATTERN:
            inner = [argument[3]]
        elif op is c.ATOMIC_GROUP:
            inner = [argument]
        elif op in (c.ASSERT, c.ASSERT_NOT):
            inner = [argument[1]]
        else:
            continue
        if any(map(_refers, inner)):
            return True
    return False


class _Compiler:
    """Writes instructions; what is repeated a number of times is written as often."""

    def __init__(self, registers: int, refers: bool) -> None:
        self._registers = registers
        self._refers = refers
        self._size = 0
        self._code: list[_Instruction] = []

    def program(self, tree: Any, flags: int) -> Program:
        outer, self._code = self._code, []
        self._sequence(tree, flags)
        self._put(_DONE)
        program = Program(self._code, 0, self._refers)
        self._code = outer
        program._registers = self._registers
        return program

    def _put(self, operation: int, one: Any = None, other: Any = None) -> int:
        """Add an instruction, and return its place."""
        self._size += 1
        if self._size > _LARGEST:
            raise ExecutionError(
                "The regular expression is too large.",
                code="InvalidArgumentValue",
                hint="Repeat less: {2,1000} of a group is written out that often. Or match parts of it one by one.",
            )
        self._code.append((operation, one, other))
        return len(self._code) - 1

    def _set(self, place: int, one: Any, other: Any = None) -> None:
        self._code[place] = (self._code[place][0], one, other)

    def _sequence(self, tree: Any, flags: int) -> None:
        for op, argument in tree:
            self._part(op, argument, flags)

    def _part(self, op: Any, argument: Any, flags: int) -> None:
        if op in (c.ANY, c.LITERAL, c.NOT_LITERAL, c.IN):
            self._put(_TEST, test_of(op, argument, flags))
        elif op is c.BRANCH:
            self._branches(argument[1], flags)
        elif op is c.SUBPATTERN:
            group, added, removed, inner = argument
            if self._refers and group is not None:
                self._put(_SAVE, 2 * group)
            self._sequence(inner, (flags | added) & ~removed)
            if self._refers and group is not None:
                self._put(_SAVE, 2 * group + 1)
        elif op in (c.MAX_REPEAT, c.MIN_REPEAT):
            self._repeat(argument, flags, op is c.MAX_REPEAT)
        elif op is c.POSSESSIVE_REPEAT:
            self._put(_ATOMIC, self.program([(c.MAX_REPEAT, argument)], flags))
        elif op is c.ATOMIC_GROUP:
            self._put(_ATOMIC, self.program(argument, flags))
        elif op in (c.ASSERT, c.ASSERT_NOT):
            direction, inner = argument
            width = inner.getwidth()[0] if direction < 0 else None
            self._put(_AROUND, self.program(inner, flags), (op is c.ASSERT_NOT, width))
        elif op is c.AT:
            lines = {c.AT_BEGINNING: c.AT_BEGINNING_LINE, c.AT_END: c.AT_END_LINE} if flags & re.MULTILINE else {}
            self._put(_AT, lines.get(argument, argument), flags & re.ASCII)
        elif op is c.GROUPREF:
            self._put(_REFER, argument, _equal if not flags & re.IGNORECASE else _equal_but_for_case(flags))
        elif op is c.GROUPREF_EXISTS:
            self._condition(argument, flags)
        elif op is c.FAILURE:
            self._put(_TEST, lambda mark: False)
        else:
            raise ExecutionError(f"The regular expression has {op}, which is unknown.", code="InvalidArgumentValue")

    def _branches(self, parts: Any, flags: int) -> None:
        ends = []
        for part in parts[:-1]:
            split = self._put(_SPLIT)
            self._sequence(part, flags)
            ends.append(self._put(_JUMP))
            self._set(split, split + 1, len(self._code))
        self._sequence(parts[-1], flags)
        for end in ends:
            self._set(end, len(self._code))

    def _repeat(self, argument: Any, flags: int, greedy: bool) -> None:
        least, most, body = argument
        for _ in range(least):
            self._sequence(body, flags)
        if most is c.MAXREPEAT:
            split = self._put(_SPLIT)
            register = self._registers
            if self._refers:
                self._registers += 1
                self._put(_ENTER, register)
            self._sequence(body, flags)
            left = self._put(_LEFT, register) if self._refers else None
            self._put(_JUMP, split)
            self._choose(split, greedy)
            if left is not None:
                self._set(left, register, len(self._code))
            return
        splits = []
        for _ in range(most - least):
            splits.append(self._put(_SPLIT))
            self._sequence(body, flags)
        for split in splits:
            self._choose(split, greedy)

    def _choose(self, split: int, greedy: bool) -> None:
        """Let a split go into the body behind it, or to what follows now."""
        inside, behind = split + 1, len(self._code)
        self._set(split, *((inside, behind) if greedy else (behind, inside)))

    def _condition(self, argument: Any, flags: int) -> None:
        group, yes, no = argument
        test = self._put(_IF, group)
        self._sequence(yes, flags)
        end = self._put(_JUMP)
        self._set(test, group, len(self._code))
        if no is not None:
            self._sequence(no, flags)
        self._set(end, len(self._code))


def _equal(a: str, b: str) -> bool:
    return a == b


def _equal_but_for_case(flags: int) -> Callable[[str, str], bool]:
    def equal(a: str, b: str) -> bool:
        return all(test_of(c.LITERAL, ord(one), flags)(other) for one, other in zip(a, b, strict=True))

    return equal
