//! The vector instructions that the processor has.

use std::fmt;
use std::sync::OnceLock;

/// The instructions that compare 64 bytes. A value exists only where the processor has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(Kind);

/// The instructions of a [`Level`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::json) enum Kind {
    /// Eight words of eight bytes, on any processor.
    Portable,
    /// Two registers of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Level {
    /// Its instructions.
    #[inline]
    pub(in crate::json) const fn kind(self) -> Kind {
        self.0
    }

    /// All levels of this processor, the widest last.
    pub fn all() -> Vec<Self> {
        let levels = std::iter::once(Self(Kind::Portable));
        #[cfg(target_arch = "x86_64")]
        let levels = levels.chain(has_avx2().then_some(Self(Kind::Avx2)));
        levels.collect()
    }

    /// The level that the environment variable `AGENTLOGS_SIMD` names (`portable` or `avx2`), if the processor has it;
    /// otherwise the widest.
    #[inline]
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            let all = Self::all();
            let name = std::env::var("AGENTLOGS_SIMD").ok();
            let named = all.iter().find(|level| name.as_deref().is_some_and(|name| level.to_string() == name));
            *named.or(all.last()).unwrap_or(&Self(Kind::Portable))
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
        })
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("pclmulqdq")
}
