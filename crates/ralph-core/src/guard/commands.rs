//! The commands of `ralph`: what each may reach, who may give it, where the help lists it, and its other
//! names. Their arguments and the words of their help stand with their variants in `cli` of the `ralph` crate.
//!
//! The user's commands are refused inside the session of a live loop, since the model types in its shells.
//! Those by which the user agrees to something, or reaches other machines, are refused below every client.

use std::ffi::OsStr;

/// What a command may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It changes nothing, except what Ralph remembers for itself.
    Reads,
    /// It changes the state of one loop, orchestration or refinement, or runs what the user agreed
    /// to.
    OneLoop,
    /// It writes elsewhere, or runs other programs.
    Elsewhere,
    /// Only the user may give it.
    User,
    /// Ralph itself starts it, with an order that the model cannot give.
    Internal,
}

use Reach::{Elsewhere, Internal, OneLoop, Reads, User};

/// What else is true of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trait {
    /// It is refused below every client, also where no loop is live.
    NoModels,
    /// It only stops a loop or looks at it. A process that Ralph cannot place may give it: it may be
    /// the user's new terminal, and a user must always be able to stop a loop.
    Stops,
    /// It starts something in a project, and concerns only the loops there. If the speaker is unknown,
    /// it is refused only while a loop is live in the same project, so that a timer can start work
    /// elsewhere.
    Begins,
    /// A round hands over its work by it, without a loop of its own.
    HandsOver,
}

use Trait::{Begins, HandsOver, NoModels, Stops};

/// A command, or one with the option that makes another command of it.
#[derive(Debug)]
pub struct CommandRow {
    pub name: &'static str,
    pub reach: Reach,
    /// What the user types in the session instead of this command; empty if it can be given only in
    /// another terminal.
    pub typed: &'static str,
    traits: &'static [Trait],
}

const fn row(name: &'static str, reach: Reach) -> CommandRow {
    CommandRow { name, reach, typed: "", traits: &[] }
}

const fn user(name: &'static str, typed: &'static str, traits: &'static [Trait]) -> CommandRow {
    CommandRow { name, reach: User, typed, traits }
}

impl CommandRow {
    pub fn is(&self, what: Trait) -> bool {
        self.traits.contains(&what)
    }

    /// True if these words behind `ralph` give it. Options between its words do not count.
    fn is_given(&self, words: &[String]) -> bool {
        let plain: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
        self.name.split(' ').enumerate().all(|(at, part)| match part.starts_with('-') {
            true => words.iter().any(|word| word == part),
            false => plain.get(at).is_some_and(|word| *word == part),
        })
    }
}

/// Commands with one purpose, in the order of the help.
#[derive(Debug)]
pub struct Group {
    pub name: &'static str,
    /// Those of `ralph --help`, which fits a terminal of 24 lines.
    pub first: &'static [CommandRow],
    /// Those that only `ralph help --all` adds.
    pub others: &'static [CommandRow],
}

/// The commands that the help lists.
pub const GROUPS: [Group; 4] = [
    Group {
        name: "Work",
        first: &[
            user("run", "", &[Begins]),
            user("run --shared", "", &[Begins, NoModels]),
            user("start", "/ralph", &[Begins]),
            user("plan", "", &[Begins]),
            user("ralplan run", "", &[Begins]),
            user("ralplan approve", "", &[NoModels]),
            user("ralplan adjust", "", &[NoModels]),
            user("ralplan discard", "", &[NoModels]),
            user("refine loop", "", &[Begins]),
            CommandRow { traits: &[HandsOver], ..row("refine begin", OneLoop) },
            row("refine end", OneLoop),
            row("refine prompt", Reads),
            row("refine ideas", Reads),
            row("refine peek", Elsewhere),
            row("refine attach", Elsewhere),
            row("try", OneLoop),
        ],
        others: &[
            row("parallel merge", OneLoop),
            row("parallel clean", OneLoop),
            user("share", "/ralph share", &[Begins, NoModels]),
            user("team new", "", &[Begins]),
            user("team feedback", "", &[NoModels]),
            row("team validate", Reads),
            row("team repair", OneLoop),
            user("team run", "", &[Begins]),
            row("task list", Reads),
            row("task add", OneLoop),
            row("task deps", OneLoop),
            row("task graph", Reads),
            row("task sync", OneLoop),
            user("task import", "/ralph-plan", &[Begins]),
            CommandRow { traits: &[HandsOver], ..row("check", OneLoop) },
        ],
    },
    Group {
        name: "Look",
        first: &[
            row("status", Reads),
            // It asks the remote, by the programs that the clone's configuration names.
            user("status --shared", "", &[Stops]),
            user("watch", "", &[Stops]),
            row("explain", Reads),
            row("report", Reads),
            row("report --html", Elsewhere),
        ],
        others: &[
            row("log", Reads),
            row("context", Reads),
            row("diff", Reads),
            row("checkpoint", Reads),
            row("replay", Reads),
        ],
    },
    Group {
        name: "Steer",
        first: &[
            user("signal", "/ralph steer TEXT", &[NoModels]),
            user("signal --shared", "", &[NoModels]),
            user("pause", "ralph pause", &[Stops]),
            user("pause --shared", "", &[Stops, NoModels]),
            user("resume", "/ralph resume", &[NoModels]),
            user("resume --shared", "", &[NoModels]),
            user("cancel", "/ralph-cancel", &[Stops]),
            user("cancel --shared", "", &[Stops, NoModels]),
        ],
        others: &[
            user("adopt", "", &[]),
            user("accept", "/ralph accept", &[NoModels]),
            user("restore", "", &[]),
            user("trust", "/ralph trust", &[NoModels]),
            user("trust --shared", "", &[NoModels]),
        ],
    },
    Group {
        name: "Set up",
        first: &[
            user("install", "", &[Begins]),
            row("doctor", Elsewhere),
            user("doctor --fix", "", &[]),
        ],
        others: &[user("uninstall", "", &[]), row("demo", Elsewhere), row("completions", Reads)],
    },
];

