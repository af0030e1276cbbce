"""The example graph: its files are what its script writes, and its facts agree with what is known of the whole."""

from __future__ import annotations

import csv
import importlib.util
import math
import re
import shutil
import sys
import tomllib
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WORLD = EXAMPLES / "world"


def rows(name: str) -> list[dict[str, str]]:
    with (WORLD / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_world_make", WORLD / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


make = load_script()
NODE_FILES = sorted(WORLD.glob("nodes_*.csv"))
RELATIONSHIP_FILES = sorted(WORLD.glob("rels_*.csv"))
COUNTRIES = {row["id"]: row for row in rows("nodes_Country")}
CITIES = {row["id"]: row for row in rows("nodes_City")}

BORDERS: dict[str, dict[str, float]] = {code: {} for code in COUNTRIES}
for row in rows("rels_Country_borders_Country"):
    BORDERS[row["start"]][row["end"]] = BORDERS[row["end"]][row["start"]] = float(row["length_km"])


def kind(path: Path) -> tuple[str, str, str]:
    """Return the source label, the type and the target label that a relationship file's name says."""
    source, _, rest = path.stem.removeprefix("rels_").partition("_")
    name, _, target = rest.rpartition("_")
    return source, name, target


def test_the_files_are_what_the_script_writes(tmp_path: Path) -> None:
    make.write_tables(make.make_tables(), tmp_path, report=lambda _: None)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in WORLD.glob("*.csv")}
    assert made.keys() == kept.keys()
    assert [name for name in made if made[name] != kept[name]] == []


def test_borders_are_declared_undirected() -> None:
    declared = tomllib.loads((WORLD / "graph.toml").read_text(encoding="utf-8"))
    assert declared == {"relationships": {"borders": {"undirected": True}}}


@pytest.mark.parametrize("path", NODE_FILES, ids=lambda path: path.stem)
def test_ids_are_unique_and_names_present(path: Path) -> None:
    table = rows(path.stem)
    assert max(Counter(row["id"] for row in table).values()) == 1
    assert all(row["id"] and row["name"] for row in table)


@pytest.mark.parametrize("path", RELATIONSHIP_FILES, ids=lambda path: path.stem)
def test_relationships_join_known_nodes_once(path: Path) -> None:
    source, _, target = kind(path)
    starts = {row["id"] for row in rows(f"nodes_{source}")}
    ends = {row["id"] for row in rows(f"nodes_{target}")}
    pairs = [(row["start"], row["end"]) for row in rows(path.stem)]
    assert {start for start, _ in pairs} <= starts
    assert {end for _, end in pairs} <= ends
    assert len(set(pairs)) == len(pairs)


def test_each_border_stands_once() -> None:
    pairs = [frozenset((row["start"], row["end"])) for row in rows("rels_Country_borders_Country")]
    assert len(set(pairs)) == len(pairs) == 322
    assert all(len(pair) == 2 for pair in pairs)


@pytest.mark.parametrize(
    ("code", "neighbours"),
    [
        ("CN", "AF BT IN KG KP KZ LA MM MN NP PK RU TJ VN"),
        ("RU", "AZ BY CN EE FI GE KP KZ LT LV MN NO PL UA"),
        ("FR", "AD BE BR CH DE ES IT LU MC NL SR"),
        ("BR", "AR BO CO FR GY PE PY SR UY VE"),
        ("CD", "AO BI CF CG RW SS TZ UG ZM"),
        ("DE", "AT BE CH CZ DK FR LU NL PL"),
        ("AT", "CH CZ DE HU IT LI SI SK"),
        ("TR", "AM AZ BG GE GR IQ IR SY"),
        ("ZA", "BW LS MZ NA SZ ZW"),
        ("ES", "AD FR MA PT"),
        ("DK", "CA DE"),
        ("AU", ""),
        ("JP", ""),
    ],
)
def test_neighbours(code: str, neighbours: str) -> None:
    assert sorted(BORDERS[code]) == neighbours.split()


