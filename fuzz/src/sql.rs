//! Queries over a tiny table. What is accepted must be answered.

use std::path::Path;

use reticent_policy::Policy;

use crate::files::{CELL, Engine};
use crate::target::{Outcome, shape};

pub(crate) struct Sql {
    engine: Engine,
    policy: Policy,
}

impl Sql {
    pub(crate) fn new(folder: &Path) -> Result<Sql, String> {
        let text = |error: std::io::Error| error.to_string();
        std::fs::write(folder.join("t.csv"), TABLE).map_err(text)?;
        std::fs::write(folder.join("visits.csv"), VISITS).map_err(text)?;
        std::fs::write(folder.join("cities.csv"), "city,size\nUlm,1\nBonn,3\n").map_err(text)?;
        let policy = Policy::parse(POLICY, &folder.join("policy.toml"))
            .map_err(|error| error.to_string())?;
        Ok(Sql { engine: Engine::new()?, policy })
    }

    pub(crate) fn ask(&mut self, sql: &str) -> Outcome {
        let query = match self.engine.prepare(&self.policy, sql) {
            Ok(query) => query,
            Err(error) => {
                let message = error.to_string();
                // What is refused is quoted from the query, and from nothing else.
                let leaks = message.contains(CELL) && !sql.contains(CELL);
                // What the parser found instead is any word of the query.
                let (told, _) = message.split_once(", found").unwrap_or((&message, ""));
                return if leaks { Err(format!("leak: {message}")) } else { Ok(vec![shape(told)]) };
            }
        };
        if let Some((error, _)) = self.engine.run(&self.policy, &query) {
            return Err(format!("wrong: accepted, but: {error}"));
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '(';
        let words = query.sql.split_inclusive(|c: char| !is_word(c) || c == '(').map(str::trim);
        let named = |word: &&str| {
            word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || "_0(".contains(c))
        };
        Ok(words.filter(named).map(|word| format!("accepted {word}")).collect())
    }
}

const TABLE: &str = "id,name,city,age,x,flag,day,at\n\
    1,Alice,Ulm,30,0.1,true,2024-01-31,2024-01-31T12:00:00Z\n\
    1,Alice,Ulm,30,-0.0,true,2024-02-29,\n\
    2,\"é%_\\\",Bonn,,1e308,false,,1969-12-31T23:59:59.999999Z\n\
    3,,,9223372036854775807,inf,,9999-12-31,9999-12-31T00:00:00Z\n\
    4,Zoë,Ulm,-9223372036854775808,NaN,no,0001-01-01,0001-01-01T00:00:00Z\n\
    ,Nobody,Köln,1,1,1,1970-01-01,1970-01-01\n";

const VISITS: &str = "id,ward,cost\n1,a,3.3\n1,b,-7\n2,a,0\n9,c,1e9\n,a,1\n";

pub(crate) const POLICY: &str = "\
[budget]
epsilon = 100
delta = 1e-4
[tables.t]
source = 't.csv'
unit = 'id'
max_groups = 3
max_rows = 2
[tables.t.columns]
id.type = 'integer'
name.type = 'text'
city = { type = 'text', values = ['Ulm', 'Bonn'] }
age = { type = 'integer', bounds = [0, 120] }
x = { type = 'real', bounds = [-1, 1] }
flag.type = 'boolean'
day = { type = 'date', bounds = [2024-01-01, 2024-12-31] }
at.type = 'timestamp'
[tables.visits]
source = 'visits.csv'
unit = 'id'
max_groups = 2
max_rows = 3
[tables.visits.columns]
id.type = 'integer'
ward.type = 'text'
cost = { type = 'real', bounds = [0, 100], unit_bounds = [0, 200] }
[tables.cities]
source = 'cities.csv'
public = true
unique = ['city']
columns.city.type = 'text'
columns.size = { type = 'integer', bounds = [0, 9] }
";

