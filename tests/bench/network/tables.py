"""A generated network of forums, messages, tags and places: Arrow tables by a size's name, and their folder.

Friends, members, replies, likes and tags follow power laws. Friends mostly live near each other; who writes, answers
and likes is mostly a friend or a member of the forum; answers are mostly about what the post is about. The graph is
made up: names are numbers, and nothing of it follows another benchmark's data.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from qengine.testing import generate
from tests.bench.network.links import Links, distinct, skewed

_SEED = 23
_BROWSERS = ("Firefox", "Chrome", "Internet Explorer", "Opera", "Safari")
_LANGUAGES = ("en", "de", "fr", "es", "pt", "zh", "hi", "ar", "ru", "hu")
_FIRST, _LAST = np.datetime64("2010-01-01", "ms"), np.datetime64("2013-01-01", "ms")
_HOUR = 3_600_000
_DAY = 24 * _HOUR
_CLASSES = 70

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class NetworkSize:
    """How many nodes there are, and how many links are drawn, of which the distinct ones are kept."""

    persons: int
    knows: int
    forums: int
    members: int
    posts: int
    comments: int
    likes: int
    tags: int
    cities: int
    countries: int
    organisations: int


SIZES = {
    "tiny": NetworkSize(40, 120, 15, 80, 60, 120, 150, 12, 12, 4, 10),
    "xs": NetworkSize(200, 1_200, 150, 1_500, 2_000, 3_000, 3_000, 200, 60, 20, 60),
    "s": NetworkSize(1_500, 18_000, 13_000, 130_000, 130_000, 150_000, 220_000, 6_000, 1_000, 110, 4_000),
    "m": NetworkSize(10_000, 190_000, 90_000, 1_700_000, 1_000_000, 2_000_000, 2_300_000, 16_000, 1_300, 110, 8_000),
}


def tables(size: str) -> dict[str, pa.Table]:
    """Return the tables of a size, the same ones each time.

    Returns
    -------
    dict of str to pyarrow.Table
        ``nodes_<Label>``: ``id`` is an int64 from 0, posts and comments share one range; dates are timestamps in ms.
        ``rels_<Start>_<type>_<End>``: ``start`` and ``end``, and the date or year that a type has.
    """
    return _Network(SIZES[size]).tables


def prepare(root: Path, size: str) -> Path:
    """Return the folder of a size's Parquet files, written when it is first asked for."""
    folder = root / f"network-{size}"
    if not folder.is_dir():
        partial = folder.with_suffix(".partial")
        generate.write_social(partial, tables(size))
        partial.rename(folder)
    return folder