def test_countries_with_one_neighbour() -> None:
    single = {code: next(iter(near)) for code, near in BORDERS.items() if len(near) == 1}
    enclaves = {"LS": "ZA", "SM": "IT", "VA": "IT"}
    others = {"BN": "MY", "DO": "HT", "GM": "SN", "HT": "DO", "IE": "GB", "GB": "IE", "KR": "KP", "MC": "FR"}
    others |= {"PG": "ID", "PT": "ES", "QA": "SA", "TL": "ID"}
    assert single == enclaves | others


@pytest.mark.parametrize(
    ("code", "length_km"),
    [
        ("BR", 16145),
        ("BW", 4347.15),
        ("HU", 2106),
        ("IR", 5894),
        ("LA", 5274),
        ("ML", 7908),
        ("NE", 5834),
        ("ZM", 6043.15),
    ],
)
def test_total_lengths_of_borders(code: str, length_km: float) -> None:
    assert math.isclose(sum(BORDERS[code].values()), length_km)


def test_borders_are_long_enough_to_go_round() -> None:
    """A line that encloses an area is no shorter than that area's circle; none is absurdly long for its country."""
    for code, near in BORDERS.items():
        around, area = sum(near.values()), float(COUNTRIES[code]["area_km2"])
        assert around < 12 * math.sqrt(area), code
        if COUNTRIES[code]["landlocked"] == "true":
            assert around > 2 * math.sqrt(math.pi * area), code


def test_landlocked_countries() -> None:
    landlocked = {code for code, row in COUNTRIES.items() if row["landlocked"] == "true"}
    assert len(landlocked) == 45
    assert all(BORDERS[code] for code in landlocked)
    assert {code for code, near in BORDERS.items() if near and near.keys() <= landlocked} == {"LI", "UZ"}


def test_five_countries_never_border_each_other_pairwise() -> None:
    """Five regions of a map cannot; parts of countries far from the rest could break this, but do not."""
    cliques: list[tuple[str, ...]] = [(code,) for code in sorted(COUNTRIES)]
    for _ in range(3):
        cliques = [
            (*clique, code)
            for clique in cliques
            for code in sorted(BORDERS[clique[0]])
            if code > clique[-1] and all(code in BORDERS[one] for one in clique)
        ]
    assert len(cliques) == 12
    assert not any(all(code in BORDERS[one] for one in clique) for clique in cliques for code in COUNTRIES)


def test_membership_and_population_of_the_world() -> None:
    assert {code for code, row in COUNTRIES.items() if row["un_member"] == "false"} == {"EH", "PS", "TW", "VA", "XK"}
    assert len(COUNTRIES) == 193 + 5
    assert math.isclose(sum(int(row["population"]) for row in COUNTRIES.values()), 8.09e9, rel_tol=0.005)


def test_capitals_lie_in_their_country() -> None:
    located = {row["start"]: row["end"] for row in rows("rels_City_located_in_Country")}
    capitals = {row["start"]: row["end"] for row in rows("rels_Country_capital_City")}
    assert located.keys() == CITIES.keys()
    assert capitals.keys() == COUNTRIES.keys()
    for country, city in capitals.items():
        assert located[city] == country
        assert CITIES[city]["name"] == COUNTRIES[country]["capital"]
    assert {city for city, row in CITIES.items() if row["is_capital"] == "true"} == set(capitals.values())


def test_no_country_has_more_people_in_cities_than_in_all() -> None:
    people = Counter[str]()
    for row in rows("rels_City_located_in_Country"):
        people[row["end"]] += int(CITIES[row["start"]]["population"])
    assert [code for code in COUNTRIES if people[code] > int(COUNTRIES[code]["population"])] == []


def test_a_river_flows_from_neighbour_to_neighbour() -> None:
    basins: dict[str, set[str]] = {row["id"]: set() for row in rows("nodes_River")}
    for row in rows("rels_River_flows_through_Country"):
        basins[row["start"]].add(row["end"])
    assert len(basins["danube"]) == 10
    for river, countries in basins.items():
        reached = {min(countries)}
        for _ in countries:
            reached |= {code for one in reached for code in BORDERS[one] if code in countries}
        assert reached == countries, river


