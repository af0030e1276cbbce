COPY `User` (`name`,`age`,`born`,`seen`,`tags`,`x`,`ok`,`pause`,`address`) FROM "User.parquet" (parallel=true);
COPY `City` (`id`,`name`) FROM "City.parquet" (parallel=true);
COPY `Follows` (`since`) FROM "Follows_User_User.parquet" (to='User', from='User', parallel=true);
COPY `LivesIn` FROM "LivesIn_User_City.parquet" (to='City', from='User', parallel=true);
COPY `LivesIn` FROM "LivesIn_City_City.parquet" (to='City', from='City', parallel=true);
