// How few borders must a traveller cross over land from Portugal to China, and by which countries?
MATCH p = shortestPath((a:Country {name: 'Portugal'})-[:borders*]-(b:Country {name: 'China'}))
RETURN [c IN nodes(p) | c.name] AS route, length(p) AS borders
