"""Make the example graph: read the fact tables in ``facts/``, check them, write the CSV files beside this script.

Run ``python examples/world/make.py`` after changing a fact. The same facts give the same bytes. A fact that
contradicts another (an unknown code, a border that only one side knows, a capital in no list of cities) stops the
script with its place.
"""

from __future__ import annotations

import csv
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
CITY_TABLES = ("africa", "americas", "asia", "europe", "oceania")

Cell = str | int | float | bool | None
Row = tuple[Cell, ...]

# Letters that Unicode does not decompose into a plain letter and an accent.
_PLAIN_LETTERS = str.maketrans({"ı": "i", "ł": "l", "Ł": "l", "ø": "o", "Ø": "o", "ß": "ss", "æ": "ae", "đ": "d"})


class FactError(ValueError):
    """A fact table that cannot be read, or that contradicts itself or another table."""


@dataclass(frozen=True, slots=True)
class Table:
    """One CSV file of the graph: the name of the file, its columns, its rows."""

    file: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a fact table, with its place for messages."""

    place: str
    text: str

    def fields(self, separator: str, count: int) -> list[str]:
        """Return the `count` fields of the line, stripped; raise `FactError` for any other number."""
        fields = [field.strip() for field in self.text.split(separator)]
        if len(fields) != count:
            raise FactError(f"{self.place}: {len(fields)} fields, {count} expected")
        return fields

    def number(self, text: str) -> int | float:
        """Return `text` as an integer where it is one, as a float otherwise."""
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            raise FactError(f"{self.place}: {text!r} is no number") from None

    def persons(self, thousands: str) -> int:
        """Return a population given in thousands as a number of persons."""
        return round(self.number(thousands) * 1000)


def read_lines(facts: Path, name: str) -> Iterator[Line]:
    """Yield the lines of the fact table `name`, without blank lines and comments."""
    path = facts / f"{name}.txt"
    for count, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if text.strip() and not text.startswith("#"):
            yield Line(f"{path.name}:{count}", text)


def slug(name: str) -> str:
    """Return `name` in lower-case ASCII letters, digits and single hyphens: ``São Tomé`` gives ``sao-tome``."""
    plain = unicodedata.normalize("NFKD", name.translate(_PLAIN_LETTERS)).encode("ascii", "ignore").decode().lower()
    words = "".join(letter if letter.isalnum() else " " if letter in " -" else "" for letter in plain)
    return "-".join(words.split())


def unique(rows: Iterable[Row], file: str, width: int = 1) -> tuple[Row, ...]:
    """Return `rows` sorted; raise `FactError` where two rows agree in their first `width` cells."""
    ordered = tuple(sorted(rows, key=lambda row: tuple(str(cell) for cell in row[:width])))
    for one, other in pairwise(ordered):
        if one[:width] == other[:width]:
            raise FactError(f"{file}: {one[:width]} stands twice")
    return ordered


def known(codes: Iterable[str], countries: dict[str, str], place: str) -> list[str]:
    """Return `codes`; raise `FactError` for a code that is no country's."""
    codes = list(codes)
    for code in codes:
        if code not in countries:
            raise FactError(f"{place}: no country has the code {code!r}")
    return codes


def read_countries(facts: Path) -> tuple[list[Row], dict[str, str]]:
    """Return the rows of Country and, for each code, the name of its capital."""
    rows: list[Row] = []
    capitals: dict[str, str] = {}
    for line in read_lines(facts, "countries"):
        code, iso3, name, continent, capital, population, area, currency, year, flags = line.fields("|", 10)
        if set(flags) - {"L", "N"}:
            raise FactError(f"{line.place}: unknown flags {flags!r}")
        size = (line.persons(population), line.number(area))
        standing = ("L" in flags, "N" not in flags, None if year == "-" else line.number(year))
        rows.append((code, name, iso3, capital, *size, continent, currency, *standing))
        capitals[code] = capital
    return rows, capitals


def read_borders(facts: Path, countries: dict[str, str]) -> list[Row]:
    """Return each border once, as (smaller code, larger code, length in km or None).

    The table is kept in double entry: a border that stands on one side only is an error.
    """
    lengths: dict[tuple[str, str], int | float | None] = {}
    places: dict[tuple[str, str], str] = {}
    for line in read_lines(facts, "borders"):
        country, neighbours = line.fields(":", 2)
        known([country], countries, line.place)
        for entry in neighbours.split(","):
            neighbour, *length = entry.split()
            known([neighbour], countries, line.place)
            if (country, neighbour) in places or country == neighbour:
                raise FactError(f"{line.place}: the border {country}-{neighbour} stands twice")
            places[country, neighbour] = line.place
            if country < neighbour:
                lengths[country, neighbour] = line.number(length[0]) if length else None
            elif length:
                raise FactError(f"{line.place}: the length of {neighbour}-{country} belongs in the line of {neighbour}")
    for (country, neighbour), place in places.items():
        if (neighbour, country) not in places:
            raise FactError(f"{place}: {country} borders {neighbour}, but {neighbour} does not border {country}")
    return [(*pair, length) for pair, length in lengths.items()]


