//! Elixir projects: Mix, and Credo where it is configured.

use super::{Found, ProjectFiles};

pub(super) fn find(files: &ProjectFiles) -> Found {
    let mix = files.has("mix.exs");
    let credo = mix && (files.has(".credo.exs") || files.says("mix.exs", ":credo"));
    Found {
        tests: mix.then(|| "mix test".to_owned()),
        check: credo.then(|| "mix credo".to_owned()),
    }
}
