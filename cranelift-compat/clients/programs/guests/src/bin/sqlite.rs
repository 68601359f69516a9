//! Fills tables of SQLite in memory and queries them.

use guests::Numbers;
use rusqlite::{Connection, Result, params};

fn main() -> Result<()> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute_batch(
        "create table person (id integer primary key, name text, town integer, born integer);
         create table town (id integer primary key, name text unique);
         create index of_town on person (town);",
    )?;
    let mut numbers = Numbers::new(7);
    let words: Vec<String> = guests::text(3000).split_whitespace().map(str::to_owned).collect();
    let all = connection.transaction()?;
    for town in 0..200 {
        all.execute("insert into town values (?1, ?2)", params![town, format!("{}-{town}", words[town as usize])])?;
    }
    {
        let mut insert = all.prepare("insert into person values (?1, ?2, ?3, ?4)")?;
        for person in 0..40_000 {
            let name = format!("{} {}", words[numbers.below(3000) as usize], words[numbers.below(3000) as usize]);
            insert.execute(params![person, name, numbers.below(200), 1900 + numbers.below(120)])?;
        }
    }
    all.commit()?;
    let queries = [
        "select count(*), sum(born), min(name) from person where born between 1950 and 1980",
        "select count(*), sum(length(t.name)), max(p.name) from person p join town t on p.town = t.id where t.name like '%block%'",
        "select count(*), sum(n), max(name) from (select town, count(*) n, max(name) name from person group by town having n > 190)",
        "select count(*), sum(born), max(name) from (select * from person order by name, born desc limit 5000)",
        "select count(distinct name), sum(born % 7), max(upper(name)) from person",
    ];
    for query in queries {
        let row = connection.query_row(query, [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?, row.get::<_, Option<String>>(2)?))
        })?;
        println!("{row:?}");
    }
    let changed = connection.execute("update person set born = born + 1 where id % 3 = 0", [])?;
    let deleted =
        connection.execute("delete from person where town in (select id from town where name like 'a%')", [])?;
    println!("{changed} changed, {deleted} deleted");
    Ok(())
}
