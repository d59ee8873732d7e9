//! Facts as they are kept: what each source told before the ledger, one source behind another.
//!
//! They are packed by [`super::pack`], or if they are very many by zstd. A source that has many rows
//! in several sessions is kept in pieces: its sessions, then the source with what is left. So it can be read and settled
//! without all of them in memory at once, unless something links it to another source.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::hash::Hasher as _;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use twox_hash::XxHash3_64;

use super::pack::Packer;
use super::parts::{Checksum, Hashed, Round};
use super::unpack::unpack;
use crate::model::session::SessionResult;
use crate::model::source::Source;

/// Where the facts of the sources of each part stand.
pub const FACTS: &str = "facts";

/// Facts of a part, in bytes as they are kept: some twenty thousand turns. A part that changes is settled whole, in memory, but
/// for sources in pieces that nothing links to others: of those so many bytes at a time.
pub const PART: u64 = 5 << 18;

/// A source of which nothing was put aside is in one piece if it has no more rows.
pub const MANY_ROWS: usize = 50_000;

/// What a row takes packed, or somewhat more.
const ROW_BYTES: usize = 192;

/// How packed facts begin, as no others do.
const PACKED: [u8; 4] = *b"row\xFF";

/// How facts in pieces begin.
const PIECES: [u8; 4] = *b"mny\xFF";

/// How many rows sessions have, of the kinds of which there may be many.
pub fn rows_of(sessions: &[SessionResult]) -> usize {
    sessions.iter().map(|it| it.turns.len() + it.tool_calls.len() + it.events.len()).sum()
}

/// What `take` makes of facts of about so many rows, packed: if they are many by zstd, as they come, so that they never stand in
/// memory as a whole.
pub fn encode<T: Serialize, R>(facts: &T, rows: usize, take: impl FnOnce(&[u8]) -> R) -> io::Result<R> {
    if rows > MANY_ROWS {
        return Ok(take(&encode_as_they_come(facts)?));
    }
    let mut packer = PACKER.take().unwrap_or_default();
    let taken = packer.pack(&PACKED, facts, 1024 + rows * ROW_BYTES).map(take);
    if packer.capacity() <= MOST_ROOM {
        PACKER.set(Some(packer));
    }
    taken.map_err(io::Error::other)
}

thread_local! {
    /// What packed the last facts of the thread: fresh memory costs as much as the packing.
    static PACKER: Cell<Option<Box<Packer>>> = const { Cell::new(None) };
}

/// If there is more room in it, it is not kept.
const MOST_ROOM: usize = 1 << 20;

fn encode_as_they_come<T: Serialize>(facts: &T) -> io::Result<Vec<u8>> {
    // zstd takes as long for a byte as for many.
    let mut out = BufWriter::new(zstd::Encoder::new(Vec::new(), 1)?);
    rmp_serde::encode::write(&mut out, facts).map_err(io::Error::other)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}

/// Facts as [`encode`] wrote them. Those of earlier versions are read as well: `MessagePack` by zstd or LZ4, with the names of the
/// fields or without. Structures may have fewer fields at their end.
pub fn decode<T: DeserializeOwned + Sound>(bytes: &[u8]) -> io::Result<T> {
    let facts: T = decode_any(bytes)?;
    if facts.is_sound() { Ok(facts) } else { Err(damaged("a row of no turn or call")) }
}

/// Facts whose rows point at each other.
pub trait Sound {
    /// Whether they point at rows that there are.
    fn is_sound(&self) -> bool;
}

impl Sound for SessionResult {
    fn is_sound(&self) -> bool {
        let is_turn = |it: Option<usize>| it.is_none_or(|it| it < self.turns.len());
        let is_call = |it: Option<usize>| it.is_none_or(|it| it < self.tool_calls.len());
        self.tool_calls.iter().all(|it| is_turn(it.turn.get()))
            && self.events.iter().all(|it| is_turn(it.turn))
            && self.file_changes.iter().all(|it| is_call(it.call))
    }
}

impl Sound for Source {
    fn is_sound(&self) -> bool {
        self.sessions.iter().all(Sound::is_sound)
    }
}

