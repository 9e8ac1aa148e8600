//! The layout of the file, and the way to it from every layout that was ever released. Migrations are numbered; none is ever changed.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

/// Marks a file as a store of this server: the letters `msps`.
const APPLICATION: i32 = 0x6d73_7073;
/// Longest wait for another process that is about to let the file go.
const HANDOVER: Duration = Duration::from_secs(2);

/// Step `n` leads from version `n` to `n + 1`.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        leaf TEXT,
        open INTEGER NOT NULL DEFAULT 0,
        record TEXT
    ) STRICT;
    CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        id TEXT NOT NULL,
        parent TEXT,
        role TEXT,
        committed INTEGER NOT NULL,
        record TEXT NOT NULL,
        UNIQUE (session, id)
    ) STRICT;
    CREATE TABLE attachments (
        session INTEGER NOT NULL,
        id TEXT NOT NULL,
        record TEXT NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (session, id)
    ) STRICT;
"];

/// Why a file is not opened.
#[derive(Debug)]
pub(super) enum Unopened {
    Foreign,
    Newer(i64),
    Taken,
    Failed(rusqlite::Error),
}

impl fmt::Display for Unopened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("the file is no store of this server"),
            Self::Newer(version) => {
                write!(f, "the file has version {version}; this server knows versions up to {}", MIGRATIONS.len())
            }
            Self::Taken => f.write_str("another process has the file open"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl From<rusqlite::Error> for Unopened {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Taken,
            Some(ErrorCode::NotADatabase) => Self::Foreign,
            _ => Self::Failed(error),
        }
    }
}

/// Opens a file for this process alone, and brings it to the newest version.
///
/// # Errors
/// As [`Unopened`] says. A file that is not ours is left as it is.
pub(super) fn open(path: &Path) -> Result<Connection, Unopened> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(HANDOVER)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    let fresh = application == 0 && version == 0 && tables == 0;
    if !fresh && application != APPLICATION {
        return Err(Unopened::Foreign);
    }
    let known = usize::try_from(version).ok().filter(|version| *version <= MIGRATIONS.len());
    let known = known.ok_or(Unopened::Newer(version))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(64);
    let transaction = connection.transaction()?;
    for step in &MIGRATIONS[known..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX))?;
    transaction.commit()?;
    Ok(connection)
}
