//! `agentlogs bill`: compares bills with the archive.

use std::collections::BTreeMap;

use agentlogs::analysis::bill::{self, Bill, By, Measure, Question, Sums, TABLES};
use agentlogs::analysis::present::{Currency, ReportStyle, Roles, counted, grouped};
use agentlogs::analysis::reports::{Scope, for_people};
use agentlogs::ingest::bill_files::{BillFile, BillLine, read};

use super::output::{Layout, complain, numbers, print, row_limit, say, state_currency};
use super::resolve::{check_standard_input, report_error, scope, state_unmatched_turns};
use super::source::{catalog, some_tables};
use super::{Outcome, WrongCommandLine};
use crate::cli::args::{self, BillBy};
use crate::cli::settings::Settings;

/// The problems of a file that are printed; the others are counted.
const MAX_PROBLEMS: usize = 5;

pub fn run(args: args::Bill, settings: &Settings) -> anyhow::Result<Outcome> {
    check(&args)?;
    check_standard_input(args.files.iter().chain(&args.source.logs))?;
    let (lines, mut outcome) = read_files(&args);
    if lines.is_empty() {
        return Ok(Outcome::NotAllDone);
    }
    let catalog = catalog(&args.source, settings)?;
    // A bill has days of UTC.
    let scope = Scope { timezone: "UTC".to_owned(), ..scope(args.filters, settings) };
    let tables: Vec<&'static str> = TABLES.iter().copied().chain(scope.tables()).collect();
    let opened = some_tables(args.source, settings, &tables)?;
    state_unmatched_turns("", &opened, &scope);
    let question = Question {
        by: (!args.by.is_empty()).then(|| args.by.iter().map(|by| by_of(*by)).collect()),
        tolerance: args.tolerance / 100.0,
        delay: args.delay,
        key: args.key.as_deref(),
        workspace: args.workspace.as_deref(),
        cost: args.cost.into(),
        scope: &scope,
        catalog: &catalog,
    };
    let Some(bill) = bill::compare(&opened.frames, lines, &question).map_err(report_error)? else {
        complain(format_args!("no line of the bill matches --key, --workspace, --model, --since and --until"));
        return Ok(Outcome::NotAllDone);
    };
    print_rows(&bill, args.printed, settings)?;
    state(&bill, settings.shown_currency());
    opened.state_prices();
    let is_below = |least: f64| bill.sums.share().is_some_and(|share| share * 100.0 < least);
    if args.min_explained.is_some_and(is_below) {
        outcome = Outcome::Exceeded;
    }
    Ok(outcome)
}

/// Refuses filters that a bill does not have.
fn check(args: &args::Bill) -> Result<(), WrongCommandLine> {
    let wrong = |text: &str| Err(WrongCommandLine(text.to_owned()));
    if args.filters.undated.is_some() {
        return wrong("--undated cannot be used with a bill, whose lines have days");
    }
    if args.filters.timezone.as_deref().is_some_and(|zone| zone != "UTC") {
        return wrong("--timezone cannot be used with a bill, whose days are those of UTC");
    }
    Ok(())
}

const fn by_of(by: BillBy) -> By {
    match by {
        BillBy::Day => By::Day,
        BillBy::Model => By::Model,
        BillBy::Project => By::Project,
        BillBy::Key => By::Key,
    }
}

/// The lines of all files, and whether all of them were read.
fn read_files(args: &args::Bill) -> (Vec<BillLine>, Outcome) {
    let mut outcome = Outcome::Done;
    let mut files: BTreeMap<u128, BillFile> = BTreeMap::new();
    for path in &args.files {
        match read(path) {
            Ok(file) => match files.get(&file.hash) {
                Some(same) => complain(format_args!("{}: the same as {}; it is read once", file.path, same.path)),
                None => {
                    files.insert(file.hash, file);
                }
            },
            Err(error) => {
                complain(format_args!("{error}"));
                outcome = Outcome::NotAllDone;
            }
        }
    }
    for file in files.values() {
        state_file(file);
        if !file.problems.is_empty() {
            outcome = Outcome::NotAllDone;
        }
    }
    (files.into_values().flat_map(|file| file.lines).collect(), outcome)
}

