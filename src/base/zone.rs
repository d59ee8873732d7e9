//! Time zones by their specifications, as `TZ` has them.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

use super::time::Time;

/// Where systems keep their own zone.
const LOCALTIME: &str = "/etc/localtime";
/// Where systems keep the zones of IANA.
const ZONEINFO: &str = "/usr/share/zoneinfo/";
/// The size of the largest file of a zone. The largest of IANA has 4 kB.
const MAX_FILE: u64 = 1 << 20;

/// The zone of a specification: a name of IANA (`Europe/Berlin`), an offset (`+05:30`), a rule of POSIX (`JST-9`, `<+09>-9`,
/// `CET-1CEST,M3.5.0,M10.5.0/3`), or the path of a file of rules, also after a colon. `None` for other values.
pub fn zone(specification: &str) -> Option<TimeZone> {
    let specification = specification.trim();
    let path = specification.strip_prefix(':').unwrap_or(specification);
    if path.starts_with('/') {
        return of_file(path);
    }
    // Without its own name a rule would be mistaken for a name: jiff reads files of this name.
    let by_name = || TimeZone::get(path).ok();
    of_offset(path).or_else(by_name).or_else(|| TimeZone::posix(path).ok())
}

/// As [`zone`], without the rules of POSIX: their offsets have the opposite sign of what people expect, so that they are for `TZ` only.
pub fn named_zone(specification: &str) -> Option<TimeZone> {
    let is_rule = !specification.starts_with(['+', '-', '/', ':']) && TimeZone::get(specification).is_err();
    if is_rule { None } else { zone(specification) }
}

/// A time in the zone of a specification; `None` if there is no such zone.
pub fn in_zone(time: Timestamp, specification: &str) -> Option<Zoned> {
    Some(time.to_zoned(zone(specification)?))
}

/// A time in a zone of IANA that a log names: no other specification, and no file.
pub fn in_zone_of_iana(time: Time, name: &str) -> Option<Zoned> {
    let is_name = name.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    let zone = is_name.then(|| TimeZone::get(name).ok())??;
    Some(Timestamp::from_microsecond(time.micros()).ok()?.to_zoned(zone))
}

/// The specification of this machine's zone: `variable` is the value of `TZ`. It may not exist: see [`zone`].
pub fn of_system(variable: Option<&str>) -> String {
    if let Some(specification) = variable {
        return specification.to_owned();
    }
    let system = TimeZone::try_system().ok();
    match system.as_ref().and_then(TimeZone::iana_name) {
        Some(name) => name.to_owned(),
        // A plain file, as in containers, has rules and no name.
        None if zone(LOCALTIME).is_some() => LOCALTIME.to_owned(),
        None => "UTC".to_owned(),
    }
}

/// `+05:30`, `-03:00`, `+0530`, `+05`.
fn of_offset(text: &str) -> Option<TimeZone> {
    let (sign, digits) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(digits), _) => (1, digits),
        (_, Some(digits)) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match (digits.split_once(':'), digits.len()) {
        (Some((hours, minutes)), 5) => (hours, minutes),
        (None, 4) => digits.split_at_checked(2)?,
        (None, 2) => (digits, "00"),
        _ => return None,
    };
    if ![hours, minutes].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let [hours, minutes]: [i32; 2] = [hours.parse().ok()?, minutes.parse().ok()?];
    if !(0..=14).contains(&hours) || !(0..60).contains(&minutes) {
        return None;
    }
    Some(Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()?.to_time_zone())
}

/// The zone of a file: by the name of IANA in its path, else by its rules.
fn of_file(path: &str) -> Option<TimeZone> {
    if let Some(name) = path.strip_prefix(ZONEINFO)
        && let Ok(zone) = TimeZone::get(name)
    {
        return Some(zone);
    }
    let mut rules = Vec::new();
    let file = Path::new(path).is_file().then(|| File::open(path).ok())??;
    file.take(MAX_FILE).read_to_end(&mut rules).ok()?;
    TimeZone::tzif(path, &rules).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The local time of 2026-10-05 20:00 UTC.
    fn local(specification: &str) -> Option<String> {
        let time = "2026-10-05T20:00:00Z".parse().unwrap();
        in_zone(time, specification).map(|time| time.strftime("%F %H:%M").to_string())
    }

    #[test]
    fn zones_have_names_offsets_rules_and_files() {
        for (specification, expected) in [
            ("Asia/Tokyo", "2026-10-06 05:00"),
            ("UTC", "2026-10-05 20:00"),
            ("JST-9", "2026-10-06 05:00"),
            ("<+09>-9", "2026-10-06 05:00"),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-05 22:00"),
            (":Asia/Tokyo", "2026-10-06 05:00"),
            ("/usr/share/zoneinfo/Asia/Tokyo", "2026-10-06 05:00"),
            (":/usr/share/zoneinfo/Asia/Tokyo", "2026-10-06 05:00"),
            ("+05:30", "2026-10-06 01:30"),
            ("-0300", "2026-10-05 17:00"),
            ("+14", "2026-10-06 10:00"),
        ] {
            assert_eq!(local(specification).as_deref(), Some(expected), "{specification}");
        }
        for unknown in ["Mars/Olympus", "/no/such/file", "+25:00", "+5", "+05:3", "", "-", "++5:30", "++530"] {
            assert_eq!(local(unknown), None, "{unknown:?}");
        }
    }

    /// Version 2 of the format of RFC 8536: no transitions, and a rule at the end.
    #[test]
    fn a_file_of_rules_needs_no_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("localtime");
        let header =
            [b"TZif2".as_slice(), &[0; 15], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4]];
        let header = header.concat();
        let zone = [&32_400_i32.to_be_bytes()[..], &[0, 0], b"JST\0"].concat();
        std::fs::write(&path, [&header[..], &zone, &header, &zone, b"\nJST-9\n"].concat()).unwrap();
        assert_eq!(local(path.to_str().unwrap()).as_deref(), Some("2026-10-06 05:00"));
        std::fs::write(&path, "no rules").unwrap();
        assert_eq!(local(path.to_str().unwrap()), None);
    }

    #[test]
    fn rules_are_for_the_variable_only() {
        assert!(named_zone("UTC+2").is_none() && named_zone("JST-9").is_none());
        assert!(named_zone("Asia/Tokyo").is_some() && named_zone("+02:00").is_some());
    }

    #[test]
    fn the_variable_decides() {
        assert_eq!(of_system(Some("Mars/Olympus")), "Mars/Olympus");
        assert!(zone(&of_system(None)).is_some());
    }
}
