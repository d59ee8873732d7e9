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
}
