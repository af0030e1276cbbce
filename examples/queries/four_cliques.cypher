// Which four countries border each other pairwise? (the largest cliques that a map of the world has)
MATCH (a:Country)-[:borders]-(b:Country)-[:borders]-(c:Country)-[:borders]-(d:Country)-[:borders]-(a),
      (a)-[:borders]-(c), (b)-[:borders]-(d)
WHERE a.name < b.name AND b.name < c.name AND c.name < d.name
RETURN a.name AS first, b.name AS second, c.name AS third, d.name AS fourth
ORDER BY first, second, third, fourth