def test_languages() -> None:
    speaks = rows("rels_Country_speaks_Language")
    assert {row["end"] for row in speaks} == {row["id"] for row in rows("nodes_Language")}
    official = {(row["start"], row["end"]) for row in speaks if row["official"] == "true"}
    assert {country for country, _ in official} == COUNTRIES.keys()
    assert {language for country, language in official if country == "CH"} == {"french", "german", "italian", "romansh"}
    assert all(re.fullmatch("[a-z]{3}", row["iso639"]) for row in rows("nodes_Language"))


@pytest.mark.parametrize(
    ("table", "fact", "mistake", "message"),
    [
        ("borders", "PT: ES", "PT: ES, FR", "PT borders FR, but FR does not border PT"),
        ("borders", "KR: KP", "KR: KP 237", "the length of KP-KR belongs in the line of KP"),
        ("borders", "GM: SN 749", "GM: SN 749, SN 749", "the border GM-SN stands twice"),
        ("borders", "GM: SN 749", "GM: SX 749", "no country has the code 'SX'"),
        ("rivers", "|UG SS SD EG", "|UG SS SD EY", "no country has the code 'EY'"),
        ("rivers", "Blue Nile|", "Nile|", "('nile',) stands twice"),
        ("languages", "|CH LI", "|CH CH LI", "('CH', 'swiss-german') stands twice"),
        ("cities_europe", "Graz|303|", "Graz|", "3 fields, 4 expected"),
        ("cities_europe", "Graz|303|", "Graz|3o3|", "'3o3' is no number"),
        ("cities_europe", "[AL]\n", "", "no country has the code ''"),
        ("cities_europe", "Graz|303|47.07", "Graz|303|97.07", "no place on Earth"),
        ("cities_europe", "Graz|", "Graz*|", "the capital of AT is Vienna, not Graz"),
        ("cities_europe", "Vienna*|", "Vienna|", "no city is marked as the capital of AT"),
        ("countries", "EUR|-|L\nAO", "EUR|-|X\nAO", "unknown flags 'X'"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, table: str, fact: str, mistake: str, message: str) -> None:
    facts = Path(shutil.copytree(WORLD / "facts", tmp_path / "facts"))
    path = facts / f"{table}.txt"
    text = path.read_text(encoding="utf-8")
    assert fact in text
    path.write_text(text.replace(fact, mistake, 1), encoding="utf-8")
    with pytest.raises(make.FactError, match=re.escape(message)):
        make.make_tables(facts)


QUERIES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((EXAMPLES / "queries").glob("*.cypher"))}
README_QUERIES = re.findall(r"```cypher\n(.*?)```", (WORLD / "README.md").read_text(encoding="utf-8"), re.DOTALL)
QUERIES |= {f"readme_{number}": text for number, text in enumerate(README_QUERIES, start=1)}


def test_the_readme_counts_right() -> None:
    words = " ".join((WORLD / "README.md").read_text(encoding="utf-8").split())
    counts = {path.stem.removeprefix("nodes_"): f"{len(rows(path.stem)):,}" for path in NODE_FILES}
    assert f"{counts['Country']} countries with their land borders, {counts['City']} cities" in words
    assert f"{counts['Language']} languages, {counts['River']} rivers and six continents" in words
    nodes, relationships = (sum(len(rows(path.stem)) for path in files) for files in (NODE_FILES, RELATIONSHIP_FILES))
    assert f"{nodes:,} nodes and {relationships:,} relationships" in words


def test_there_are_queries_to_show() -> None:
    assert len(QUERIES) == 10 + 6


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_opens_with_its_question_and_names_what_exists(name: str) -> None:
    question, _, text = QUERIES[name].partition("\n")
    assert question.startswith("// ") and "?" in question
    assert not re.search(r"\b(CREATE|MERGE|SET|DELETE|REMOVE|LOAD|CALL)\b", text)
    types = {kind(path)[1] for path in RELATIONSHIP_FILES}
    labels = {path.stem.removeprefix("nodes_") for path in NODE_FILES}
    assert set(re.findall(r"\[\w*:(\w+)", text)) <= types
    assert set(re.findall(r"\(\w*:(\w+)", text)) <= labels
    columns = {column for path in WORLD.glob("*.csv") for column in rows(path.stem)[0]}
    assert set(re.findall(r"\b\w+\.(\w+)", text)) <= columns
