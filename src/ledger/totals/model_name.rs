//! How names of models in totals and responses are compared.

/// The name of a model without the marks of a window, a provider, a region or a revision.
pub(super) fn canonical(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_suffix("[1m]").unwrap_or(name).to_ascii_lowercase().replace('@', "-");
    let regions = ["us.", "eu.", "apac.", "global."];
    let name = regions.iter().find_map(|region| name.strip_prefix(region)).unwrap_or(&name);
    let name = name.strip_prefix("anthropic.").unwrap_or(name);
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    let is_revision = |word: &str| {
        let number = word.strip_prefix('v');
        number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let without_revision = name.rsplit_once('-').filter(|(name, last)| name.starts_with("claude") && is_revision(last));
    without_revision.map_or(name, |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_model_are_equal() {
        let cases = [
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929"),
            ("claude-sonnet-4-5-20250929[1m]", "claude-sonnet-4-5-20250929"),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929"),
            ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"),
            ("openrouter/anthropic/Claude-Sonnet-4", "claude-sonnet-4"),
            ("gpt-oss-v2", "gpt-oss-v2"),
        ];
        for (name, expected) in cases {
            assert_eq!(canonical(name), expected);
        }
    }
}
