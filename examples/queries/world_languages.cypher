// Which languages are official on the most continents, and in how many countries?
MATCH (l:Language)<-[:speaks {official: true}]-(c:Country)-[:part_of]->(k:Continent)
RETURN l.name AS language, count(DISTINCT k) AS continents, count(DISTINCT c) AS countries
ORDER BY continents DESC, countries DESC, language
LIMIT 10
