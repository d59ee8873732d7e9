//! Numbers: one parser for the usual ones, one for all.

/// A number in a log.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    /// A whole number.
    Integer(i64),
    /// A number with a fraction or an exponent, or beyond 64 bits.
    Float(f64),
}

/// A usual number and its length: without sign and exponent, followed by another token. Up to 15 digits are read eight at a time.
#[inline]
pub(super) fn usual_number(text: &[u8]) -> Option<(Number, usize)> {
    const MAX_DIGITS: usize = 15;
    let is_end = |at: usize| matches!(text.get(at), Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r'));
    let (whole, length) = digits(text)?;
    if length == 0 || length > MAX_DIGITS {
        return None;
    }
    if is_end(length) {
        return Some((Number::Integer(whole), length));
    }
    let [b'.', rest @ ..] = text.get(length..)? else { return None };
    let (number, end) = match digits(rest) {
        Some((fraction, places)) if length + places <= MAX_DIGITS => {
            let power = POWERS.get(places)?;
            // Exact: each has fewer digits than a floating point number can hold.
            ((whole as f64 * power + fraction as f64) / power, length + 1 + places)
        }
        _ => fast_float2::parse_partial(text).ok()?,
    };
    is_end(end).then_some((Number::Float(number), end))
}

/// The value of the digits at the beginning of a text, and how many there are: fewer than 16. `None` if the text is too short to
/// read eight bytes at a time.
#[inline]
fn digits(text: &[u8]) -> Option<(i64, usize)> {
    const TENS: [i64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    let (first, count) = eight_digits(*text.first_chunk()?);
    if count < 8 {
        return Some((first, count));
    }
    let (second, more) = eight_digits(*text.get(8..)?.first_chunk()?);
    Some((first * TENS.get(more)? + second, 8 + more))
}

/// The value of the digits at the beginning of eight bytes, and how many there are.
#[inline]
fn eight_digits(bytes: [u8; 8]) -> (i64, usize) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let values = u64::from_le_bytes(bytes) ^ (EACH * 0x30);
    // Bytes other than digits have a high bit, before or after 6 is added. A carry only reaches later bytes.
    let others = (values | values.wrapping_add(EACH * 6)) & (EACH * 0xF0);
    let count = others.trailing_zeros() / 8;
    if count == 0 {
        return (0, 0);
    }
    // The first digit is in the lowest byte: the shift puts zeros before it and removes the bytes after the digits.
    let values = values << (64 - 8 * count);
    // Combine neighbours: numbers of two digits, of four, of eight.
    let values = (values.wrapping_mul(10) + (values >> 8)) & 0x00FF_00FF_00FF_00FF;
    let values = (values.wrapping_mul(100) + (values >> 16)) & 0x0000_FFFF_0000_FFFF;
    let value = (values.wrapping_mul(10_000) + (values >> 32)) & 0xFFFF_FFFF;
    (value.cast_signed(), count as usize)
}

/// Powers of ten. They and whole numbers below 2^53 are exact in floating point: their quotient is rounded once.
const POWERS: [f64; 15] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

/// Any number, which fills all of `text`. `None` if it is not a number.
pub(super) fn any_number(text: &[u8]) -> Option<Number> {
    if !text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
        && let Some(number) = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok())
    {
        return Some(Number::Integer(number));
    }
    // Beyond 64 bits, a fraction or an exponent. `1e400` becomes infinity, which no field accepts.
    fast_float2::parse(text).ok().map(Number::Float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::from_slice;

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for whole in ["0", "-0", "7", "-31", "9007199254740993", "18446744073709551616"] {
            for fraction in ["", ".0", ".5", ".0000000000000000000000001"] {
                for exponent in ["", "e0", "E+5", "e-7", "e308", "e400", "e-400"] {
                    let text = format!("{whole}{fraction}{exponent}");
                    let (read, known): (Option<f64>, Option<f64>) =
                        (from_slice(text.as_bytes()).ok(), text.parse().ok());
                    assert_eq!(read, known, "{text}");
                    // A whole number has no `-0`.
                    let is_whole = fraction.is_empty() && exponent.is_empty();
                    assert!(is_whole || read.map(f64::to_bits) == known.map(f64::to_bits), "{text}");
                }
            }
        }
    }

    #[test]
    fn decimal_fractions_are_those_of_the_standard_library() {
        let mut digits = 1_u64;
        for _ in 0..20_000 {
            digits = digits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let text = digits.to_string();
            for length in 1..=text.len() {
                let point = (digits >> 60) as usize % length;
                let text = format!("{}.{}", &text[..point.max(1)], &text[point..length]);
                assert_eq!(
                    from_slice::<f64>(text.as_bytes()).ok().map(f64::to_bits),
                    text.parse().ok().map(f64::to_bits),
                    "{text}"
                );
            }
        }
    }

    /// Whatever follows it.
    #[test]
    fn a_number_in_its_place_is_the_number_by_itself() {
        let mut digits = 1_u64;
        for round in 0..20_000_usize {
            digits = digits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut text = format!("{digits:020}").split_off(round % 20);
            if round % 3 > 0 {
                text.insert(round / 5 % text.len(), ['.', 'x', '-', 'e', ' ', '/', ':', '\u{1}'][round / 3 % 8]);
            }
            for after in [",\"text\"", "}}}}}}}}}}", "]", "", " ", "7", "e", "\u{fa}", "0.1,0.1,0.1"] {
                let whole = format!("{text}{after}");
                if let Some(usual) = usual_number(whole.as_bytes()) {
                    let end = whole.find([',', '}', ']', ' ']).unwrap_or(whole.len());
                    let expected = any_number(&whole.as_bytes()[..end]).map(|number| (number, end));
                    assert_eq!(printed(Some(usual)), printed(expected), "{whole}");
                }
            }
            let is_usual = usual_number(format!("{text},\"after\"").as_bytes()).is_some();
            assert!(is_usual || round % 3 > 0 || text.len() > 15, "{text}");
        }
        let usual = |it: &str| printed(usual_number(it.as_bytes()));
        assert_eq!(usual("0.000123,      "), Some(("Float(0.000123)".to_owned(), 8)));
        assert_eq!(usual("1234567890.12345,        "), Some(("Float(1234567890.12345)".to_owned(), 16)));
        assert_eq!(usual("200000}}}}"), Some(("Integer(200000)".to_owned(), 6)));
        assert_eq!(usual("0.0051329999999999995,"), Some(("Float(0.0051329999999999995)".to_owned(), 21)));
    }

    fn printed(number: Option<(Number, usize)>) -> Option<(String, usize)> {
        number.map(|(number, length)| (format!("{number:?}"), length))
    }
}