/// Prints what of a file is not read.
fn state_file(file: &BillFile) {
    for (line, problem) in file.problems.iter().take(MAX_PROBLEMS) {
        let line = if *line > 0 { format!(":{line}") } else { String::new() };
        complain(format_args!("{}{line}: {problem}", file.path));
    }
    if let more @ 1.. = file.problems.len().saturating_sub(MAX_PROBLEMS) {
        complain(format_args!(
            "{}: {} of {} are not read",
            file.path,
            counted(more, "more line"),
            file.formats.join(", ")
        ));
    }
    for note in &file.notes {
        complain(format_args!("{}: {note}", file.path));
    }
}

fn print_rows(bill: &Bill, printed: args::Printed, settings: &Settings) -> anyhow::Result<()> {
    let rows = bill::rows(bill)?;
    let numbers = numbers(printed, settings);
    let dimensions = bill.by.len();
    let count = rows.height();
    let total = (numbers.is_for_people && count > 1).then(|| bill::total(bill)).transpose()?;
    let rows = match row_limit(printed) {
        Some(limit @ 1..) => rows.head(Some(limit as usize)),
        _ => rows,
    };
    let more = count - rows.height();
    let rows = if numbers.is_for_people { for_people(&rows, dimensions, total.as_ref(), numbers)? } else { rows };
    let has_total = total.is_some() && dimensions > 0;
    let style = ReportStyle { dimensions, has_total, currency: settings.shown_currency() };
    let main = if bill.measure == Measure::Dollars { "bill_usd" } else { "bill_tokens" };
    let roles = Roles { names: Some(dimensions + 1), main: Some(main), ..Roles::default() };
    print(&rows, printed, Layout { roles, report: Some(style), is_long: true, more, ..Layout::default() })?;
    if numbers.is_for_people {
        state_currency(settings);
    }
    Ok(())
}

/// Prints how much of the bill is explained, and what was left out.
fn state(bill: &Bill, currency: Currency) {
    let sums = bill.sums;
    let amount = |amount: f64| match bill.measure {
        Measure::Dollars => currency.amount(amount),
        #[expect(clippy::cast_possible_truncation, reason = "a sum of counts of tokens")]
        Measure::Tokens => counted(amount.round() as i64, "token"),
    };
    let share = sums.share().map_or_else(String::new, |share| format!(" ({:.1} %)", share * 100.0));
    let (first, last) = bill.period;
    let (explained, all) = (amount(sums.explained), amount(sums.bill));
    let (explained, verb) = match bill.measure {
        Measure::Dollars => (explained.as_str(), "is"),
        // The unit follows the second number.
        Measure::Tokens => (explained.split(' ').next().unwrap_or_default(), "are"),
    };
    say(&format!("{explained} of {all} on the bill {verb} explained{share}, {first} to {last}"));
    let parts = parts(&sums, amount);
    if !parts.is_empty() {
        say(&parts.join(", "));
    }
    let Sums { without_amount, unpriced, .. } = sums;
    if without_amount > 0 && bill.measure == Measure::Dollars {
        complain(format_args!("the bill states no cost for {} with tokens", counted(without_amount, "group")));
    }
    if unpriced > 0 {
        complain(format_args!("{} in the logs without a known cost", counted(unpriced, "response")));
    }
    if bill.of_others.responses > 0 {
        let cost = bill.of_others.cost_usd.map_or_else(String::new, |cost| format!(" ({})", currency.amount(cost)));
        let responses = counted(bill.of_others.responses, "response");
        complain(format_args!("{responses}{cost} of other providers than the bill's are not compared"));
    }
    if let Some(sentence) = bill.left_out.stated("row", "time", currency) {
        complain(format_args!("{sentence}: a bill has days"));
    }
    if bill.outside > 0 {
        let lines = grouped(bill.outside);
        complain(format_args!("{lines} of the bill's lines are not within --since and --until"));
    }
}

/// What is not explained, as parts of a sentence.
fn parts(sums: &Sums, amount: impl Fn(f64) -> String) -> Vec<String> {
    let parts = [
        (sums.moved, "of it by the days around"),
        (sums.bill_only, "on the bill only"),
        (sums.logs_only, "in the logs only"),
        (sums.dearer, "more for the same tokens"),
        (sums.cheaper, "less for the same tokens"),
        (sums.no_price, "for usage whose cost in the logs is unknown"),
        (sums.credits, "of credits, which are not part of the bill here"),
    ];
    let stated = parts.into_iter().filter(|(sum, _)| *sum > 0.0);
    stated.map(|(sum, what)| format!("{} {what}", amount(sum))).collect()
}