fn decode_any<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    /// How many times as much LZ4 can give as it takes.
    const RATIO: usize = 256;
    if let Some(packed) = bytes.strip_prefix(&PACKED) {
        return unpack(packed).map_err(damaged);
    }
    if bytes.starts_with(&zstd::zstd_safe::MAGICNUMBER.to_le_bytes()) {
        let bytes = BufReader::new(zstd::Decoder::with_buffer(bytes)?);
        return rmp_serde::from_read(bytes).map_err(damaged);
    }
    let Some((length, packed)) = bytes.split_first_chunk() else { return Err(damaged("no facts")) };
    let length = u32::from_le_bytes(*length);
    let bytes = match i32::try_from(length) {
        Ok(it) if length as usize <= packed.len().saturating_mul(RATIO) => {
            lz4::block::decompress(packed, Some(it)).map_err(damaged)?
        }
        _ => return Err(damaged("more facts than there can be")),
    };
    rmp_serde::from_slice(&bytes).map_err(damaged)
}

fn damaged(error: impl Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// Of a source's facts as they are stored, so that damage of one source is told from damage of its neighbours.
#[expect(clippy::cast_possible_truncation, reason = "half of a hash is enough to find damage")]
pub fn checksum(bytes: &[u8]) -> u32 {
    XxHash3_64::oneshot(bytes) as u32
}

/// A source whose facts are at a place of a file; of one in pieces what `all` makes of them.
pub fn read(
    file: &mut File,
    offset: u64,
    length: u64,
    all: impl Fn(&Pieces, &mut File) -> io::Result<Source>,
) -> io::Result<Source> {
    match Pieces::read(file, offset, length)? {
        Some(pieces) => all(&pieces, file),
        None => decode(&read_at(file, offset, length)?),
    }
}

/// All sources in a file of facts, where the index that lists their places was lost. The file itself must be intact.
///
/// # Errors
/// When it cannot be read, or is of an earlier version, whose facts do not show where they begin.
pub fn scan(file: &mut File) -> io::Result<Vec<Source>> {
    let length = file.metadata()?.len();
    let bytes = read_at(file, 0, length)?;
    let zstd = zstd::zstd_safe::MAGICNUMBER.to_le_bytes();
    let is_start = |four: &[u8]| [PACKED, PIECES, zstd].iter().any(|mark| four == mark);
    let windows = bytes.windows(PACKED.len()).enumerate();
    let mut starts = windows.filter(|(_, four)| is_start(four)).map(|(at, _)| at as u64);
    if length > 0 && starts.next() != Some(0) {
        return Err(damaged("facts without a mark where they begin"));
    }
    let mut sources = Vec::new();
    let mut offset = 0;
    // Such a mark may also be inside of facts: those before it are not whole then.
    for end in starts.chain([length]) {
        if let Ok(source) = read(file, offset, end - offset, Pieces::load) {
            sources.push(source);
            offset = end;
        }
    }
    if offset == length { Ok(sources) } else { Err(damaged("facts that end within a source")) }
}

/// A stretch of a file.
pub fn read_at(file: &mut File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    /// A length may be damaged: what is not there takes no more memory.
    const MOST: u64 = 1 << 24;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(MOST)).unwrap_or(0));
    file.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The places of a source's pieces in a file. The last is the source itself, with what sessions are left.
#[derive(Debug)]
pub struct Pieces(Vec<Piece>);

/// One of them.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
    /// Pieces whose sessions may meet in the ledger have the same number.
    pub group: usize,
}

impl Pieces {
    /// Those that stand in a file in these places.
    pub const fn new(pieces: Vec<Piece>) -> Self {
        Self(pieces)
    }