def read_cities(facts: Path, capitals: dict[str, str]) -> tuple[list[Row], list[Row], list[Row]]:
    """Return the rows of City, of located_in and of capital."""
    cities: list[Row] = []
    located: list[Row] = []
    seats: dict[str, str] = {}
    for table in CITY_TABLES:
        country = ""
        for line in read_lines(facts, f"cities_{table}"):
            if line.text.startswith("["):
                (country,) = known([line.text.strip("[] ")], capitals, line.place)
                continue
            name, population, latitude, longitude = line.fields("|", 4)
            is_capital = name.endswith("*")
            name = name.removesuffix("*")
            (country,) = known([country], capitals, line.place)
            city = f"{slug(name)}-{country.lower()}"
            if is_capital:
                if country in seats or name != capitals[country]:
                    raise FactError(f"{line.place}: the capital of {country} is {capitals[country]}, not {name}")
                seats[country] = city
            north, east = line.number(latitude), line.number(longitude)
            if abs(north) > 90 or abs(east) > 180:
                raise FactError(f"{line.place}: no place on Earth")
            cities.append((city, name, line.persons(population), north, east, is_capital))
            located.append((city, country))
    if missing := sorted(capitals.keys() - seats.keys()):
        raise FactError(f"no city is marked as the capital of {', '.join(missing)}")
    return cities, located, list(seats.items())


def read_languages(facts: Path, countries: dict[str, str]) -> tuple[list[Row], list[Row]]:
    """Return the rows of Language and of speaks."""
    languages: list[Row] = []
    speaks: list[Row] = []
    for line in read_lines(facts, "languages"):
        name, iso639, family, official, spoken = line.fields("|", 5)
        languages.append((slug(name), name, iso639, family))
        for codes, is_official in ((official, True), (spoken, False)):
            speaks += [(code, slug(name), is_official) for code in known(codes.split(), countries, line.place)]
    return languages, speaks


def read_rivers(facts: Path, countries: dict[str, str]) -> tuple[list[Row], list[Row]]:
    """Return the rows of River and of flows_through."""
    rivers: list[Row] = []
    flows: list[Row] = []
    for line in read_lines(facts, "rivers"):
        name, length, codes = line.fields("|", 3)
        rivers.append((slug(name), name, line.number(length)))
        flows += [(slug(name), code) for code in known(codes.split(), countries, line.place)]
    return rivers, flows


def make_tables(facts: Path = HERE / "facts") -> list[Table]:
    """Read and check all facts; return the tables of the graph, nodes first.

    Raises
    ------
    FactError
        If a fact cannot be read or contradicts another.
    """
    countries, capitals = read_countries(facts)
    cities, located, seats = read_cities(facts, capitals)
    languages, speaks = read_languages(facts, capitals)
    rivers, flows = read_rivers(facts, capitals)
    continents = sorted({str(row[6]) for row in countries})
    part_of: list[Row] = [(row[0], slug(str(row[6]))) for row in countries]

    def nodes(label: str, columns: str, rows: Iterable[Row]) -> Table:
        file = f"nodes_{label}.csv"
        return Table(file, ("id", *columns.split()), unique(rows, file))

    def relationships(kind: str, rows: Iterable[Row], columns: str = "") -> Table:
        file = f"rels_{kind}.csv"
        return Table(file, ("start", "end", *columns.split()), unique(rows, file, width=2))

    country_columns = "name iso3 capital population area_km2 continent currency landlocked un_member independence_year"
    return [
        nodes("Country", country_columns, countries),
        nodes("City", "name population latitude longitude is_capital", cities),
        nodes("Language", "name iso639 family", languages),
        nodes("River", "name length_km", rivers),
        nodes("Continent", "name", [(slug(name), name) for name in continents]),
        relationships("Country_borders_Country", read_borders(facts, capitals), "length_km"),
        relationships("Country_capital_City", seats),
        relationships("Country_part_of_Continent", part_of),
        relationships("Country_speaks_Language", speaks, "official"),
        relationships("City_located_in_Country", located),
        relationships("River_flows_through_Country", flows),
    ]


def as_text(cell: Cell) -> str:
    """Return a cell as it stands in the CSV file: empty for a missing value, ``true`` and ``false``, plain numbers."""
    match cell:
        case None:
            return ""
        case bool():
            return str(cell).lower()
        case float():
            return str(cell).removesuffix(".0")
        case _:
            return str(cell)


def write_tables(tables: Iterable[Table], folder: Path, report: Callable[[str], object] = print) -> None:
    """Write each table as a CSV file with a header line, UTF-8, lines ending in a line feed."""
    for table in tables:
        with (folder / table.file).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(table.columns)
            writer.writerows([as_text(cell) for cell in row] for row in table.rows)
        report(f"{table.file}: {len(table.rows)} rows")


if __name__ == "__main__":
    try:
        write_tables(make_tables(), HERE)
    except FactError as error:
        sys.exit(f"error: {error}")
