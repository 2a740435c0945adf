//! Commands that only a person may give, and how they give them without leaving the conversation.
//!
//! The commands are refused inside the session of a live loop, whoever runs the shell: there it is
//! the model that types. Those by which a person agrees to something, or reaches other machines, are
//! refused below every client.
//!
//! The aliases stand beside them, since a command is refused under each of its names.

use std::ffi::OsStr;

/// To whose model a command is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedTo {
    /// That of a live loop.
    LoopsModel,
    /// That of every client, also in a session without a loop.
    EveryModel,
}

use RefusedTo::{EveryModel, LoopsModel};

/// Commands for a person only, each with what they type in the session instead. An empty string
/// means that the command can be given only in another terminal. In a text that is not a command line the first match is
/// reported, so `run` comes last. `status --shared` asks the remote, by the programs that the clone's configuration names.
#[rustfmt::skip]
pub const PERSONS_ONLY: [(&str, &str, RefusedTo); 33] = [
    ("start", "/ralph", LoopsModel), ("task import", "/ralph-plan", LoopsModel), ("plan", "", LoopsModel),
    ("share", "/ralph share", EveryModel),
    ("status --shared", "", LoopsModel), ("refine loop", "", LoopsModel),
    ("accept", "/ralph accept", EveryModel), ("cancel --shared", "", EveryModel),
    ("cancel", "/ralph-cancel", LoopsModel), ("pause --shared", "", EveryModel), ("pause", "ralph pause", LoopsModel),
    ("resume --shared", "", EveryModel), ("resume", "/ralph resume", EveryModel), ("adopt", "", LoopsModel),
    ("trust --shared", "", EveryModel), ("trust", "/ralph trust", EveryModel), ("team new", "", LoopsModel),
    ("team feedback", "", EveryModel), ("team run", "", LoopsModel), ("next --begin", "", LoopsModel),
    ("signal --shared", "", EveryModel), ("signal", "/ralph steer TEXT", EveryModel), ("watch", "", LoopsModel),
    ("install", "", LoopsModel), ("uninstall", "", LoopsModel), ("doctor --fix", "", LoopsModel),
    ("restore", "", LoopsModel), ("ralplan run", "", LoopsModel), ("ralplan approve", "", EveryModel),
    ("ralplan adjust", "", EveryModel), ("ralplan discard", "", EveryModel), ("run --shared", "", EveryModel),
    ("run", "", LoopsModel),
];

/// Other names of commands, which skills and scripts use. Each is rewritten before the words are parsed, so that whoever
/// may give the command may give it under each name. `session`, the source document's word, comes first: the rows for
/// `team` then apply to it.
pub const ALIASES: [(&str, &str); 41] = [
    ("session", "team"),
    ("team status", "status --of=team"),
    ("team list", "status --of=team --all"),
    ("team next", "next --of=team"),
    ("team mark", "mark --of=team"),
    ("team signal", "signal --of=team"),
    ("team feedback new", "team feedback"),
    ("team waves", "task waves --of=team"),
    ("team graph", "task graph --of=team"),
    ("ralplan status", "status --of=ralplan"),
    ("ralplan next", "next --of=ralplan"),
    ("parallel next", "next --of=parallel"),
    ("parallel waves", "task waves --of=parallel"),
    ("parallel plan", "task waves --of=parallel"),
    ("refine status", "status --of=refine"),
    ("refine list", "status --of=refine --all"),
    ("refine history", "status --of=refine"),
    ("refine diff", "diff --of=refine"),
    ("refine restore", "restore --of=refine"),
    ("refine once", "refine loop --once"),
    ("refine kill", "cancel --of=refine"),
    ("checkpoint diff", "diff --since"),
    ("checkpoint restore", "restore"),
    ("checkpoint list", "checkpoint"),
    ("checkpoint show", "checkpoint --show"),
    ("criteria accept", "accept"),
    ("verify", "try --once"),
    ("plan-sync", "task sync"),
    ("build", "run --planned"),
    ("parallel run", "run --parallel"),
    ("ideate", "plan --ideas"),
    ("task ready", "task list --ready"),
    ("task show", "task list"),
    ("task lint", "task list --lint"),
    ("task waves", "task graph --format=waves"),
    ("task claim", "mark --as=started"),
    ("task renew", "mark --as=renewed"),
    ("task done", "mark --as=done"),
    ("task fail", "mark --as=failed"),
    ("task block", "mark --as=blocked"),
    ("task release", "mark --as=open"),
];

