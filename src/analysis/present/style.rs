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

/// A terminal. Tables fit its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Its width in columns.
    pub width: u16,
    /// Its height in lines.
    pub height: u16,
    /// Whether lines, bars and ellipses consist of ASCII only. Text from logs stays as it is.
    pub is_ascii: bool,
}

/// How a table is printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct TableStyle<'a> {
    /// The terminal. Without one, a table contains every column.
    pub screen: Option<Screen>,
    /// Whether headers and sums are bold.
    pub color: bool,
    /// Whether numbers are abbreviated: `$742.86`, `1.2B`, `23m 05s`.
    pub is_human: bool,
    /// Whether no column is hidden and no text is shortened.
    pub is_whole: bool,
    /// What the columns are for.
    pub roles: Roles<'a>,
    /// The style of a report: thousands are separated, money has four decimal places, the last row may be a sum.
    pub report: Option<ReportStyle>,
}

/// What the columns of a table are for: which of them are hidden and shortened first on a terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Roles<'a> {
    /// The number of first columns that name a row. They are shortened, and never hidden. By default this is the first column.
    pub names: Option<usize>,
    /// The main measure, which is neither shortened nor hidden. By default this is the first amount of money, else the first number
    /// after the names.
    pub main: Option<&'a str>,
    /// Further columns that are as important, such as the result of a comparison.
    pub also: &'a [&'a str],
    /// Columns of sentences. Unless they are empty, they are never hidden, and they are wrapped between words.
    pub sentences: &'a [&'a str],
    /// Columns that are hidden before all others, in this order.
    pub least: &'a [&'a str],
    /// Amounts of money of which cents are not enough.
    pub fine: &'a [&'a str],
}

/// How a report is printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReportStyle {
    /// The number of dimensions: the first columns. Where there is no terminal, their texts keep their length.
    pub dimensions: usize,
    /// Whether the last row is a sum of the others.
    pub has_total: bool,
    /// The currency of amounts of money.
    pub currency: Currency,
}
