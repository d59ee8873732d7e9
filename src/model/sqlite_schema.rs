//! Tables of SQLite databases that formats are read from.

/// A table that a format is kept in.
#[derive(Debug)]
pub struct Table {
    /// Its name, which stands in each of its records as `table`.
    pub name: &'static str,
    /// The column that the rows below name a row by.
    pub key: &'static str,
    /// Columns that tell it from a table of the same name in another program's database.
    pub needs: &'static [&'static str],
    /// What is read of a row besides its key, where the version has it.
    pub columns: &'static [&'static str],
    /// Those of the columns that hold JSON: it stands in the record as it is, not as a string.
    pub json: &'static [&'static str],
    /// The order of the rows, as SQL.
    pub order: &'static str,
    /// Tables whose rows name a row of this one in a column: the column, and the table.
    pub below: &'static [(&'static str, Table)],
    /// Whether a row stands inside of the record of the row that it names, in an array of the table's name; else behind it.
    pub is_inside: bool,
    /// Whether a database without it may be of the format as well: other versions have it.
    pub is_optional: bool,
}
