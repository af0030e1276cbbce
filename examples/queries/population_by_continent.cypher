// How many countries and people has each continent, and how many of the countries lie on no sea?
MATCH (c:Country)-[:part_of]->(k:Continent)
RETURN k.name AS continent, count(*) AS countries, sum(c.population) AS population,
       sum(CASE WHEN c.landlocked THEN 1 ELSE 0 END) AS landlocked
ORDER BY population DESC
