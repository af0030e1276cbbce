// Which landlocked countries are surrounded by landlocked countries only?
MATCH (c:Country {landlocked: true})
WHERE NOT EXISTS { MATCH (c)-[:borders]-(n:Country) WHERE NOT n.landlocked }
RETURN c.name AS country
ORDER BY country
