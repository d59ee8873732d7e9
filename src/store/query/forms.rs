//! The forms in which times are written as texts.

/// A form of `STRFTIME` for polars, which writes some parts of a time in another way than DuckDB.
pub(super) fn form_of(form: &str) -> String {
    let mut translated = String::with_capacity(form.len());
    let mut rest = form.chars();
    while let Some(character) = rest.next() {
        if character != '%' {
            translated.push(character);
            continue;
        }
        let Some(part) = rest.next() else {
            translated.push('%');
            break;
        };
        match part {
            // Milliseconds, microseconds and nanoseconds.
            'g' => translated.push_str("%3f"),
            'f' => translated.push_str("%6f"),
            'n' => translated.push_str("%9f"),
            'c' => translated.push_str("%Y-%m-%d %H:%M:%S"),
            'x' => translated.push_str("%Y-%m-%d"),
            // Times are in UTC here.
            'z' => translated.push_str("+00"),
            part => translated.extend(['%', part]),
        }
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_duckdb() {
        for (form, expected) in [
            ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S"),
            ("%f %g%n", "%6f %3f%9f"),
            ("%%f %%%f", "%%f %%%6f"),
            ("%c|%x", "%Y-%m-%d %H:%M:%S|%Y-%m-%d"),
            ("%-d %", "%-d %"),
        ] {
            assert_eq!(form_of(form), expected);
        }
    }
}
