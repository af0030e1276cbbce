"""``qengine.dbapi`` is what PEP 249 says."""

from __future__ import annotations

import datetime
from pathlib import Path

import pandas
import pytest

from qengine import Graph, dbapi


def test_the_module_says_what_it_is() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 1, "pyformat")
    assert issubclass(dbapi.Warning, Exception) and issubclass(dbapi.Error, Exception)
    assert issubclass(dbapi.InterfaceError, dbapi.Error) and issubclass(dbapi.IntegrityError, dbapi.DatabaseError)
    assert dbapi.Connection.ProgrammingError is dbapi.ProgrammingError
    assert dbapi.Date(2020, 1, 2) == datetime.date(2020, 1, 2) and dbapi.Time(1, 2, 3).hour == 1
    assert dbapi.TimestampFromTicks(0).date() == dbapi.DateFromTicks(0) and dbapi.TimeFromTicks(0).second == 0
    with pytest.raises(dbapi.NotSupportedError):
        dbapi.Binary(b"")


def test_rows_are_fetched_and_described() -> None:
    cursor = dbapi.connect(Graph()).cursor()
    with pytest.raises(dbapi.ProgrammingError, match="no statement with rows"):
        cursor.fetchone()
    cursor.execute("UNWIND [1, 2, 3, 4] AS x RETURN x, 'a' AS s, date('2020-01-01') AS d, [x] AS l")
    assert [each[:2] for each in cursor.description or ()] == [
        ("x", "INTEGER"), ("s", "STRING"), ("d", "DATE"), ("l", "LIST"),
    ]  # fmt: skip
    codes = [each[1] for each in cursor.description or ()]
    assert codes[0] == dbapi.NUMBER and codes[1] == dbapi.STRING and codes[2] == dbapi.DATETIME != codes[1]
    assert all(len(each) == 7 for each in cursor.description or ())
    assert cursor.fetchone()[0] == 1 and [row[0] for row in cursor.fetchmany()] == [2]
    assert [row[0] for row in cursor] == [3, 4] and cursor.fetchone() is None and cursor.fetchall() == []
    assert cursor.rowcount == -1
    cursor.setinputsizes([1])
    cursor.setoutputsize(1)
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="The cursor is closed"):
        cursor.execute("RETURN 1")


def test_parameters_are_written_in_either_way() -> None:
    cursor = dbapi.connect().cursor()
    text = "RETURN %(a)s AS a, $b AS b, '%(a)s' AS s, 7 %(a)s AS m, `%(a)s` /* %(a)s */ FROM"
    text = "WITH 1 AS `%(a)s` RETURN %(a)s AS a, $b AS b, '%(a)s' AS s, `%(a)s` /* %(x)s */ AS n // %(x)s"
    assert tuple(cursor.execute(text, {"a": 5, "b": 6}).fetchone() or ()) == (5, 6, "%(a)s", 1)
    assert cursor.execute("RETURN 7 % $b AS m", {"b": 4}).fetchall() == [(3,)]
    for wrong in ([5], (5,)):
        with pytest.raises(dbapi.ProgrammingError, match="Parameters are a dict"):
            cursor.execute("RETURN %(a)s", wrong)  # type: ignore[arg-type]


def test_transactions_begin_with_the_first_change() -> None:
    graph = Graph()
    connection = dbapi.connect(graph)
    cursor = connection.cursor()
    cursor.executemany("CREATE (:A {k: %(k)s})-[:R]->(:B)", [{"k": 1}, {"k": 2}])
    assert cursor.rowcount == 6 and cursor.description is None
    assert cursor.execute("MATCH (n) RETURN count(*)").fetchall() == [(4,)]
    connection.rollback()
    assert graph.node_count == 0
    cursor.execute("CREATE (:A)")
    connection.commit()
    assert graph.node_count == 1
    with connection:
        cursor.execute("CREATE (:A)")
    with pytest.raises(ZeroDivisionError), connection:
        cursor.execute("CREATE (:A)")
        raise ZeroDivisionError
    assert graph.node_count == 2
    cursor.execute("CREATE (:A)")
    connection.close()
    connection.close()
    assert graph.node_count == 2
    with pytest.raises(dbapi.InterfaceError, match="The connection is closed"):
        connection.cursor()
    with pytest.raises(dbapi.InterfaceError, match="The connection is closed"):
        cursor.execute("RETURN 1")
    dbapi.connect(graph, autocommit=True).cursor().execute("CREATE (:A)")
    assert graph.node_count == 3


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("RETURN", dbapi.ProgrammingError),
        ("RETURN x", dbapi.ProgrammingError),
        ("RETURN 1 / 0", dbapi.DataError),
        ("CREATE (:A {k: 1}), (:A {k: 1})", dbapi.IntegrityError),
    ],
)
def test_errors_are_the_modules(text: str, error: type[Exception]) -> None:
    connection = dbapi.connect()
    cursor = connection.cursor()
    cursor.execute("CREATE CONSTRAINT FOR (a:A) REQUIRE a.k IS UNIQUE")
    connection.commit()
    with pytest.raises(error) as raised:
        cursor.execute(text).fetchall()
    assert raised.value.__cause__ is not None
    connection.rollback()


def test_a_saved_graph_is_opened_and_closed(tmp_path: Path) -> None:
    Graph().save(tmp_path / "g")
    with dbapi.connect(tmp_path / "g") as connection:
        connection.cursor().execute("CREATE (:A)")
    connection.close()
    assert Graph.open(tmp_path / "g").node_count == 1
    with pytest.raises(dbapi.OperationalError):
        dbapi.connect(tmp_path / "nothing")


def test_pandas_reads_through_a_cursor() -> None:
    cursor = dbapi.connect().cursor()
    cursor.execute("UNWIND $xs AS x RETURN x, x * x AS y", {"xs": [1, 2]})
    frame = pandas.DataFrame(cursor.fetchall(), columns=[each[0] for each in cursor.description or ()])
    assert frame["y"].tolist() == [1, 4]


def test_dates_and_times_are_those_of_python_where_these_hold_them() -> None:
    cursor = dbapi.connect().cursor()
    cursor.execute(
        "UNWIND [date('2020-01-02'), datetime('2020-01-02T03:04+02:00'), localtime('10:00:00.000000001'), "
        "duration('PT25H'), 5] AS x RETURN x, localdatetime('2020-01-02T03:04') AS y"
    )
    moment = datetime.datetime(2020, 1, 2, 3, 4)
    first, *more = cursor.fetchone(), *cursor.fetchmany(2), *cursor.fetchall()
    assert [type(each.x).__name__ for each in (first, *more)] == ["date", "datetime", "LocalTime", "Duration", "int"]
    assert first.x == datetime.date(2020, 1, 2) and all(
        type(each.y) is type(moment) and each.y == moment for each in more
    )
    assert more[0].x.utcoffset() == datetime.timedelta(hours=2)


@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy")
def test_pandas_reads_dates() -> None:
    text = "UNWIND ['2020-01-01T10:00Z', '2021-01-01T00:00Z'] AS x RETURN date(datetime(x)) AS d, datetime(x) AS t"
    frame = pandas.read_sql(text, dbapi.connect(), parse_dates=["d", "t"])
    assert [str(each.date()) for each in frame["d"]] == ["2020-01-01", "2021-01-01"]
    assert str(frame["t"][0]) == "2020-01-01 10:00:00+00:00"
