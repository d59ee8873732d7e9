//! Declarations of the SQLite tables that formats are read from.

/// A table of a format.
#[derive(Debug)]
pub struct Table {
    /// Its name, which each of its records contains as `table`.
    pub name: &'static str,
    /// The column to which rows of child tables refer.
    pub key: &'static str,
    /// Columns that distinguish it from a table of the same name in another program's database.
    pub needs: &'static [&'static str],
    /// The columns that are read besides the key, if the version has them.
    pub columns: &'static [&'static str],
    /// The columns that contain JSON, which becomes part of the record instead of a string.
    pub json: &'static [&'static str],
    /// The order of the rows, as SQL.
    pub order: &'static str,
    /// Child tables: the column that refers to this table, and the table.
    pub below: &'static [(&'static str, Table)],
    /// Whether a row is inside of the record of its parent, in an array with the table's name, or a record after it.
    pub is_inside: bool,
    /// Whether a database of the format may lack it.
    pub is_optional: bool,
}

impl Table {
    /// A table without contents: the fields that a declaration leaves out have the values of most tables.
    pub const PLAIN: Self = Self {
        name: "",
        key: "",
        needs: &[],
        columns: &[],
        json: &[],
        order: "",
        below: &[],
        is_inside: false,
        is_optional: false,
    };
}