pub(crate) const SEEDS: &[&str] = &[
    "SELECT COUNT(*) FROM t",
    "SELECT city, COUNT(*), SUM(age), AVG(x) FROM t GROUP BY city ORDER BY 2 DESC LIMIT 1",
    "SELECT COUNT(DISTINCT id) FROM t WHERE name LIKE 'A%' AND age BETWEEN 3 AND 40",
    "SELECT name, COUNT(*) FROM t GROUP BY name HAVING COUNT(*) > 3",
    "SELECT STDDEV(x), VAR_POP(x), MEDIAN(age), COUNT(*) FILTER (WHERE flag) FROM t",
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) FROM t",
    "SELECT COUNT(*) FROM (SELECT id, SUM(x) AS s, MAX(age) AS m FROM t GROUP BY id) u WHERE s > \
     0.5",
    "SELECT v.ward, SUM(v.cost) FROM t JOIN visits v ON t.id = v.id WHERE t.flag GROUP BY v.ward",
    "SELECT c.size, COUNT(*) FROM t LEFT JOIN cities c ON t.city = c.city GROUP BY c.size",
    "WITH w AS (SELECT id, city FROM t UNION ALL SELECT id, ward FROM visits) SELECT COUNT(*) FROM \
     w",
    "SELECT COUNT(*) FROM t WHERE city IN (SELECT city FROM cities WHERE size > 1)",
    "SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS a, COUNT(*) FROM t GROUP BY a",
    "SELECT DATE_PART('month', day), COUNT(*) FROM t GROUP BY 1",
    "SELECT EXTRACT(YEAR FROM at) AS y, COUNT(*) FROM t GROUP BY y",
    "SELECT COUNT(*) FROM t WHERE ROUND(age, -1) = 0 OR POWER(x, 0.5) > LN(ABS(age))",
    "SELECT COUNT(*) FROM t WHERE SUBSTR(UPPER(name), 2, 3) || CAST(age AS TEXT) = 'LI30'",
    "SELECT SUM(GREATEST(LEAST(age * 2 % 7, 100), 0)) / COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t WHERE name ILIKE '%é_' OR name ~ '^A.*e$' OR CONTAINS(name, 'li')",
    "SELECT COUNT(*) FROM t WHERE SPLIT_PART(name, ',', 1) = '' OR CONCAT_WS('-', city, name) IS \
     NULL",
    "SELECT COUNT(*) FROM t WHERE DATE_TRUNC('week', at) < TIMESTAMP '2024-01-01 00:00:00'",
    "SELECT COUNT(*) FROM t WHERE CAST(name AS INTEGER) = 1 OR CAST(day AS TEXT) > '2' OR \
     TRY_CAST(x AS BIGINT) = 1",
    "SELECT COUNT(*) FROM t WHERE COALESCE(NULLIF(city, 'Ulm'), name) IS DISTINCT FROM 'Bonn'",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, delta = 1e-8, max_groups = 3) \
     COUNT(*) FROM t",
    "SELECT FLOOR(age / 10) AS d, COUNT(*) FROM t GROUP BY d ORDER BY d",
    "SELECT COUNT(*) FROM t CROSS JOIN (VALUES (1), (2)) AS v(k) WHERE EXISTS (SELECT 1 FROM \
     cities)",
    "SELECT COUNT(*) FROM t WHERE (SELECT MAX(size) FROM cities) > age",
    "SELECT COUNT(*) FROM t a JOIN visits b ON a.id = b.id JOIN t c ON b.id = c.id AND a.x < c.x",
    "SELECT s.city, s.n * 2 FROM (SELECT city, COUNT(*) AS n FROM t GROUP BY city) s JOIN cities c \
     ON s.city = c.city",
];

pub(crate) const WORDS: &str = "SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET DISTINCT AS \
    JOIN LEFT RIGHT FULL \
    INNER CROSS SEMI ANTI OUTER NATURAL ON USING UNION ALL INTERSECT EXCEPT WITH RECURSIVE VALUES \
    LATERAL UNNEST \
    TABLESAMPLE PIVOT QUALIFY WINDOW OVER PARTITION ROWS RANGE FILTER WITHIN CASE WHEN THEN ELSE \
    END AND OR NOT IN \
    EXISTS ANY SOME BETWEEN LIKE ILIKE SIMILAR TO ESCAPE IS NULL TRUE FALSE UNKNOWN CAST( \
    TRY_CAST( EXTRACT( INTERVAL \
    DATE TIMESTAMP TIME ZONE AT INTEGER BIGINT TINYINT SMALLINT DOUBLE FLOAT REAL DECIMAL \
    NUMERIC(38,10) TEXT VARCHAR \
    CHAR BOOLEAN COUNT(*) COUNT( SUM( AVG( MIN( MAX( VAR( STDDEV( MEDIAN( PERCENTILE_CONT( \
    APPROX_DISTINCT( \
    FIRST_VALUE( ARRAY_AGG( coalesce( nvl( nullif( greatest( least( abs( ceil( floor( round( \
    trunc( signum( sqrt( \
    cbrt( ln( log( log2( log10( exp( power( sin( cos( tan( asin( acos( atan( atan2( degrees( \
    radians( isnan( iszero( \
    nanvl( lower( upper( initcap( trim( btrim( ltrim( rtrim( length( character_length( \
    octet_length( ascii( reverse( \
    strpos( starts_with( ends_with( contains( left( right( substr( split_part( concat( concat_ws( \
    || regexp_like( ~ \
    ~* !~ date_part( date_trunc( now() random() uuid() current_date ( ) , . ; * + - / % = <> != < \
    <= > >= & | ^ << >> \
    :: @ ? $1 [1] {} 0 1 -1 2 0.5 1e400 -0.0 9223372036854775807 -9223372036854775808 'x' 'month' \
    'week' 'é' \
    t visits cities id name city age x flag day at ward cost size \"ID\" t.id u s n";
