// Which countries have exactly one land neighbour, and which neighbour is it?
MATCH (c:Country)-[:borders]-(n:Country)
WITH c, collect(n.name) AS neighbours
WHERE size(neighbours) = 1
RETURN c.name AS country, neighbours[0] AS neighbour
ORDER BY country
