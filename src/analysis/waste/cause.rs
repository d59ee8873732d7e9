//! The causes of waste.

/// A cause. They are assigned in this order: each dollar belongs to the first cause that it fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Responses that were made again.
    Retry,
    /// Cached tokens that were billed again as another model was asked.
    CacheModelSwitch,
    /// Cached tokens that were billed again after the cache had expired.
    CacheExpired,
    /// Cached tokens that were billed again as the prompt began differently, as the provider states.
    CachePrefixChanged,
    /// Cached tokens that were billed again although the cache had not expired; the cause is not known.
    CacheMissed,
    /// The surcharge for prompts above a step of the price.
    PremiumContext,
    /// Output for calls that repeat an earlier one.
    RepeatedCall,
    /// Output for calls that failed.
    FailedCall,
    /// The surcharge for cache writes that no later request read.
    CacheWriteUnused,
    /// Responses after the last edit of a failed session.
    AfterLastEdit,
    /// Results of tools that later requests read again.
    OutputCarried,
}

/// All causes, in the order in which they are assigned.
pub const CAUSES: [Cause; 11] = [
    Cause::Retry,
    Cause::CacheModelSwitch,
    Cause::CacheExpired,
    Cause::CachePrefixChanged,
    Cause::CacheMissed,
    Cause::PremiumContext,
    Cause::RepeatedCall,
    Cause::FailedCall,
    Cause::CacheWriteUnused,
    Cause::AfterLastEdit,
    Cause::OutputCarried,
];

impl Cause {
    /// The value of the dimension `cause`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::CacheModelSwitch => "cache_model_switch",
            Self::CacheExpired => "cache_expired",
            Self::CachePrefixChanged => "cache_prefix_changed",
            Self::CacheMissed => "cache_missed",
            Self::PremiumContext => "premium_context",
            Self::RepeatedCall => "repeated_call",
            Self::FailedCall => "failed_call",
            Self::CacheWriteUnused => "cache_write_unused",
            Self::AfterLastEdit => "after_last_edit",
            Self::OutputCarried => "output_carried",
        }
    }

    /// `exact` if the amount follows from billed tokens and prices, `estimate` if it depends on an assumption.
    pub const fn basis(self) -> &'static str {
        match self {
            Self::Retry
            | Self::CacheModelSwitch
            | Self::CacheExpired
            | Self::CachePrefixChanged
            | Self::CacheMissed
            | Self::PremiumContext => "exact",
            Self::RepeatedCall
            | Self::FailedCall
            | Self::CacheWriteUnused
            | Self::AfterLastEdit
            | Self::OutputCarried => "estimate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_in_their_order_and_documented() {
        assert!(CAUSES.is_sorted());
        let page = include_str!("../../../docs/waste.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        for (cause, row) in CAUSES.iter().zip(&rows) {
            let expected = format!("| `{}` | {} |", cause.as_str(), cause.basis());
            assert!(row.starts_with(&expected), "{expected} {row}");
        }
    }
}
