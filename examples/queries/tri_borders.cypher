// Which three countries border each other pairwise? (triangles)
MATCH (a:Country)-[:borders]-(b:Country)-[:borders]-(c:Country)-[:borders]-(a)
WHERE a.name < b.name AND b.name < c.name
RETURN a.name AS first, b.name AS second, c.name AS third
ORDER BY first, second, third
