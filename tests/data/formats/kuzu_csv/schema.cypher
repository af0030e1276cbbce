CREATE NODE TABLE `User` (`name` STRING,`age` INT64,`born` DATE,`seen` TIMESTAMP,`tags` STRING[],`x` DOUBLE,`ok` BOOL,`pause` INTERVAL,`address` STRUCT(zip INT64), PRIMARY KEY(`name`));
CREATE NODE TABLE `City` (`id` INT64,`name` STRING, PRIMARY KEY(`id`));
CREATE REL TABLE `Follows` (FROM `User` TO `User`, `since` INT64,MANY_MANY);
CREATE REL TABLE `LivesIn` (FROM `User` TO `City`, FROM `City` TO `City`, MANY_MANY);
