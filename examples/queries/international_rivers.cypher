// Which rivers touch the most countries?
MATCH (r:River)-[:flows_through]->(c:Country)
WITH r, count(*) AS countries
RETURN r.name AS river, countries, r.length_km AS length_km
ORDER BY countries DESC, length_km DESC
LIMIT 10