class _Network:
    """Makes one part after the other; the order of the draws fixes the graph."""

    def __init__(self, size: NetworkSize) -> None:
        self.tables: dict[str, pa.Table] = {}
        self._size = size
        self._random = np.random.default_rng(_SEED)
        self._places()
        self._topics()
        self._persons()
        self._forums()
        self._posts()
        self._comments()
        self._liked()

    # ------------------------------------------------------------ what changes little

    def _places(self) -> None:
        size, random = self._size, self._random
        self._country_of_city = skewed(random, size.countries, size.cities, 1.5)
        self._country_of_city[: size.countries] = np.arange(size.countries)
        continents = np.arange(size.countries) % 6
        self._named("Continent", 6)
        self._named("Country", size.countries)
        self._named("City", size.cities)
        self._rel("Country", "isPartOf", "Continent", np.arange(size.countries), continents)
        self._rel("City", "isPartOf", "Country", np.arange(size.cities), self._country_of_city)
        universities, companies = size.organisations * 3 // 4, size.organisations - size.organisations * 3 // 4
        self._universities, self._companies = universities, companies
        self._named("University", universities)
        self._named("Company", companies)
        of_city = random.integers(0, size.cities, universities)
        of_country = random.integers(0, size.countries, companies)
        self._rel("University", "isLocatedIn", "City", np.arange(universities), of_city)
        self._rel("Company", "isLocatedIn", "Country", np.arange(companies), of_country)

    def _topics(self) -> None:
        """Tag classes are a tree with four children a class."""
        tags = self._size.tags
        self._named("Tag", tags)
        self._named("TagClass", _CLASSES)
        classes = np.arange(1, _CLASSES)
        self._rel("TagClass", "isSubclassOf", "TagClass", classes, (classes - 1) // 4)
        self._rel("Tag", "hasType", "TagClass", np.arange(tags), skewed(self._random, _CLASSES, tags, 1.3))

    # ------------------------------------------------------------ persons

    def _persons(self) -> None:
        """Ids are by city, so that friends with near ids are friends who live near each other."""
        size, random = self._size, self._random
        count = size.persons
        ids = np.arange(count)
        home = np.sort(skewed(random, size.cities, count, 1.6))
        self._home_country = self._country_of_city[home]
        self._joined = _first_date() + (random.random(count) ** 1.5 * 700 * _DAY).astype(np.int64)
        names = (skewed(random, 60, count, 1.5) * 7 + self._home_country) % 400
        columns = {
            "id": ids,
            "firstName": _numbered("First", names),
            "lastName": _numbered("Last", skewed(random, 1_000, count, 1.4)),
            "gender": pa.array(np.where(random.random(count) < 0.5, "female", "male")),
            "birthday": pa.array(random.integers(3_650, 8_000, count).astype(np.int32), pa.int32()).cast(pa.date32()),
            "creationDate": _dates(self._joined),
            "locationIP": _addresses(random, count),
            "browserUsed": _chosen(random, _BROWSERS, count),
            "email": _lists(random, [f"mail{k}.example.org" for k in range(20)], count, 3),
            "speaks": _lists(random, _LANGUAGES, count, 3),
        }
        self.tables["nodes_Person"] = pa.table(columns)
        self._rel("Person", "isLocatedIn", "City", ids, home)
        self._befriend()
        fans, tags = distinct(np.repeat(ids, 14), self._some_tag(14 * count))
        self._rel("Person", "hasInterest", "Tag", fans, tags)
        self._interests = Links(fans, tags, count)
        studied = np.flatnonzero(random.random(count) < 0.8)
        years = pa.array(random.integers(1995, 2012, len(studied)))
        university = (
            studied * self._universities // count + skewed(random, 20, len(studied), 2.0)
        ) % self._universities
        self._rel("Person", "studyAt", "University", studied, university, classYear=years)
        jobs = distinct(np.repeat(ids, 2), skewed(random, self._companies, 2 * count, 1.5))
        self._rel("Person", "workAt", "Company", *jobs, workFrom=pa.array(random.integers(1998, 2013, len(jobs[0]))))

    def _befriend(self) -> None:
        size, random = self._size, self._random
        drawn = 13 * size.knows // 10
        by_rank = random.permutation(size.persons)
        one = by_rank[skewed(random, size.persons, drawn, 1.7)]
        near = one + np.rint(random.laplace(0, 12, drawn)).astype(np.int64)
        other = np.where(random.random(drawn) < 0.6, near, by_rank[skewed(random, size.persons, drawn, 1.7)])
        other %= size.persons
        proper = one != other
        low, high = distinct(np.minimum(one, other)[proper], np.maximum(one, other)[proper])
        kept = np.sort(random.permutation(len(low))[: size.knows])
        low, high = low[kept], high[kept]
        since = np.maximum(self._joined[low], self._joined[high]) + self._waits(len(low), 90)
        self._rel("Person", "knows", "Person", low, high, creationDate=_dates(since))
        self._friends = Links(np.concatenate([low, high]), np.concatenate([high, low]), size.persons)

    # ------------------------------------------------------------ forums and what is in them

    def _forums(self) -> None:
        """A forum's moderator is a member, half of the others are the moderator's friends."""
        size, random = self._size, self._random
        forums = np.arange(size.forums)
        moderator = skewed(random, size.persons, size.forums, 1.2)
        self._opened = self._joined[moderator] + self._waits(size.forums, 120)
        forum = skewed(random, size.forums, size.members, 1.8)
        member = self._friend_or(moderator[forum], skewed(random, size.persons, size.members, 1.3), 0.5)
        forum, member = distinct(np.concatenate([forum, forums]), np.concatenate([member, moderator]))
        self._members = Links(forum, member, size.forums)
        joined = np.maximum(self._opened[forum], self._joined[member]) + self._waits(len(forum), 60)
        columns = {"id": forums, "title": _numbered("Forum ", forums), "creationDate": _dates(self._opened)}
        self.tables["nodes_Forum"] = pa.table(columns)
        self._rel("Forum", "hasModerator", "Person", forums, moderator)
        self._rel("Forum", "hasMember", "Person", forum, member, joinDate=_dates(joined))
        self._rel("Forum", "hasTag", "Tag", *distinct(np.repeat(forums, 3), self._some_tag(3 * size.forums)))

    def _posts(self) -> None:
        size, random = self._size, self._random
        forum = skewed(random, size.forums, size.posts, 1.7)
        creator = self._members.pick(random, forum)
        date = np.maximum(self._opened[forum], self._joined[creator]) + self._waits(size.posts, 150)
        order = np.argsort(date, kind="stable")
        self._forum, self._poster, self._posted = forum[order], creator[order], date[order]
        posts = np.arange(size.posts)
        is_image = random.random(size.posts) < 0.3
        text, length = self._contents(posts, "Post ")
        columns = self._message(posts, self._posted) | {
            "language": _chosen(random, _LANGUAGES, size.posts, absent=is_image),
            "content": pc.if_else(pa.array(is_image), None, text),
            "imageFile": pc.if_else(pa.array(is_image), _numbered("photo", posts), None),
            "length": pa.array(np.where(is_image, 0, length)),
        }
        self.tables["nodes_Post"] = pa.table(columns)
        self._rel("Forum", "containerOf", "Post", self._forum, posts)
        self._rel("Post", "hasCreator", "Person", posts, self._poster)
        self._rel("Post", "isLocatedIn", "Country", posts, self._written_in(self._poster))
        tagged = np.repeat(posts, random.geometric(0.6, size.posts) - 1)
        liked = self._interests.pick(random, self._poster[tagged])
        tagged, tags = distinct(tagged, np.where(random.random(len(tagged)) < 0.6, liked, self._some_tag(len(tagged))))
        self._rel("Post", "hasTag", "Tag", tagged, tags)
        self._tags_of_post = Links(tagged, tags, size.posts)

    def _comments(self) -> None:
        """Each thread's comments in turn answer the post or one of the comments before."""
        size, random = self._size, self._random
        count = size.comments
        thread = np.sort(random.permutation(size.posts)[skewed(random, size.posts, count, 2.2)])
        begin = np.searchsorted(thread, thread)
        turn = np.arange(count) - begin
        waits = self._waits(count, 1)
        waited = np.cumsum(waits)
        date = self._posted[thread] + waited - waited[begin] + waits[begin]
        parent = np.where(random.random(count) < 0.45, -1, begin + (random.random(count) * turn).astype(np.int64))
        parent[turn == 0] = -1
        creator = self._friend_or(self._poster[thread], self._members.pick(random, self._forum[thread]), 0.5)
        order = np.argsort(date, kind="stable")
        place = np.empty(count, np.int64)
        place[order] = np.arange(count)
        parent = np.where(parent < 0, -1, size.posts + place[np.maximum(parent, 0)])[order]
        thread, creator, date = thread[order], creator[order], date[order]
        comments = size.posts + np.arange(count)
        text, length = self._contents(comments, "Comment ")
        self.tables["nodes_Comment"] = pa.table(
            self._message(comments, date) | {"content": text, "length": pa.array(length)}
        )
        self._commenter = creator
        self._commented = date
        answers = parent >= 0
        self._rel("Comment", "replyOf", "Post", comments[~answers], thread[~answers])
        self._rel("Comment", "replyOf", "Comment", comments[answers], parent[answers])
        self._rel("Comment", "hasCreator", "Person", comments, creator)
        self._rel("Comment", "isLocatedIn", "Country", comments, self._written_in(creator))
        tagged = np.repeat(np.arange(count), np.minimum(random.geometric(0.45, count) - 1, 8))
        same = self._tags_of_post.pick(random, thread[tagged])
        other = self._some_tag(len(tagged))
        tagged, tags = distinct(tagged, np.where((random.random(len(tagged)) < 0.5) & (same >= 0), same, other))
        self._rel("Comment", "hasTag", "Tag", size.posts + tagged, tags)

    def _liked(self) -> None:
        size, random = self._size, self._random
        authors = np.concatenate([self._poster, self._commenter])
        written = np.concatenate([self._posted, self._commented])
        message = random.permutation(len(authors))[skewed(random, len(authors), size.likes, 1.8)]
        fan = self._friend_or(authors[message], skewed(random, size.persons, size.likes, 1.3), 0.7)
        fan, message = distinct(fan, message)
        date = np.maximum(written[message], self._joined[fan]) + self._waits(len(fan), 3)
        of_post = message < size.posts
        for label, chosen in (("Post", of_post), ("Comment", ~of_post)):
            dates = _dates(date[chosen])
            self._rel("Person", "likes", label, fan[chosen], message[chosen], creationDate=dates)

    # ------------------------------------------------------------ parts of these

    def _named(self, label: str, count: int) -> None:
        ids = np.arange(count)
        self.tables[f"nodes_{label}"] = pa.table({"id": ids, "name": _numbered(label, ids)})

    def _rel(self, start: str, kind: str, end: str, starts: Ints, ends: Ints, **properties: pa.Array) -> None:
        self.tables[f"rels_{start}_{kind}_{end}"] = pa.table({"start": starts, "end": ends, **properties})

    def _some_tag(self, count: int) -> Ints:
        return skewed(self._random, self._size.tags, count, 2.0)

    def _friend_or(self, persons: Ints, others: Ints, share: float) -> Ints:
        """Return a friend of each person for a share of them, where there is one, else the other."""
        friends = self._friends.pick(self._random, persons)
        return np.where((self._random.random(len(persons)) < share) & (friends >= 0), friends, others)

    def _written_in(self, creators: Ints) -> Ints:
        away = skewed(self._random, self._size.countries, len(creators), 1.5)
        return np.where(self._random.random(len(creators)) < 0.9, self._home_country[creators], away)

    def _waits(self, count: int, days: float) -> Ints:
        return (self._random.exponential(days * _DAY, count)).astype(np.int64) + 1

    def _contents(self, ids: Ints, prefix: str) -> tuple[pa.Array, Ints]:
        """Return texts, and the lengths that they are said to have: most are short."""
        length = 1 + self._random.exponential(70, len(ids)).astype(np.int64)
        return _numbered(prefix, ids), length

    def _message(self, ids: Ints, dates: Ints) -> dict[str, pa.Array]:
        return {
            "id": pa.array(ids),
            "creationDate": _dates(dates),
            "locationIP": _addresses(self._random, len(ids)),
            "browserUsed": _chosen(self._random, _BROWSERS, len(ids)),
        }


def _first_date() -> np.int64:
    return _FIRST.astype(np.int64)


def _dates(milliseconds: Ints) -> pa.Array:
    """Return timestamps; later ones than the last day fall into its month."""
    last = _LAST.astype(np.int64)
    late = last - 1 - (milliseconds - last) % (30 * _DAY)
    return pa.array(np.where(milliseconds < last, milliseconds, late)).cast(pa.timestamp("ms"))


def _numbered(prefix: str, numbers: Ints) -> pa.Array:
    return pc.binary_join_element_wise(prefix, pa.array(numbers).cast(pa.string()), "")


def _chosen(
    random: np.random.Generator, texts: tuple[str, ...], count: int, absent: NDArray[np.bool_] | None = None
) -> pa.Array:
    return pa.array(texts).take(pa.array(skewed(random, len(texts), count, 1.5), mask=absent))


def _addresses(random: np.random.Generator, count: int) -> pa.Array:
    parts = [pa.array(random.integers(1, 255, count)).cast(pa.string()) for _ in range(2)]
    return pc.binary_join_element_wise("10.0", *parts, ".")


def _lists(random: np.random.Generator, texts: list[str] | tuple[str, ...], count: int, most: int) -> pa.Array:
    """Return lists of one to ``most`` different texts."""
    lengths = random.integers(1, most + 1, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    first = np.repeat(random.integers(0, len(texts), count), lengths)
    turn = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(texts).take(pa.array((first + turn) % len(texts))))
