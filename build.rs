//! Lists the files of `queries/`, so that the program knows each query that lies there, and no other; and says how it is linked.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    link_at_a_fixed_address();
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

/// A program that may lie anywhere in memory is first told where it lies, in 155,000 places, polars' most of all: each start took
/// 3 ms longer by that, and 3 MB. Who asks rustc for one or the other (`RUSTFLAGS="-C relocation-model=pie"`) gets that.
fn link_at_a_fixed_address() {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it.split(',').any(|it| it == value));
    let is_static = is("CARGO_CFG_TARGET_FEATURE", "crt-static");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_asked_for = ["relocation-model", "-pie", "-no-pie"].iter().any(|it| flags.contains(it));
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_static && !is_asked_for {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
