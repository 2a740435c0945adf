//! Elixir projects: Mix, and Credo if it is configured.

use super::{EcosystemCommands, RootFiles};

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    let mix = files.has("mix.exs");
    let credo = mix && (files.has(".credo.exs") || files.says("mix.exs", ":credo"));
    EcosystemCommands {
        tests: mix.then(|| "mix test".to_owned()),
        check: credo.then(|| "mix credo".to_owned()),
    }
}