    /// Those of the facts that begin at `offset`; none if they are not in pieces.
    pub fn read(file: &mut File, offset: u64, length: u64) -> io::Result<Option<Self>> {
        const START: u64 = 8;
        let start = read_at(file, offset, START.min(length))?;
        let Some(rest) = start.strip_prefix(&PIECES) else { return Ok(None) };
        let Ok(header) = rest.try_into().map(u32::from_le_bytes) else { return Err(damaged("no pieces")) };
        let header = u64::from(header).min(length - START);
        let listed: Vec<(u64, usize)> =
            rmp_serde::from_slice(&read_at(file, offset + START, header)?).map_err(damaged)?;
        let mut at = offset + START + header;
        let mut pieces = Vec::with_capacity(listed.len());
        for (length, group) in listed {
            pieces.push(Piece { offset: at, length, group });
            at = at.checked_add(length).ok_or_else(|| damaged("pieces of no length"))?;
        }
        if Some(at) == offset.checked_add(length) && !pieces.is_empty() {
            Ok(Some(Self(pieces)))
        } else {
            Err(damaged("pieces that are not all of it"))
        }
    }

    /// The source with all of its sessions.
    pub fn load(&self, file: &mut File) -> io::Result<Source> {
        let (mut source, pieces) = self.parts(file)?;
        let own = std::mem::take(&mut source.sessions);
        source.sessions = sessions(file, pieces)?;
        source.sessions.extend(own);
        Ok(source)
    }

    /// The source without the sessions in other pieces, which can be read as well.
    pub fn check(&self, file: &mut File) -> io::Result<Source> {
        let (source, pieces) = self.parts(file)?;
        for it in pieces {
            sessions(file, std::slice::from_ref(it))?;
        }
        Ok(source)
    }

    /// The source several times, each with the sessions of some groups, together about as large as a part; the last with those
    /// that stand in the source itself.
    pub fn rounds(self, mut file: File) -> io::Result<impl Iterator<Item = io::Result<Round>>> {
        let (mut source, pieces) = self.parts(&mut file)?;
        let mut own = std::mem::take(&mut source.sessions);
        let last = self.0.last().map_or(0, |it| it.group);
        let mut groups: BTreeMap<usize, Vec<Piece>> = BTreeMap::new();
        for piece in pieces {
            groups.entry(piece.group).or_default().push(*piece);
        }
        let left = groups.remove(&last).unwrap_or_default();
        let mut rounds: Vec<Vec<Piece>> = Vec::new();
        let mut length = 0;
        for group in groups.into_values() {
            let own: u64 = group.iter().map(|it| it.length).sum();
            if let Some(round) = rounds.last_mut().filter(|_| length < PART) {
                round.extend(group);
                length += own;
            } else {
                rounds.push(group);
                length = own;
            }
        }
        let others = rounds.len();
        Ok(rounds.into_iter().chain([left]).enumerate().map(move |(round, pieces)| {
            let mut sessions = sessions(&mut file, &pieces)?;
            let has_more = round != others;
            if !has_more {
                sessions.append(&mut own);
            }
            Ok(Round { sources: vec![Source { sessions, ..source.clone() }], has_more })
        }))
    }

    /// The source itself, and the other pieces.
    fn parts(&self, file: &mut File) -> io::Result<(Source, &[Piece])> {
        let Some((last, pieces)) = self.0.split_last() else { return Err(damaged("no facts")) };
        Ok((decode(&read_at(file, last.offset, last.length)?)?, pieces))
    }
}

fn sessions(file: &mut File, pieces: &[Piece]) -> io::Result<Vec<SessionResult>> {
    pieces.iter().map(|it| decode(&read_at(file, it.offset, it.length)?)).collect()
}

/// Where the facts of a source are in the file of their part.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Where they begin, in bytes.
    pub offset: u64,
    /// How long they are, in bytes.
    pub length: u64,
    /// See [`checksum`].
    pub checksum: u32,
}

/// The facts of a part, written one by one as they are loaded: nobody needs them again until then.
pub struct Facts {
    file: Hashed,
    /// The place of each source's facts.
    places: Vec<Place>,
}

impl Facts {
    /// A new file for the facts of a part.
    pub fn create(folder: &Path, name: &str) -> io::Result<Self> {
        Ok(Self { file: Hashed::create(&folder.join(FACTS).join(name))?, places: Vec::new() })
    }

    /// Adds the facts of a source, as they are kept.
    pub fn add(&mut self, encoded: &[u8]) -> io::Result<()> {
        let (offset, length) = (self.file.written(), encoded.len() as u64);
        self.places.push(Place { offset, length, checksum: checksum(encoded) });
        self.file.write_all(encoded)
    }

