"""Notebooks: ``%load_ext qengine`` adds ``%cypher QUERY`` and ``%%cypher``, with parameters from the notebook's names.

::

    %load_ext qengine

    %%cypher world --out rivers
    MATCH (r:River)-[:flows_through]->(c:Country) WHERE r.length_km > $km
    RETURN r.name AS river, count(*) AS countries ORDER BY countries DESC

The first word may be a variable that holds a graph; without it the last graph that was used is asked, or the only one
that there is. ``$km`` is the notebook's variable ``km``. ``--out NAME`` (also ``NAME <<``) keeps the result under a
name, ``--timeout``, ``--memory-limit`` and ``--device`` are those of ``Graph.query``.

A result shows a picture of the nodes and relationships that its rows hold, then the rows in pages with the types;
``EXPLAIN`` and ``PROFILE`` show the plan. Nothing is fetched from the network and no script runs, so exported documents
look the same. Tab completes by the graph's names. A query that takes more than a second says how far it is; the
notebook's stop button stops it.
"""
