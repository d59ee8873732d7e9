//! How rows are printed.

use super::currency::Currency;

/// A format of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns.
    #[default]
    Table,
    /// One array of objects.
    Json,
    /// RFC 4180, with a header.
    Csv,
    /// A Markdown table.
    Markdown,
    /// A stream of Arrow's IPC format, with the types of the columns.
    Arrow,
}

/// How a table is printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct TableStyle {
    /// The width of the terminal in columns; `None` is no limit.
    pub width: Option<u16>,
    /// Whether it is printed on a terminal.
    pub is_terminal: bool,
    /// Whether headers and sums may be bold.
    pub color: bool,
    /// The style of a report: thousands are separated, money has cents, the last row may be a sum.
    pub report: Option<ReportStyle>,
}

/// How a report is printed.
#[derive(Debug, Clone, Copy)]
pub struct ReportStyle {
    /// The number of dimensions: the first columns, whose texts are not shortened to make the table fit.
    pub dimensions: usize,
    /// Whether the last row is a sum of the others.
    pub has_total: bool,
    /// Whether large numbers are abbreviated.
    pub human: bool,
    /// The currency of amounts of money.
    pub currency: Currency,
    /// Whether texts keep their length although the table does not fit.
    pub is_whole: bool,
}
