//! How names are compared, and the names of providers.

use std::borrow::Cow;

/// The spelling in which names are compared: lower case, with dashes for dots and spaces.
pub fn fold(name: &str) -> Cow<'_, str> {
    let is_folded = |it: u8| !it.is_ascii_uppercase() && it != b'.' && it != b' ';
    let name = name.trim();
    if name.bytes().all(is_folded) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().map(|it| if matches!(it, '.' | ' ') { '-' } else { it.to_ascii_lowercase() }).collect())
}

/// A provider. The prices of a host, which serves models of other makers, apply only to requests that are logged with
/// its name.
pub(super) struct Provider {
    /// Its name in the catalog.
    pub id: &'static str,
    /// Its other names in logs.
    names: &'static [&'static str],
    /// Whether it serves models of other makers.
    pub is_host: bool,
}

const fn maker(id: &'static str, names: &'static [&'static str]) -> Provider {
    Provider { id, names, is_host: false }
}

const fn host(id: &'static str, names: &'static [&'static str]) -> Provider {
    Provider { id, names, is_host: true }
}

#[rustfmt::skip]
static PROVIDERS: &[Provider] = &[
    maker("ai21", &[]),
    maker("alibaba", &["dashscope", "qwen", "alibaba-cloud", "aliyun", "bailian", "modelstudio"]),
    maker("amazon", &["amazon-nova"]),
    maker("anthropic", &["claude", "anthropic-messages", "claude-code", "anthropic-vertex", "firstparty", "anthropicaws", "anthropicgooglecloud"]),
    maker("arcee", &["arcee-ai"]),
    maker("cognition", &[]),
    maker("cohere", &["cohere-chat", "cohereforai"]),
    maker("cursor", &[]),
    maker("deepseek", &["deepseek-ai"]),
    maker("google", &["gemini", "google-gemini-cli", "google-antigravity", "google-ai-studio", "google-genai", "google-generative-ai", "models"]),
    maker("inception", &[]),
    maker("meta", &["meta-llama", "meta-models", "llama"]),
    maker("minimax", &["minimaxai", "minimax-cn", "minimax-coding-plan"]),
    maker("mistral", &["mistralai", "codestral"]),
    maker("moonshotai", &["moonshot", "kimi", "kimi-code", "kimi-coding", "kimi-for-coding", "moonshotai-cn"]),
    maker("morph", &[]),
    maker("openai", &["openai-codex", "openai-responses", "openai-completions", "codex", "chatgpt", "text-completion-openai"]),
    maker("perplexity", &["perplexity-ai"]),
    maker("tencent", &["hunyuan"]),
    maker("volcengine", &["bytedance", "bytedance-seed", "doubao"]),
    maker("xai", &["x-ai"]),
    maker("xiaomi", &["xiaomi-mimo"]),
    maker("zai", &["z-ai", "zai-org", "zhipu", "zhipuai", "thudm", "zai-coding-plan", "bigmodel"]),
    host("azure", &["azure-ai", "azure-openai", "azure-openai-responses", "azure-cognitive-services", "azure-foundry", "foundry"]),
    host("bedrock", &["amazon-bedrock", "aws", "aws-bedrock", "bedrock-converse", "converse"]),
    host("cerebras", &[]),
    host("deepinfra", &[]),
    host("fireworks", &["fireworks-ai"]),
    host("github-copilot", &["copilot", "github-models", "github"]),
    host("groq", &["groqcloud"]),
    host("opencode", &["opencode-zen", "opencode-go", "zen"]),
    host("openhands", &["all-hands"]),
    host("openrouter", &[]),
    host("together", &["together-ai", "togetherai"]),
    host("vercel", &["vercel-ai-gateway", "ai-gateway"]),
    // The catalog contains no prices of these.
    host("vertex", &["vertex-ai", "vertexai", "google-vertex", "google-vertex-anthropic", "vertex-anthropic"]),
    host("litellm", &["litellm-proxy"]),
    host("cloudflare", &["cloudflare-ai-gateway"]),
    host("requesty", &[]),
    host("portkey", &[]),
];

/// The provider with this name in a log.
pub(super) fn provider(word: &str) -> Option<&'static Provider> {
    let word = fold(word).replace('_', "-");
    PROVIDERS.iter().find(|it| it.id == word || it.names.contains(&word.as_str()))
}

/// The name of a provider in the catalog; the folded `word` if it is unknown.
pub(super) fn provider_id(word: &str) -> Cow<'_, str> {
    provider(word).map_or_else(|| fold(word), |it| Cow::Borrowed(it.id))
}

/// Whether the provider with this id serves models of other makers.
pub(super) fn is_host(id: &str) -> bool {
    PROVIDERS.iter().any(|it| it.id == id && it.is_host)
}
