#!/usr/bin/env python3
"""Prints the Homebrew formula of a release, for a tap: packages/homebrew/agentlogs.rb.in with version, repository and checksums.

Usage: formula.py --checksums SHA256SUMS > agentlogs.rb

The version and the repository are those of Cargo.toml.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import string
import subprocess


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checksums", type=pathlib.Path, required=True, help="the file SHA256SUMS of the release")
    checksums = {}
    for line in parser.parse_args().checksums.read_text().splitlines():
        checksum, name = line.split()
        checksums[name.removeprefix("*")] = checksum
    here = pathlib.Path(__file__).parent
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    metadata = json.loads(subprocess.run(command, cwd=here, check=True, capture_output=True).stdout)
    package = metadata["packages"][0]
    values = {
        "version": package["version"],
        "repository": package["repository"],
        "description": package["description"].split(":")[0],
    }
    targets = ("aarch64-apple-darwin", "x86_64-apple-darwin", "aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu")
    for target in targets:
        # A missing file is an error: the formula would not install.
        values["sha256_" + target.replace("-", "_")] = checksums[f"agentlogs-{target}.tar.xz"]
    template = string.Template((here / "agentlogs.rb.in").read_text())
    print(template.substitute(values), end="")


if __name__ == "__main__":
    main()
