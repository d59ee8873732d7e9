//! Definition levels and dictionary keys in parquet's RLE and bit-packed encoding:
//! <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

/// Which rows have a value: the definition levels of a column without nesting.
#[derive(Default)]
pub struct Present {
    /// A bit for each row, of whole groups of 64 rows.
    bits: Vec<u8>,
    /// The bits of the last rows.
    word: u64,
    pub rows: usize,
    /// How many rows have a value.
    pub values: usize,
}

impl Present {
    /// Removes all rows.
    pub fn clear(&mut self) {
        self.fill(0);
    }

    /// Removes all rows and returns the value, with its memory, so that it can be filled in registers.
    pub fn take(&mut self) -> Self {
        let mut present = std::mem::take(self);
        present.clear();
        present
    }

    /// Replaces the rows by this many rows that all have a value.
    pub fn fill(&mut self, rows: usize) {
        self.bits.clear();
        (self.word, self.rows, self.values) = (0, rows, rows);
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, is_present: bool) {
        self.word |= u64::from(is_present) << (self.rows % 64);
        self.rows += 1;
        self.values += usize::from(is_present);
        if self.rows.is_multiple_of(64) {
            self.bits.extend_from_slice(&self.word.to_le_bytes());
            self.word = 0;
        }
    }

    /// A bit for each row that was added, and zeros to the end of the last byte.
    pub fn bits(&mut self) -> &[u8] {
        let length = self.rows.div_ceil(8);
        if self.bits.len() < length {
            self.bits.extend_from_slice(&self.word.to_le_bytes());
        }
        self.bits.get(..length).unwrap_or_default()
    }

    /// Writes the definition levels, after their length.
    pub fn write(&mut self, page: &mut Vec<u8>) {
        let start = page.len();
        page.extend_from_slice(&[0; 4]);
        if self.values == self.rows || self.values == 0 {
            write_varint(page, self.rows << 1);
            page.push(u8::from(self.values > 0));
        } else {
            write_varint(page, self.rows.div_ceil(8) << 1 | 1);
            page.extend_from_slice(self.bits());
        }
        let length = u32::try_from(page.len() - start - 4).unwrap_or(u32::MAX);
        if let Some(prefix) = page.get_mut(start..start + 4) {
            prefix.copy_from_slice(&length.to_le_bytes());
        }
    }
}

/// Writes a number as a varint: seven bits a byte, the lowest first.
fn write_varint(page: &mut Vec<u8>, mut number: usize) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            return page.push(low & 0x7F);
        }
        page.push(low | 0x80);
    }
}

/// Writes keys of `width` bits in parquet's hybrid encoding: a key that is repeated eight times or more as a run, the others bit-packed
/// in groups of eight.
pub fn write_keys(page: &mut Vec<u8>, mut keys: &[u32], width: u32) {
    const RUN: usize = 8;
    while let Some(key) = keys.first() {
        let same = keys.iter().take_while(|other| *other == key).count();
        if same >= RUN {
            write_varint(page, same << 1);
            page.extend(key.to_le_bytes().iter().take(width.div_ceil(8) as usize));
            keys = keys.get(same..).unwrap_or_default();
            continue;
        }
        // Up to the next run that begins where a group of eight ends.
        let is_run = |keys: &[u32]| matches!(keys, [first, rest @ ..] if rest.iter().all(|key| key == first));
        let eights = keys.chunks(RUN).take_while(|keys| keys.len() < RUN || !is_run(keys)).count();
        let (packed, rest) = keys.split_at(keys.len().min(eights * RUN));
        write_varint(page, eights << 1 | 1);
        let (mut word, mut bits) = (0_u64, 0);
        for eight in packed.chunks(RUN) {
            for key in eight.iter().chain(&[0; RUN]).take(RUN) {
                word |= u64::from(*key) << bits;
                bits += width;
                if bits >= u32::BITS {
                    let [a, b, c, d, ..] = word.to_le_bytes();
                    page.extend_from_slice(&[a, b, c, d]);
                    word >>= u32::BITS;
                    bits -= u32::BITS;
                }
            }
        }
        page.extend(word.to_le_bytes().iter().take(bits.div_ceil(8) as usize));
        keys = rest;
    }
}
