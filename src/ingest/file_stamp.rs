//! How a later run recognises a file: whether it is unchanged, and whether it grew.

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::base::hash;
use crate::base::time::Time;
use crate::model::source::{Source, SourceStatus};

/// What an archive keeps of a file to recognise it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Its size on disk.
    pub bytes: i64,
    /// When it was last written.
    pub modified_at: Option<Time>,
    /// Hash of the options that it was read with.
    pub options: u64,
    /// What became of it.
    pub status: SourceStatus,
    /// Hash of its decompressed bytes.
    #[serde(with = "hexadecimal")]
    pub content_hash: Option<u128>,
    /// Whether it is compressed.
    pub is_compressed: bool,
}

impl FileStamp {
    /// The stamp of a file that was read.
    pub fn of(source: &Source) -> Self {
        Self {
            bytes: source.bytes,
            modified_at: source.modified_at,
            options: hash_of_options(&source.options),
            status: source.status,
            content_hash: source.content_hash.as_deref().and_then(hash::of_hexadecimal),
            is_compressed: source.compression.is_some(),
        }
    }

    /// The number of bytes that the file contained; `None` if it is compressed.
    pub(super) fn length(&self) -> Option<usize> {
        usize::try_from(self.bytes).ok().filter(|_| !self.is_compressed)
    }
}

/// The hash of the options that a file is read with, for [`FileStamp::options`].
pub(super) fn hash_of_options(options: &str) -> u64 {
    XxHash3_64::oneshot(options.as_bytes())
}

/// A hash, which is stored as text.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::base::hash;

    #[expect(clippy::ref_option, reason = "serde passes it like this")]
    pub fn serialize<S: Serializer>(hash: &Option<u128>, serializer: S) -> Result<S::Ok, S::Error> {
        hash.map(|hash| format!("{hash:032x}")).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u128>, D::Error> {
        let text: Option<String> = Deserialize::deserialize(deserializer)?;
        Ok(text.as_deref().and_then(hash::of_hexadecimal))
    }
}
