//! A lake in an object store: Amazon S3 and compatible stores, Google Cloud Storage, Azure Blob Storage.
//!
//! Credentials and endpoints are those of the environment, by the names of the `object_store` crate, which polars uses too
//! (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, …). Connections are opened to the host of the URL or endpoint, and
//! without credentials in the environment to the service of the cloud that gives them to a machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt as _;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt as _};
use url::Url;

use super::error::Error;
use super::url::shown;

/// A prefix in a bucket.
#[derive(Debug)]
pub struct Bucket {
    /// The URL as the user wrote it, without a slash at the end.
    url: String,
    store: Box<dyn ObjectStore>,
    prefix: Key,
    runtime: tokio::runtime::Runtime,
}

impl Bucket {
    /// Opens a bucket. No connection is made yet.
    ///
    /// # Errors
    /// When the URL or the environment is invalid.
    pub fn open(url: &str) -> Result<Self, Error> {
        let url = url.trim_end_matches('/').to_owned();
        let wrong = |error: String| Error::wrong(&shown(Path::new(&url)), error);
        let parsed = Url::parse(&url).map_err(|error| wrong(format!("not a URL: {error}")))?;
        if !parsed.username().is_empty() || parsed.password().is_some() || parsed.query().is_some() {
            return Err(wrong("a URL must not contain credentials; set them in the environment".to_owned()));
        }
        let names = ["AWS_", "GOOGLE_", "AZURE_"];
        let environment =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        // The builders take names in lower case.
        let options = environment.filter(|(name, _)| names.iter().any(|prefix| name.starts_with(prefix)));
        let options = options.map(|(name, value)| (name.to_lowercase(), value));
        let (store, prefix) = object_store::parse_url_opts(&parsed, options).map_err(|error| wrong(summary(&error)))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| wrong(error.to_string()))?;
        Ok(Self { url, store, prefix, runtime })
    }

    /// The URL of a file.
    pub fn path_of(&self, file: &str) -> PathBuf {
        PathBuf::from(if file.is_empty() { self.url.clone() } else { format!("{}/{file}", self.url) })
    }

    fn key_of(&self, file: &str) -> Key {
        self.prefix.parts().chain(Key::from(file).parts()).collect()
    }

    /// The content of an object; `None` if it does not exist.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, file: &str) -> Result<Option<Vec<u8>>, Error> {
        let key = self.key_of(file);
        let read = async { self.store.get(&key).await?.bytes().await };
        match self.runtime.block_on(read) {
            Ok(content) => Ok(Some(content.to_vec())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(Error::wrong(&self.path_of(file), summary(&error))),
        }
    }

    /// The objects below a directory with their sizes in bytes. Their paths begin below it.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn list(&self, below: &str) -> Result<BTreeMap<String, u64>, Error> {
        let prefix = self.key_of(below);
        let list = self.store.list(Some(&prefix)).try_collect::<Vec<_>>();
        let objects =
            self.runtime.block_on(list).map_err(|error| Error::wrong(&self.path_of(below), summary(&error)))?;
        let name = |key: &Key| Some(key.prefix_match(&prefix)?.collect::<Key>().to_string());
        Ok(objects.into_iter().filter_map(|object| Some((name(&object.location)?, object.size))).collect())
    }
}

/// The error in a few words. The whole text would contain the response, which may repeat parts of the credentials.
fn summary(error: &object_store::Error) -> String {
    use object_store::Error as Kind;
    let denied = "set the credentials in the environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    match error {
        Kind::NotFound { .. } => "not found".to_owned(),
        Kind::PermissionDenied { .. } => format!("access denied; {denied}"),
        Kind::Unauthenticated { .. } => format!("not authenticated; {denied}"),
        other => {
            let text = other.to_string();
            // The services that give credentials to a machine.
            if ["/latest/api/token", "/latest/meta-data/", "/computeMetadata/", "/metadata/identity/"]
                .iter()
                .any(|it| text.contains(it))
            {
                return format!("no credentials; {denied}");
            }
            // The response of the server follows in the next lines or after this word.
            let text = text.split(['\n', '<']).next().unwrap_or_default();
            text.split(" body: ").next().unwrap_or_default().chars().take(300).collect()
        }
    }
}
