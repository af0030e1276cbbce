// Whose capital is outgrown the most by the largest city of the country?
MATCH (capital:City)<-[:capital]-(c:Country)<-[:located_in]-(city:City)
WHERE city.population > capital.population
  AND NOT EXISTS { MATCH (c)<-[:located_in]-(other:City) WHERE other.population > city.population }
RETURN c.name AS country, capital.name AS seat, city.name AS largest_city,
       city.population - capital.population AS difference
ORDER BY difference DESC, country
LIMIT 10