    /// Adds the facts of a source that stand in pieces in a file.
    #[expect(clippy::cast_possible_truncation, reason = "as in `checksum`")]
    pub fn add_pieces(&mut self, from: &mut File, pieces: &Pieces) -> io::Result<()> {
        let offset = self.file.written();
        let listed: Vec<(u64, usize)> = pieces.0.iter().map(|it| (it.length, it.group)).collect();
        let listed = rmp_serde::to_vec(&listed).map_err(io::Error::other)?;
        let length = u32::try_from(listed.len()).map_err(io::Error::other)?;
        let mut hash = XxHash3_64::new();
        let mut add = |bytes: &[u8]| {
            hash.write(bytes);
            self.file.write_all(bytes)
        };
        add(&PIECES)?;
        add(&length.to_le_bytes())?;
        add(&listed)?;
        for it in &pieces.0 {
            add(&read_at(from, it.offset, it.length)?)?;
        }
        let length = self.file.written() - offset;
        self.places.push(Place { offset, length, checksum: hash.finish() as u32 });
        Ok(())
    }

    /// What the file holds, and the place of each source's facts, in the order in which they were given.
    pub fn finish(self) -> io::Result<(Checksum, Vec<Place>)> {
        Ok((self.file.finish(self.places.len())?, self.places))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::common::builder::Content;
    use crate::adapters::{Hints, parse};
    use crate::model::name::Name;
    use crate::model::session::Identity;

    fn source() -> Source {
        let log = include_bytes!("../../../sample-logs/claude-transcript/with-a-subagent.jsonl");
        let parsed = parse(log, Hints::default(), Content::Full);
        assert!(!parsed.sessions.is_empty());
        Source {
            path: "a".to_owned(),
            forgets: true,
            sessions: parsed.sessions,
            health: parsed.health,
            ..Source::default()
        }
    }

    #[test]
    fn facts_are_read_as_they_were_kept() {
        let source = source();
        let read = |bytes: &[u8]| decode::<Source>(bytes).unwrap();
        assert_eq!(read(&encode(&source, 9, <[u8]>::to_vec).unwrap()), source);
        assert_eq!(read(&encode_as_they_come(&source).unwrap()), source);
        // By LZ4, as before.
        let plain = rmp_serde::to_vec(&source).unwrap();
        assert_eq!(read(&lz4::block::compress(&plain, None, true).unwrap()), source);
        // By their names, as before that.
        let named = zstd::bulk::compress(&rmp_serde::to_vec_named(&source).unwrap(), 1).unwrap();
        assert_eq!(read(&named), source);
    }

    /// One byte of facts is another one, at each place: they are read or refused.
    #[test]
    fn facts_with_a_broken_byte_are_read_or_refused() {
        let whole = source();
        let packed = encode(&whole, 9, <[u8]>::to_vec).unwrap();
        // Another log has the same responses: those of one of them are given away.
        let mut other = Source { path: "b".to_owned(), ..whole };
        other.sessions.iter_mut().for_each(|it| it.session_id += "b");
        let mut refused = 0;
        for place in 0..packed.len() {
            for byte in [0, 0x7f, 0x80, 0x8f, 0xc1, 0xe5, 0xed, 0xee, 0xf1, 0xf5, 0xf8, 0xff, packed[place] ^ 1] {
                let mut broken = packed.clone();
                broken[place] = byte;
                match decode::<Source>(&broken) {
                    Ok(it) => drop(crate::ledger::settle(vec![it, other.clone()])),
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(refused > packed.len());
    }

    /// Earlier versions kept names as texts, each with its kind.
    #[test]
    fn names_are_read_as_they_are_and_were_kept() {
        #[derive(Serialize)]
        enum Earlier {
            Unique,
            Session(&'static str),
            Global(&'static str),
            Thread(&'static str, &'static str),
        }
        let long = "x".repeat(300).leak();
        for (identity, earlier) in [
            (Identity::Unique, Earlier::Unique),
            (Identity::Session("a".into()), Earlier::Session("a")),
            (Identity::Global("msg_1".into()), Earlier::Global("msg_1")),
            (Identity::Global(Name::new(long)), Earlier::Global(long)),
            (Identity::Thread("t".into(), "a b".into()), Earlier::Thread("t", "a b")),
        ] {
            assert_eq!(unpack::<Identity>(Packer::default().pack(&[], &identity, 0).unwrap()).unwrap(), identity);
            let bytes = rmp_serde::to_vec(&identity).unwrap();
            for bytes in [bytes, rmp_serde::to_vec(&earlier).unwrap(), rmp_serde::to_vec_named(&earlier).unwrap()] {
                assert_eq!(rmp_serde::from_slice::<Identity>(&bytes).unwrap(), identity);
                assert_eq!(rmp_serde::from_read::<_, Identity>(&*bytes).unwrap(), identity);
            }
        }
        for broken in [&[0xc4, 2, 1, 1][..], &[7], &[0xa1, b'x'], &[0x81, 0xa1, b'x', 0xa0]] {
            assert!(rmp_serde::from_slice::<Identity>(broken).is_err(), "{broken:?}");
        }
    }

    /// Pieces are found again, and what only begins like them is refused.
    #[test]
    fn pieces_are_all_of_it_or_none() {
        let source = source();
        let session = &source.sessions[0];
        let packed = |number: usize| encode(session, number, <[u8]>::to_vec).unwrap();
        let own = encode(&Source { sessions: Vec::new(), ..source.clone() }, 9, <[u8]>::to_vec).unwrap();
        let listed = [(packed(1).len() as u64, 0), (packed(2).len() as u64, 1), (own.len() as u64, 2_usize)];
        let kept = |listed: &[(u64, usize)]| {
            let listed = rmp_serde::to_vec(listed).unwrap();
            let length = u32::try_from(listed.len()).unwrap().to_le_bytes();
            [&b"before"[..], &PIECES, &length, &listed, &packed(1), &packed(2), &own].concat()
        };
        let read = |bytes: &[u8], length: u64| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            (Pieces::read(&mut file, 6, length), file)
        };
        let whole = kept(&listed);
        let length = whole.len() as u64 - 6;
        let (pieces, mut file) = read(&whole, length);
        let pieces = pieces.unwrap().unwrap();
        let all = Source { sessions: vec![session.clone(), session.clone()], ..source };
        assert_eq!(pieces.load(&mut file).unwrap(), all);
        let rounds = pieces.rounds(file).unwrap().map(|it| it.map(|it| (it.sources[0].sessions.len(), it.has_more)));
        assert_eq!(rounds.collect::<io::Result<Vec<_>>>().unwrap(), [(2, true), (0, false)]);
        let mut other = listed;
        other[0].0 += 1;
        let mut huge = listed;
        huge[1].0 = u64::MAX;
        for (bytes, length) in [
            (kept(&other), length),
            (kept(&huge), kept(&huge).len() as u64 - 6),
            (kept(&[]), kept(&[]).len() as u64 - 6),
            (whole.clone(), length - 1),
            (whole.clone(), u64::MAX),
            (whole[..20].to_vec(), length),
            (whole[..12].to_vec(), 6),
        ] {
            assert!(read(&bytes, length).0.is_err());
        }
        assert!(read(b"before and no pieces", 14).0.unwrap().is_none());
    }

    /// A field that came to the end of a structure has its default in facts that were kept before.
    #[test]
    fn facts_may_have_fewer_fields() {
        let turn = &source().sessions[0].turns[0];
        let bytes = rmp_serde::to_vec(turn).unwrap();
        let mut values: Vec<serde::de::IgnoredAny> = rmp_serde::from_slice(&bytes).unwrap();
        let count = values.len();
        values.clear();
        // The last value is a flag of one byte; an array of more than 15 has its length in the two bytes behind the first.
        let mut short = bytes[..bytes.len() - 1].to_vec();
        assert_eq!((short[0], usize::from(u16::from_be_bytes([short[1], short[2]]))), (0xdc, count));
        short[2] -= 1;
        let read: crate::model::session::Turn = rmp_serde::from_slice(&short).unwrap();
        assert_eq!(read, crate::model::session::Turn { is_of_killed: false, ..(**turn).clone() });
    }
}
