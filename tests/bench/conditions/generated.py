"""Two generated graphs for forms of patterns: a shop whose prices follow regions, and papers that cite each other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from qengine import Graph

_SEED = 29
_CUSTOMERS, _PRODUCTS, _ORDERS = 8_000, 1_500, 20_000
_PAPERS, _AUTHORS, _FIELDS, _VENUES = 12_000, 6_000, 40, 150


def shop() -> Graph:
    """Make customers, their orders, and products: skewed, prices follow the regions of who buys.

    A region has its incomes and its favourite categories; few customers place most orders, few products are in most;
    ``premium`` products are a hundredth, bought nearly by one region alone; every fifth order has no coupon.
    """
    random = np.random.default_rng(_SEED)
    region = np.minimum(random.zipf(1.6, _CUSTOMERS) - 1, 24)
    income = np.round(20_000 * (1 + region % 5) * random.lognormal(0, 0.3, _CUSTOMERS))
    category = np.minimum(random.zipf(1.5, _PRODUCTS) - 1, 29)
    price = np.round((5 + 12 * (category % 7)) * random.lognormal(0, 0.5, _PRODUCTS), 2)
    premium = random.random(_PRODUCTS) < 0.01
    placed_by = skewed(random, _CUSTOMERS, _ORDERS, 0.9)
    day = np.sort(random.integers(0, 720, _ORDERS))
    items = 1 + random.poisson(1.5, _ORDERS) + 3 * (region[placed_by] % 5 == 4)
    order = np.repeat(np.arange(_ORDERS), items)
    by_category = np.argsort(category, kind="stable")
    favourite = np.searchsorted(category[by_category], region[placed_by[order]] % 30)
    near = by_category[np.minimum(favourite + skewed(random, 60, len(order), 0.8), _PRODUCTS - 1)]
    product = np.where(random.random(len(order)) < 0.6, near, skewed(random, _PRODUCTS, len(order), 0.8))
    product = np.where(premium[product] & (region[placed_by[order]] != 3), (product + 1) % _PRODUCTS, product)
    viewer = np.concatenate([placed_by[order], random.integers(0, _CUSTOMERS, 30_000)])
    viewed = np.concatenate([product, skewed(random, _PRODUCTS, 30_000, 0.7)])
    nodes = {
        "Customer": {
            "id": np.arange(_CUSTOMERS),
            "region": [f"region{k}" for k in region],
            "income": pa.array(income, mask=random.random(_CUSTOMERS) < 0.1),
            "age": np.clip(random.normal(30 + 2 * (region % 10), 10), 18, 95).astype(np.int64),
        },
        "Product": {
            "id": np.arange(_PRODUCTS),
            "category": category,
            "price": price,
            "premium": premium.astype(np.int64),
            "brand": [f"brand{k}" for k in category * 3 + random.integers(0, 4, _PRODUCTS)],
        },
        "Purchase": {
            "id": np.arange(_ORDERS),
            "day": day,
            "channel": np.where(random.random(_ORDERS) < 0.02 + 0.5 * (region[placed_by] > 2), "app", "web"),
            "coupon": pa.array(day // 30, mask=random.random(_ORDERS) < 0.2),
        },
    }
    relationships = {
        ("placed", "Customer", "Purchase"): {"start": placed_by, "end": np.arange(_ORDERS)},
        ("contains", "Purchase", "Product"): {
            "start": order,
            "end": product,
            "paid": np.round(price[product] * (1 + 0.04 * region[placed_by[order]]), 2),
            "quantity": np.minimum(random.zipf(2.5, len(order)), 40),
        },
        ("viewed", "Customer", "Product"): {
            "start": viewer,
            "end": viewed,
            "seconds": np.round(random.exponential(30 + price[viewed])).astype(np.int64),
        },
        ("referred", "Customer", "Customer"): {
            "start": skewed(random, _CUSTOMERS, 5_000, 0.9),
            "end": random.integers(0, _CUSTOMERS, 5_000),
        },
    }
    return _graph(nodes, relationships)


def papers() -> Graph:
    """Make papers that cite earlier ones of their field mostly, their authors, fields and venues."""
    random = np.random.default_rng(_SEED)
    field = np.minimum(random.zipf(1.4, _PAPERS) - 1, _FIELDS - 1)
    year = 1990 + np.sort((35 * random.random(_PAPERS) ** 0.5).astype(np.int64))
    citing = np.repeat(np.arange(_PAPERS), np.minimum(random.zipf(1.7, _PAPERS), 60))
    citing = citing[citing > 0]
    by_field = np.lexsort((np.arange(_PAPERS), field))
    place = np.empty(_PAPERS, np.int64)
    place[by_field] = np.arange(_PAPERS)
    begin = np.searchsorted(field[by_field], field[citing])
    earlier = by_field[begin + (random.random(len(citing)) ** 3 * (place[citing] - begin)).astype(np.int64)]
    cited = np.where(
        random.random(len(citing)) < 0.8, earlier, (citing * random.random(len(citing)) ** 2).astype(np.int64)
    )
    pairs = np.unique((citing * _PAPERS + cited)[cited != citing])
    citing, cited = pairs // _PAPERS, pairs % _PAPERS
    written = np.repeat(np.arange(_PAPERS), 1 + random.poisson(1.2, _PAPERS) + 20 * (random.random(_PAPERS) < 0.003))
    author = (skewed(random, _AUTHORS // 4, len(written), 0.7) + field[written] * _AUTHORS // _FIELDS) % _AUTHORS
    venue = (field * 3 + random.integers(0, 6, _PAPERS)) % _VENUES
    times_cited = np.bincount(cited, minlength=_PAPERS)
    nodes = {
        "Paper": {
            "id": np.arange(_PAPERS),
            "year": year,
            "cited": times_cited,
            "pages": np.clip(random.normal(8 + 6 * (venue % 3), 3), 1, 60).astype(np.int64),
            "language": np.where(random.random(_PAPERS) < 0.97, "en", "de"),
        },
        "Author": {
            "id": np.arange(_AUTHORS),
            "country": [f"c{k}" for k in (np.arange(_AUTHORS) * _FIELDS // _AUTHORS) % 12],
            "h": np.minimum(np.bincount(author, minlength=_AUTHORS), 50),
        },
        "Field": {"id": np.arange(_FIELDS), "name": [f"field{k}" for k in range(_FIELDS)]},
        "Venue": {"id": np.arange(_VENUES), "rank": [f"{'ABC'[k % 3]}" for k in range(_VENUES)]},
    }
    return _graph(
        nodes,
        {
            ("cites", "Paper", "Paper"): {"start": citing, "end": cited, "gap": year[citing] - year[cited]},
            ("wrote", "Author", "Paper"): {
                "start": author,
                "end": written,
                "place": np.arange(len(written)) - np.searchsorted(written, written),
            },
            ("about", "Paper", "Field"): {"start": np.arange(_PAPERS), "end": field},
            ("publishedIn", "Paper", "Venue"): {"start": np.arange(_PAPERS), "end": venue, "volume": year - 1980},
        },
    )


def skewed(random: np.random.Generator, count: int, size: int, exponent: float) -> np.ndarray:
    """Draw so many of ``count`` numbers, the k-th as likely as k to the power of minus ``exponent``: int64."""
    weights = (1 + np.arange(count)) ** -exponent
    return np.searchsorted(np.cumsum(weights / weights.sum()), random.random(size)).clip(0, count - 1)


def _graph(nodes: dict[str, dict[str, object]], relationships: dict[tuple[str, str, str], dict[str, object]]) -> Graph:
    return Graph.from_arrow(
        {label: pa.table(columns) for label, columns in nodes.items()},
        [(type, start, end, pa.table(columns)) for (type, start, end), columns in relationships.items()],
        key="id",
    )