/// For skills and settings: documented, but in no list and no completion.
const PLUMBING: [CommandRow; 6] = [
    row("blocked", OneLoop),
    CommandRow { traits: &[HandsOver], ..row("mark", OneLoop) },
    row("next", Reads),
    user("next --begin", "", &[]),
    row("statusline", Reads),
    row("statusline --with", Elsewhere),
];

/// Ralph itself starts them, or a release; not documented.
const UNDOCUMENTED: [CommandRow; 8] = [
    row("supervise", Internal),
    row("delegate", Internal),
    row("round", Internal),
    row("exchange", Internal),
    row("integrate", Internal),
    row("refine within", Internal),
    row("man", Elsewhere),
    row("help", Reads),
];

/// All commands.
pub fn all() -> impl Iterator<Item = &'static CommandRow> {
    let listed = GROUPS.iter().flat_map(|group| group.first.iter().chain(group.others));
    listed.chain(&PLUMBING).chain(&UNDOCUMENTED)
}

/// The commands that only the user may give.
pub fn users() -> impl Iterator<Item = &'static CommandRow> {
    all().filter(|row| row.reach == User)
}

/// The command of this name.
pub fn named(name: &str) -> Option<&'static CommandRow> {
    all().find(|row| row.name == name)
}

/// True for a command or the last word of one that Ralph itself starts, or a release.
pub fn is_undocumented(name: &str) -> bool {
    UNDOCUMENTED.iter().any(|row| row.name.rsplit(' ').next() == Some(name))
}

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

/// The command that the words after `ralph` give, with the option that makes another command of it.
pub fn given(words: &[&str]) -> Option<&'static CommandRow> {
    let (options, plain): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.starts_with('-'));
    let mut words = without_alias(plain.into_iter().map(str::to_owned).collect());
    words.extend(options.into_iter().map(str::to_owned));
    let given = all().filter(|row| row.is_given(&words));
    given.max_by_key(|row| row.name.split(' ').count())
}

/// The user's command that the words after `ralph` give.
pub fn given_users(words: &[&str]) -> Option<&'static CommandRow> {
    given(words).filter(|row| row.reach == User)
}

/// Why this command is refused inside the session of a live loop; `None` if it is allowed.
pub fn refusal(command: &str) -> Option<String> {
    named(command).filter(|row| row.reach == User).map(reason)
}

/// The reason in words, with what the user types instead.
pub fn reason(row: &CommandRow) -> String {
    let command = row.name;
    let how = match row.typed {
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
        "`ralph {command}` is for the user only while a loop is live in this session; the user \
         can: {how}"
    )
}

/// The reason below a client, where no loop need be live.
pub fn reason_below_client(row: &CommandRow) -> String {
    let command = row.name;
    let typed = match row.typed {
        typed if typed.starts_with("/ralph ") => format!(", or type `{typed}` in the session"),
        _ => String::new(),
    };
    format!(
        "`ralph {command}` is for the user only, and this process runs below a Claude Code client, where \
         the model may have started it (as may `!`); give it in a terminal outside of any client{typed}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_what_a_person_can_do() {
        for row in users() {
            let text = reason(row);
            assert!(text.contains(&format!("`ralph {}`", row.name)), "{text}");
            assert!(text.contains(row.typed) && text.contains("another terminal"), "{text}");
        }
    }

    #[test]
    fn each_command_has_one_row_and_only_the_users_speak_for_them() {
        for row in all() {
            assert_eq!(all().filter(|other| other.name == row.name).count(), 1, "{}", row.name);
            let is_users =
                !row.typed.is_empty() || [NoModels, Stops, Begins].iter().any(|it| row.is(*it));
            assert!(row.reach == User || !is_users, "{}", row.name);
            assert!(row.reach == OneLoop || !row.is(HandsOver), "{}", row.name);
        }
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
            assert_eq!(given_users(&words).map(|row| row.name), Some(command), "{alias}");
        }
        for models in ["session next", "session mark T-1 done", "refine status", "parallel next"] {
            let words: Vec<&str> = models.split(' ').collect();
            assert!(given_users(&words).is_none(), "{models}");
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