/// The words after `ralph` with the command in place of its alias.
pub fn without_alias<W: AsRef<OsStr> + From<String>>(mut words: Vec<W>) -> Vec<W> {
    for (command, former, present) in FORMER_OPTIONS {
        if starts_with(&words, command) {
            // What follows `--` is the client's.
            let n_own = words.iter().position(|word| word.as_ref() == "--").unwrap_or(words.len());
            let others = words.split_off(n_own);
            let own = words.into_iter().map(|word| renamed(word, former, present));
            words = own.chain(others).collect();
        }
    }
    for (alias, command) in ALIASES {
        if starts_with(&words, alias) {
            let command = command.split(' ').map(|part| W::from(part.to_owned()));
            words.splice(..alias.split(' ').count(), command);
        }
    }
    words
}

/// A command as the reference names it, for the words of messages.
pub fn present_name(command: &str) -> String {
    without_alias(command.split(' ').map(str::to_owned).collect()).join(" ")
}

/// The alias under which a command was typed; `None` if it was typed by its name.
pub fn typed_alias<W: AsRef<OsStr>>(words: &[W]) -> Option<&'static str> {
    ALIASES.iter().map(|(alias, _)| *alias).find(|alias| starts_with(words, alias))
}

fn starts_with<W: AsRef<OsStr>>(words: &[W], name: &str) -> bool {
    let n = name.split(' ').count();
    words.len() >= n && name.split(' ').zip(words).all(|(part, word)| *word.as_ref() == *part)
}

/// Options that a command had under another name: the command, the former name and the present one. `-n` are rounds.
const FORMER_OPTIONS: [(&str, &str, &str); 3] = [
    ("refine", "--session", "--id"),
    ("build", "--max-iterations", "-n"),
    ("parallel run", "-n", "--workers"),
];

/// An option under its present name; any other word as it is.
fn renamed<W: AsRef<OsStr> + From<String>>(word: W, former: &str, present: &str) -> W {
    let value = word.as_ref().to_str().and_then(|word| word.strip_prefix(former));
    match value.filter(|rest| rest.is_empty() || rest.starts_with('=')) {
        Some(rest) => W::from(format!("{present}{rest}")),
        None => word,
    }
}

/// The command for a person only that the words after `ralph` begin, with what a person types instead. Options between
/// its words do not count.
pub fn find(words: &[&str]) -> Option<(&'static str, &'static str)> {
    let (options, plain): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.starts_with('-'));
    let mut words = without_alias(plain.into_iter().map(str::to_owned).collect());
    words.extend(options.into_iter().map(str::to_owned));
    let plain: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_given = |command: &str| {
        let mut parts = command.split(' ').enumerate();
        parts.all(|(at, part)| match part.starts_with('-') {
            true => words.iter().any(|word| word == part),
            false => plain.get(at).is_some_and(|word| *word == part),
        })
    };
    let row = PERSONS_ONLY.iter().find(|(command, ..)| is_given(command));
    row.map(|(command, typed, _)| (*command, *typed))
}

/// Why this command is refused inside the session of a live loop; `None` if it is allowed.
pub fn refusal(command: &str) -> Option<String> {
    typed(command).map(|typed| reason(command, typed))
}

/// What a person types in the session instead of this command; `None` if the model may give it.
pub fn typed(command: &str) -> Option<&'static str> {
    PERSONS_ONLY.iter().find(|(known, ..)| *known == command).map(|(_, typed, _)| *typed)
}

/// True if a command is refused below every client.
pub fn is_refused_to_every_model(command: &str) -> bool {
    PERSONS_ONLY.iter().any(|(known, _, to)| *known == command && *to == EveryModel)
}

/// True if a command only stops a loop or looks at it. A process that Ralph cannot place may give it:
/// it may be the user's new terminal, and a user must always be able to stop a loop.
pub fn stops_or_looks(command: &str) -> bool {
    ["cancel", "cancel --shared", "pause", "pause --shared", "watch", "status --shared"]
        .contains(&command)
}

/// Commands that start something in a project. If the speaker is unknown, they are refused only
/// while a loop is live in the same project, so that a timer can start work elsewhere.
#[rustfmt::skip]
const BEGINS: [&str; 11] = [
    "start", "task import", "plan", "run", "run --shared", "share", "refine loop",
    "team new", "team run", "ralplan run", "install",
];

