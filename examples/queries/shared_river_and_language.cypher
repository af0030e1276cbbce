// Which countries share a river and an official language, but no border?
MATCH (a:Country)<-[:flows_through]-(r:River)-[:flows_through]->(b:Country),
      (a)-[:speaks {official: true}]->(l:Language)<-[:speaks {official: true}]-(b)
WHERE a.name < b.name AND NOT EXISTS { (a)-[:borders]-(b) }
RETURN a.name AS one, b.name AS other, r.name AS river, l.name AS language
ORDER BY one, other, river, language
