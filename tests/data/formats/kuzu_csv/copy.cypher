COPY `User` (`name`,`age`,`born`,`seen`,`tags`,`x`,`ok`,`pause`,`address`) FROM "User.csv" (header=true, parallel=true);
COPY `City` (`id`,`name`) FROM "City.csv" (header=true, parallel=true);
COPY `Follows` (`since`) FROM "Follows_User_User.csv" (to='User', from='User', header=true, parallel=true);
COPY `LivesIn` FROM "LivesIn_User_City.csv" (to='City', from='User', header=true, parallel=true);
COPY `LivesIn` FROM "LivesIn_City_City.csv" (to='City', from='City', header=true, parallel=true);