/// True if a command concerns only the loops of its own project.
pub fn begins(command: &str) -> bool {
    BEGINS.contains(&command)
}

/// The reason in words, with what a person types instead.
pub fn reason(command: &str, typed: &str) -> String {
    let how = match typed {
        "" => format!("give `ralph {command}` in another terminal"),
        "/ralph-cancel" => "type `/ralph-cancel` in the session, or `ralph cancel` as the whole \
                            prompt while it works, or give it in another terminal"
            .to_owned(),
        "ralph pause" => "type `ralph pause` as the whole prompt in the session, or give it in \
                          another terminal"
            .to_owned(),
        "/ralph-plan" => "end the loop first, then type `/ralph-plan` in the session, or give it \
                          in another terminal"
            .to_owned(),
        typed => {
            format!("type `{typed}` in the session, or give `ralph {command}` in another terminal")
        }
    };
    format!(
        "`ralph {command}` is for a person only while a loop is live in this session; a person \
         can: {how}"
    )
}

/// The reason below a client, where no loop need be live.
pub fn reason_below_client(command: &str) -> String {
    let typed = match typed(command) {
        Some(typed) if typed.starts_with("/ralph ") => {
            format!(", or type `{typed}` in the session")
        }
        _ => String::new(),
    };
    format!(
        "`ralph {command}` is for a person only, and this process runs below a Claude Code client, where \
         the model may have started it (as may `!`); give it in a terminal outside of any client{typed}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_what_a_person_can_do() {
        for (command, typed, _) in PERSONS_ONLY {
            let text = refusal(command).unwrap();
            assert!(text.contains(&format!("`ralph {command}`")), "{text}");
            assert!(text.contains(typed) && text.contains("another terminal"), "{text}");
        }
    }

    #[test]
    fn what_begins_something_is_a_persons_too() {
        assert!(BEGINS.iter().all(|command| refusal(command).is_some()));
        assert!(["cancel", "pause", "accept", "uninstall"].iter().all(|it| !begins(it)));
    }

    #[test]
    fn the_work_itself_is_the_models() {
        let models =
            ["task claim", "task done", "task sync", "plan-sync", "status", "explain", "verify"];
        for command in models.into_iter().chain([
            "blocked",
            "parallel merge",
            "parallel clean",
            "next",
            "mark",
            "team repair",
        ]) {
            assert_eq!(refusal(command), None, "{command}");
        }
    }
    #[test]
    fn an_alias_is_refused_to_whom_its_command_is() {
        for (alias, command) in [
            ("session signal stop", "signal"),
            ("session run x", "team run"),
            ("session --quiet feedback new", "team feedback"),
            ("session next --begin", "next --begin"),
            ("refine kill --session a", "cancel"),
            ("refine restore 1", "restore"),
            ("checkpoint restore 1", "restore"),
            ("criteria accept", "accept"),
            ("ideate doors", "plan"),
            ("build -n 2", "run"),
            ("parallel run", "run"),
        ] {
            let words: Vec<&str> = alias.split(' ').collect();
            assert_eq!(find(&words).map(|(command, _)| command), Some(command), "{alias}");
        }
        for models in ["session next", "session mark T-1 done", "refine status", "parallel next"] {
            assert_eq!(find(&models.split(' ').collect::<Vec<_>>()), None, "{models}");
        }
    }

    #[test]
    fn an_alias_becomes_its_command_and_the_former_option_of_a_refinement_its_present_one() {
        let of = |line: &str| {
            without_alias(line.split(' ').map(str::to_owned).collect::<Vec<_>>()).join(" ")
        };
        assert_eq!(of("session next --json"), "next --of=team --json");
        assert_eq!(of("session run x"), "team run x");
        assert_eq!(of("task claim T-1 --lease 5"), "mark --as=started T-1 --lease 5");
        assert_eq!(of("checkpoint diff 2"), "diff --since 2");
        assert_eq!(of("refine status --session a"), "status --of=refine --id a");
        assert_eq!(of("refine loop --session=a"), "refine loop --id=a");
        assert_eq!(of("status --session a"), "status --session a");
        assert_eq!(of("build --max-iterations 0"), "run --planned -n 0");
        assert_eq!(of("run --max-iterations 3"), "run --max-iterations 3");
        assert_eq!(of("parallel run -n=2 -- -n"), "run --parallel --workers=2 -- -n");
        assert_eq!(of("refine loop -- --session a"), "refine loop -- --session a");
    }
}
