//! Generates the list of the named queries from the files of `queries/`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=queries");
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name));
    let folder = variable("CARGO_MANIFEST_DIR")?.join("queries");
    let mut files = fs::read_dir(folder)?.map(|it| Ok(it?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|it| it.extension().is_some_and(|it| it == "sql"));
    files.sort();
    let mut list = String::from("&[\n");
    for name in files.iter().filter_map(|it| it.file_stem()?.to_str()) {
        // Named from where the sources are, when they are compiled: checkouts may share a target folder.
        let path = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/queries/{name}.sql\")");
        let _ = writeln!(list, "    Named {{ name: {name:?}, sql: include_str!({path}) }},");
    }
    list.push_str("]\n");
    fs::write(variable("OUT_DIR")?.join(Path::new("queries.rs")), list)
}
