//! Removes wrappers that start another program of the project: `npx`, `uv run`, `bundle exec`.

use super::Weight;
use super::resolve::{At, Resolver};
use super::text::join;

/// The wrapper's words, and its options that take a separate value.
const STARTERS: [(&[&str], &[&str]); 44] = [
    (&["npx"], &["-p", "--package"]),
    (&["bunx"], &["-p", "--package"]),
    (&["pnpx"], &[]),
    (&["npm", "exec"], &["-p", "--package", "-w", "--workspace"]),
    (&["npm", "x"], &["-p", "--package", "-w", "--workspace"]),
    (&["pnpm", "exec"], &[]),
    (&["pnpm", "dlx"], &["--package"]),
    (&["yarn", "exec"], &[]),
    (&["yarn", "dlx"], &["-p", "--package"]),
    (&["bun", "x"], &[]),
    (&["corepack"], &[]),
    (
        &["uv", "run"],
        &[
            "--with",
            "--extra",
            "--group",
            "--python",
            "-p",
            "--project",
            "--directory",
            "--package",
        ],
    ),
    (&["uvx"], &["--with", "--from", "--python"]),
    (&["poetry", "run"], &[]),
    (&["rye", "run"], &[]),
    (&["pdm", "run"], &["-p"]),
    (&["pipenv", "run"], &[]),
    (&["pixi", "run"], &["-e", "--environment"]),
    (&["hatch", "run"], &[]),
    (&["conda", "run"], &["-n", "--name", "-p", "--prefix"]),
    (&["micromamba", "run"], &["-n", "-p"]),
    (&["bundle", "exec"], &[]),
    (&["mise", "exec"], &[]),
    (&["mise", "x"], &[]),
    (&["asdf", "exec"], &[]),
    (&["rbenv", "exec"], &[]),
    (&["pyenv", "exec"], &[]),
    (&["volta", "run"], &["--node"]),
    (&["fnm", "exec"], &["--using"]),
    (&["direnv", "exec"], &[]),
    (&["nix", "develop"], &["-c", "--command"]),
    (&["nix", "shell"], &[]),
    (&["devbox", "run"], &[]),
    (&["xvfb-run"], &["-n", "-s", "-e", "-f", "-w", "-p"]),
    (&["dotenv"], &["-e", "-f"]),
    (&["dotenvx", "run"], &["-f"]),
    (&["cross-env"], &[]),
    (&["cross-env-shell"], &[]),
    (&["c8"], &["-r", "--reporter"]),
    (&["nyc"], &["-r", "--reporter"]),
    (&["retry"], &["-t"]),
    (&["dumb-init"], &[]),
    (&["tini"], &[]),
    (&["gtimeout"], &["-k", "-s"]),
];

/// Removes the wrappers from a command.
pub(super) fn peel<'w>(resolver: &mut Resolver<'_>, words: &[&'w str], at: &At) -> Vec<&'w str> {
    let mut words = words.to_vec();
    for _ in 0..8 {
        let Some((starter, with_value)) =
            STARTERS.iter().find(|(starter, _)| words.starts_with(starter))
        else {
            break;
        };
        let mut rest = words.get(starter.len()..).unwrap_or_default();
        // The name of a task in a project file is not a program name.
        if let ["pdm" | "pipenv" | "rye" | "pixi" | "hatch" | "devbox", "run"] = starter {
            let named = rest.iter().find(|word| !word.starts_with('-'));
            if let (Some(tool), Some(task)) = (starter.first(), named) {
                super::tasks::of_python_manager(resolver, tool, task, at);
            }
        }
        while let Some(word) = rest.first() {
            let name = word.split('=').next().unwrap_or(word);
            let skip = match *word {
                "-c" | "--command" | "--call" if *starter != ["nix", "develop"] => {
                    if let Some(script) = rest.get(1) {
                        resolver.line(script, &at.deeper(&at.folder));
                    }
                    return Vec::new();
                }
                "-c" | "--command" | "--" => 1,
                _ if with_value.contains(&name) && !word.contains('=') => 2,
                _ if word.starts_with('-') => 1,
                _ if starter.first() == Some(&"direnv") && *word == "." => 1,
                // `cross-env A=1 jest`, `nix shell x -c jest`
                _ if word.contains('=') || *starter == ["nix", "shell"] => 1,
                _ => break,
            };
            rest = rest.get(skip..).unwrap_or_default();
        }
        if let Some(program) = rest.first()
            && ["npx", "npm", "pnpm", "yarn", "bun", "bunx"].contains(&starter[0])
        {
            installed(resolver, program, &at.folder);
        }
        words = rest.to_vec();
    }
    words
}

/// Records what `node_modules/.bin` starts under a name. Digits are ignored, so that a link or a
/// package manager's shim is identified by its target and not by its version.
pub(super) fn installed(resolver: &mut Resolver<'_>, program: &str, folder: &str) {
    if program.contains('/') {
        return;
    }
    for above in super::resolve::upwards(folder) {
        let Some(path) = join(&above, &format!("node_modules/.bin/{program}")) else { return };
        if let Some(text) = resolver.text(&path) {
            let text: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
            resolver.meaning.add(format!("`{path}`"), Weight::Named, Some(text));
            return;
        }
    }
}
