//! Numbers as people read them.

/// A whole number with a comma between thousands: `1,234,567`.
pub fn grouped(number: impl std::fmt::Display) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && !out.ends_with('-') {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things, with the plural of the noun: `1 file`, `2 files`.
pub fn counted(number: impl std::fmt::Display, thing: &str) -> String {
    let number = grouped(number);
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// The same with a verb: `1 file is`, `2 files are`.
pub fn are(number: usize, thing: &str) -> String {
    format!("{} {}", counted(number, thing), if number == 1 { "is" } else { "are" })
}

/// Smaller differences are those of floating point: numbers below this one are shown as 0.
pub(super) const LEAST: f64 = 1e-9;

/// The most decimal places of a number.
const MOST_PLACES: usize = 12;

/// A number with so many decimal places. One that is rounded to 0 has no sign.
pub(super) fn fixed(number: f64, places: usize) -> String {
    let text = format!("{number:.places$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|byte| matches!(byte, b'0' | b'.')) => digits.to_owned(),
        _ => text,
    }
}

/// Whether a number is not 0, and would be shown as 0 with so many decimal places.
pub(super) fn is_tiny(number: f64, places: usize) -> bool {
    number.abs() >= LEAST && number.abs() < power_of_ten(-places_as_power(places)) / 2.0
}

/// What a number that [`is_tiny`] is shown as: `<0.01` and `>-0.01`. `least` is the smallest number with as many decimal places.
pub(super) fn bound_of(number: f64, least: &str) -> String {
    if number < 0.0 { format!(">-{least}") } else { format!("<{least}") }
}

/// The decimal places of a number with its first three digits, not counting zeros: 8 of 0.00000213.
pub(super) fn significant_places(number: f64) -> usize {
    let before = |places: &usize| number.abs() * power_of_ten(places_as_power(*places)) < 1.0;
    (0..MOST_PLACES - 2).take_while(before).count() + 2
}

fn places_as_power(places: usize) -> i32 {
    i32::try_from(places).unwrap_or(i32::MAX)
}

fn power_of_ten(power: i32) -> f64 {
    10_f64.powi(power)
}

/// An abbreviated number: `3.1M`.
pub fn short(number: i128) -> String {
    scaled(number, &["", "k", "M", "B", "T"])
}

/// An abbreviated number of bytes: `2.0 MB`.
pub(super) fn short_bytes(number: i128) -> String {
    scaled(number, &[" B", " kB", " MB", " GB", " TB"])
}

fn scaled(number: i128, units: &[&str]) -> String {
    let mut value = number as f64;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    if value.abs() < 1000.0 {
        return format!("{number}{unit}");
    }
    for next in units {
        // From here on, the next unit would be shown as 1000.0.
        if value.abs() < 999.95 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{value:.1}{unit}")
}

/// Abbreviated milliseconds: `4m 10s`.
pub fn short_time(ms: i128) -> String {
    if ms < 0 {
        return format!("-{}", short_time(ms.saturating_neg()));
    }
    let seconds = ms / 1000;
    match seconds {
        _ if ms < 1000 => format!("{ms}ms"),
        ..60 => format!("{}.{}s", seconds, ms % 1000 / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// A share between 0 and 1 as a bar of at most eight cells.
pub(super) fn bar(share: f64, is_ascii: bool) -> String {
    if is_ascii {
        return "#".repeat((1..=8_u8).take_while(|count| f64::from(*count) - 0.5 <= share * 8.0).count());
    }
    let eighths = (1..=64_u8).take_while(|count| f64::from(*count) - 0.5 <= share * 64.0).count();
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(eighths % 8).copied().unwrap_or_default();
    "█".repeat(eighths / 8) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_and_verbs_agree_with_their_number() {
        assert_eq!([are(1, "file"), are(1200, "file")], ["1 file is", "1,200 files are"]);
    }

    #[test]
    fn a_number_that_is_rounded_to_zero_has_no_sign() {
        assert_eq!([fixed(-0.04, 1), fixed(-0.06, 1), fixed(0.0, 2)], ["0.0", "-0.1", "0.00"]);
        assert_eq!(
            [is_tiny(0.004, 2), is_tiny(0.006, 2), is_tiny(0.0, 2), is_tiny(1e-12, 2)],
            [true, false, false, false]
        );
        assert_eq!([0.5, 0.05, 0.000_002_13, 1e-30].map(significant_places), [3, 4, 8, 12]);
    }
}
