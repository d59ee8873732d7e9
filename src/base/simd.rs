//! Which vector instructions the processor has.

use std::fmt;
use std::sync::OnceLock;

/// How to look at 64 bytes at once. One is only made where the processor has its instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(Kind);

/// The instructions of a [`Level`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Eight words of eight bytes, on any processor.
    Portable,
    /// Two registers of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// One register of 64 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// Its instructions.
    #[inline]
    pub(crate) const fn kind(self) -> Kind {
        self.0
    }

    /// All that this processor has, the widest last.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self(Kind::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(has_avx2().then_some(Self(Kind::Avx2)));
            all.extend(has_avx512().then_some(Self(Kind::Avx512)));
        }
        all
    }

    /// The one that the environment's `AGENTLOGS_SIMD` names, if the processor has it: `portable`, `avx2` or `avx512`; else
    /// the widest.
    #[inline]
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            let all = Self::all();
            let named = std::env::var("AGENTLOGS_SIMD").ok();
            let named = all.iter().find(|it| named.as_deref().is_some_and(|name| it.to_string() == name));
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
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
        })
    }
}

#[cfg(target_arch = "x86_64")]
impl Level {
    /// Whether it is AVX2, or more.
    pub(crate) const fn has_avx2(self) -> bool {
        matches!(self.0, Kind::Avx2 | Kind::Avx512)
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("pclmulqdq")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2() && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
}
